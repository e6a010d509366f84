import CIndicatorCurl
import Foundation
import IndicatorThreads
import Synchronization

/// Shuts down the connections that keep libcurl's thread busy.
///
/// libcurl, as that of Debian 12, reads from a connection until there is nothing left, and only then returns. What is
/// no part of a response, such as empty frames of HTTP/2, it discards, without a call of any function. So a server that
/// sends this fast enough would stop all transfers of a client, and their time limits. Therefore, while libcurl is
/// busy, the timer thread looks whether it has returned or passed on a body. If not, it shuts down the connections that
/// libcurl continues to read from.
final class SocketWatch: Sendable {
    private struct State {
        /// How many bytes libcurl had read at the last check, and at how many checks in a row it had read more.
        var sockets: [Int32: (count: Int64, growth: Int)] = [:]
        var isScheduled = false
        /// `turn` at the last check.
        var lastTurn = 0
    }

    /// Changes when libcurl is called, returns, or passes on a body. Odd while it is called.
    private let turn = Atomic(0)
    private let state = Locked(State())

    /// The time between checks, in nanoseconds, and their number.
    private static let (pause, checkCount): (Int64, Int) = (300_000_000, 6)
    /// A flood has more bytes than this between two checks, even if libcurl's thread has little processor time.
    private static let leastGrowth: Int64 = 1 << 14

    // MARK: - libcurl's thread

    func begin() {
        turn.wrappingAdd(1, ordering: .relaxed)
        let mustSchedule = state.withLock { state in
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if mustSchedule { schedule() }
    }

    func end() { turn.wrappingAdd(1, ordering: .relaxed) }

    func passedOnBody() { turn.wrappingAdd(2, ordering: .relaxed) }

    /// Opens the sockets of a transfer. A connection outlives its first transfer, and this outlives the connection.
    func open(with handle: UnsafeMutableRawPointer) {
        let context = Unmanaged.passUnretained(self).toOpaque()
        curl_kit_set_open_function(handle) { watch, _, address in
            guard let address = address?.pointee, let watch else { return CURL_SOCKET_BAD }
            let type = address.socktype | Int32(SOCK_CLOEXEC.rawValue)
            let descriptor = StandardStreams.excluding(socket(address.family, type, address.protocol))
            let owner = Unmanaged<SocketWatch>.fromOpaque(watch).takeUnretainedValue()
            if descriptor >= 0 { owner.state.withLock { $0.sockets[descriptor] = (0, 0) } }
            return descriptor
        }
        curl_kit_set_pointer(handle, CURLOPT_OPENSOCKETDATA, context)
        curl_kit_set_close_function(handle) { watch, descriptor in
            guard let watch else { return 0 }
            let owner = Unmanaged<SocketWatch>.fromOpaque(watch).takeUnretainedValue()
            owner.state.withLock { $0.sockets[descriptor] = nil }
            return close(descriptor)
        }
        curl_kit_set_pointer(handle, CURLOPT_CLOSESOCKETDATA, context)
    }

    // MARK: - The timer thread

    private func schedule() {
        _ = ServiceThread.shared.call(at: ServiceThread.now + Self.pause) { [weak self] in self?.check() }
    }

    /// Notes what was read from each connection, and shuts down those that have been read from at enough checks.
    private func check() {
        let isBusy = state.withLock { state in
            let turn = turn.load(ordering: .relaxed)
            state.isScheduled = !turn.isMultiple(of: 2)
            let isSuspected = state.isScheduled && turn == state.lastTurn
            state.lastTurn = turn
            for (descriptor, var socket) in state.sockets {
                let count = Int64(curl_kit_count_read(descriptor))
                socket.growth = isSuspected && count - socket.count >= Self.leastGrowth ? socket.growth + 1 : 0
                socket.count = count
                state.sockets[descriptor] = socket
                // Under the lock: otherwise, another socket could have the descriptor now.
                if socket.growth >= Self.checkCount { shutdown(descriptor, Int32(SHUT_RDWR)) }
            }
            return state.isScheduled
        }
        if isBusy { schedule() }
    }
}
