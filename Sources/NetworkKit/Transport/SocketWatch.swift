import CIndicatorCurl
import Foundation
import IndicatorCore
import Synchronization

/// Shuts down connections on which no response will come, and those that keep libcurl's thread busy.
///
/// **Dead ones.** libcurl sends all later requests to a shared HTTP/2 connection that is no longer forwarded. So one is
/// shut down on which the other side has acknowledged nothing for 20 seconds, also not what the kernel has sent again,
/// or, if something on the way still acknowledges, sent nothing until a request's timeout. (TCP_USER_TIMEOUT also
/// counts while the receiver's window is closed: it would end uploads to a busy server.)
///
/// **Floods.** libcurl 7.88 reads from a connection until nothing is left, and discards what is no part of a response,
/// such as empty frames of HTTP/2. A server that sends this fast enough would stop all transfers and time limits. So
/// while libcurl is busy, the timer thread looks whether it has returned or passed on a body within two seconds. If
/// not, it shuts down the connections that libcurl continues to read from.
final class SocketWatch: Sendable {
    /// A TCP connection of libcurl, or one that was.
    final class Connection: @unchecked Sendable {
        // `@unchecked`: the lock of the watch protects the variables, except the first five.

        /// Whether HTTP/2 requests share it, whether the server had sent bytes or closed it before the last request,
        /// and whether one got nothing on it until its time limit. Only used on libcurl's thread, as are the next two.
        var (isShared, isUnclean, isSilent) = (false, false, false)
        /// How many requests are on it.
        var useCount = 0
        /// When one last began or ended; `nil` before the first.
        var lastUse: ContinuousClock.Instant?
        fileprivate let descriptor: Int32
        fileprivate var port: Int32 = 0
        fileprivate var isClosed = false
        /// How many bytes the other side had acknowledged.
        fileprivate var acknowledged: Int64 = 0
        /// The received bytes when the first of the requests began that have got nothing since.
        fileprivate var silence: (received: Int64, since: ContinuousClock.Instant)?
        /// The bytes that libcurl had read at the last check.
        fileprivate var readCount: Int64 = 0

        fileprivate init(_ descriptor: Int32) { self.descriptor = descriptor }

        /// `nil` unless it is established.
        fileprivate var state: curl_kit_tcp_state? {
            var state = curl_kit_tcp_state()
            return !isClosed && curl_kit_get_tcp_state(descriptor, &state) != 0 ? state : nil
        }
    }

    /// When libcurl was called, or last passed on a body, in nanoseconds; 0 while it is not called.
    private let lastSign = Atomic<Int64>(0)
    /// The connections by descriptor, whether a check for floods is scheduled, and the sign that the last one saw.
    private let state = Locked((connections: [Int32: Connection](), isScheduled: false, seenSign: Int64(0)))

    /// How long a connection may be silent that others may wait for.
    static let silenceLimit = Duration.seconds(20)
    /// The time between checks for floods and after which there is one, in nanoseconds, and the least bytes of a check.
    private static let (pause, limit, leastGrowth): (Int64, Int64, Int64) = (300_000_000, 2_000_000_000, 1 << 17)

    // MARK: - libcurl's thread

    func begin() {
        passedOnBody()
        let mustSchedule = state.withLock { state in
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if mustSchedule { schedule() }
    }

    func end() { lastSign.store(0, ordering: .relaxed) }

    func passedOnBody() { lastSign.store(ServiceThread.now, ordering: .relaxed) }

    /// Opens the sockets of a transfer. A connection outlives its first transfer, and this outlives the connection.
    func open(with handle: UnsafeMutableRawPointer) {
        let context = Unmanaged.passUnretained(self).toOpaque()
        curl_kit_set_open_function(handle) { watch, _, address in
            guard let address = address?.pointee, let watch else { return CURL_SOCKET_BAD }
            let type = address.socktype | Int32(SOCK_CLOEXEC.rawValue)
            let descriptor = StandardStreams.excluding(socket(address.family, type, address.protocol))
            let owner = Unmanaged<SocketWatch>.fromOpaque(watch).takeUnretainedValue()
            if descriptor >= 0 { owner.state.withLock { $0.connections[descriptor] = Connection(descriptor) } }
            return descriptor
        }
        curl_kit_set_pointer(handle, CURLOPT_OPENSOCKETDATA, context)
        curl_kit_set_close_function(handle) { watch, descriptor in
            guard let watch else { return 0 }
            let owner = Unmanaged<SocketWatch>.fromOpaque(watch).takeUnretainedValue()
            owner.state.withLock { $0.connections.removeValue(forKey: descriptor)?.isClosed = true }
            return close(descriptor)
        }
        curl_kit_set_pointer(handle, CURLOPT_CLOSESOCKETDATA, context)
    }

    /// The connection on which a request begins, by its local port, which those to other hosts may have, too, and the
    /// address of the other side.
    func connection(at port: Int32, of address: UnsafePointer<CChar>?) -> Connection? {
        state.withLock { state in
            for connection in state.connections.values where connection.port == 0 {
                connection.port = curl_kit_get_local_port(connection.descriptor)
            }
            let candidates = state.connections.values.filter { $0.port == port }
            let isOne = candidates.count == 1
            let found = candidates.first { isOne || curl_kit_may_have_peer($0.descriptor, address) != 0 }
            guard let found else { return nil }
            let current = found.state
            let received = current?.received ?? 0
            found.isUnclean = current.map { $0.unread > 0 } ?? true
            if found.silence?.received != received { found.silence = (received, .now) }
            return found
        }
    }

    /// Whether the other side has acknowledged bytes since the last call.
    func hasSent(_ connection: Connection) -> Bool {
        state.withLock { _ in
            let count = connection.state?.acknowledged ?? connection.acknowledged
            return exchange(&connection.acknowledged, with: count) != count
        }
    }

    /// Shuts down a connection if the other side acknowledges nothing any more; otherwise returns when to look again.
    func endIfUnacknowledged(_ connection: Connection) -> Duration {
        state.withLock { _ in
            let rest = Self.silenceLimit - .milliseconds(connection.state?.ignored ?? 0)
            if rest <= .zero { shutdown(connection.descriptor, Int32(SHUT_RDWR)) }
            return rest > .zero ? rest : Self.silenceLimit
        }
    }

    /// Shuts down a connection if it has been silent for too long since the first of the requests that wait. Returns
    /// whether it has been silent since then.
    func endIfSilent(_ connection: Connection) -> Bool {
        state.withLock { _ in
            guard let silence = connection.silence, connection.state?.received == silence.received else { return false }
            if silence.since + Self.silenceLimit <= .now { shutdown(connection.descriptor, Int32(SHUT_RDWR)) }
            return true
        }
    }

    // MARK: - The timer thread

    private func schedule() {
        _ = ServiceThread.shared.call(at: ServiceThread.now + Self.pause) { [weak self] in self?.check() }
    }

    /// Notes what was read from each connection, and shuts down those that libcurl reads from for too long.
    private func check() {
        let isBusy = state.withLock { state in
            let lastSign = lastSign.load(ordering: .relaxed)
            state.isScheduled = lastSign != 0
            // Not after a stop of the process: the check before has seen the same.
            let isSame = exchange(&state.seenSign, with: lastSign) == lastSign
            let isFlooded = lastSign != 0 && isSame && ServiceThread.now - lastSign >= Self.limit
            for connection in state.connections.values {
                let count = connection.state.map { $0.received - $0.unread } ?? 0
                let growth = count - exchange(&connection.readCount, with: count)
                // Under the lock: otherwise, another socket could have the descriptor now.
                if isFlooded, growth >= Self.leastGrowth { shutdown(connection.descriptor, Int32(SHUT_RDWR)) }
            }
            return state.isScheduled
        }
        if isBusy { schedule() }
    }
}
