import CCurl
import Foundation
import IndicatorThreads
import Synchronization

/// Shuts down the connections that keep libcurl's thread busy.
///
/// libcurl reads from a connection until there is nothing left, and only then returns. What is no part of a response,
/// such as empty frames of HTTP/2, it discards. So a server that sends this fast enough would stop all transfers of a
/// client, and their time limits. Therefore, while libcurl is busy, the timer thread looks once a second whether it has
/// returned or passed on a body. If not, it shuts down the connections that libcurl continues to read from.
final class SocketWatch: Sendable {
    private struct Socket {
        var origin: [String]
        /// How many bytes libcurl had read at the last check.
        var count: Int64 = 0
        /// At how many checks in a row libcurl had read more.
        var growth = 0
    }

    private struct State {
        var sockets: [Int32: Socket] = [:]
        var isScheduled = false
        /// `turn` at the last check.
        var lastTurn = 0
        /// The origins of the connections that were shut down.
        var origins: Set<[String]> = []

        /// Notes what was read from each connection, and shuts down those that have been read from at enough checks.
        mutating func check(_ isSuspected: Bool) {
            for (descriptor, var socket) in sockets {
                let count = Int64(curl_kit_count_read(descriptor))
                let hasGrown = isSuspected && count - socket.count >= SocketWatch.leastGrowth
                socket.growth = hasGrown ? socket.growth + 1 : 0
                socket.count = count
                sockets[descriptor] = socket
                guard socket.growth >= SocketWatch.checkCount else { continue }
                // Under the lock: otherwise, another socket could have the descriptor now.
                shutdown(descriptor, Int32(SHUT_RDWR))
                origins.insert(socket.origin)
            }
        }
    }

    /// Changes when libcurl is called, returns, or passes on a body. Odd while it is called.
    private let turn = Atomic(0)
    private let state = Locked(State())

    /// The time until libcurl is suspected, the time between the checks that follow, and their number.
    private static let (pause, shortPause, checkCount): (Int64, Int64, Int) = (1_000_000_000, 200_000_000, 5)
    /// A flood has more bytes than this between two checks, even if libcurl's thread has little processor time.
    private static let leastGrowth: Int64 = 1 << 14

    // MARK: - libcurl's thread

    func begin() {
        turn.wrappingAdd(1, ordering: .relaxed)
        let mustSchedule = state.withLock { state in
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if mustSchedule { schedule(after: Self.pause) }
    }

    func end() {
        turn.wrappingAdd(1, ordering: .relaxed)
    }

    func passedOnBody() {
        turn.wrappingAdd(2, ordering: .relaxed)
    }

    /// Opens the sockets of a transfer.
    func open(with handle: UnsafeMutableRawPointer, for curl: CurlTransfer) {
        curl_kit_set_open_function(handle) { curl, _, address in
            guard let address = address?.pointee, let curl = CurlTransfer.from(curl) else { return CURL_SOCKET_BAD }
            let type = address.socktype | Int32(SOCK_CLOEXEC.rawValue)
            let descriptor = socket(address.family, type, address.protocol)
            if descriptor >= 0 { curl.loop.watch.add(descriptor, curl.transfer.origin) }
            return descriptor
        }
        curl_kit_set_pointer(handle, CURLOPT_OPENSOCKETDATA, Unmanaged.passUnretained(curl).toOpaque())
        curl_kit_set_close_function(handle) { watch, descriptor in
            guard let watch else { return 0 }
            Unmanaged<SocketWatch>.fromOpaque(watch).takeUnretainedValue().remove(descriptor)
            return close(descriptor)
        }
        // A connection outlives its first transfer, and the loop outlives the connection.
        curl_kit_set_pointer(handle, CURLOPT_CLOSESOCKETDATA, Unmanaged.passUnretained(self).toOpaque())
    }

    private func add(_ descriptor: Int32, _ origin: [String]) {
        state.withLock { state in
            state.sockets[descriptor] = Socket(origin: origin)
            state.origins.remove(origin)
        }
    }

    private func remove(_ descriptor: Int32) {
        state.withLock { _ = $0.sockets.removeValue(forKey: descriptor) }
    }

    /// Whether a connection to the origin was shut down, and there is no new one.
    func hasShutDown(_ origin: [String]) -> Bool { state.withLock { $0.origins.contains(origin) } }

    // MARK: - The timer thread

    private func schedule(after pause: Int64) {
        _ = ServiceThread.shared.call(at: ServiceThread.now + pause) { [weak self] in self?.check() }
    }

    private func check() {
        let pause = state.withLock { state -> Int64? in
            let turn = turn.load(ordering: .relaxed)
            state.isScheduled = !turn.isMultiple(of: 2)
            guard state.isScheduled else { return nil }
            let isSuspected = turn == state.lastTurn
            state.lastTurn = turn
            state.check(isSuspected)
            return isSuspected ? Self.shortPause : Self.pause
        }
        if let pause { schedule(after: pause) }
    }
}
