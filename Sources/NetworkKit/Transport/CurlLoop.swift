import CIndicatorCurl
import Foundation
import IndicatorCore

/// The thread on which libcurl runs all transfers of a client, with its connection pool. The first transfer starts it.
/// It ends when the loop is closed and the last transfer has ended.
final class CurlLoop: ResponseSource, @unchecked Sendable {
    // `@unchecked`: `inbox` is locked; only the loop's thread uses the other variables.

    private struct Inbox {
        var transfers: [Transfer] = []
        /// They use the client's cookies; `nil` without a thread.
        var jobs: [@Sendable (_ share: UnsafeMutableRawPointer?) -> Void] = []
        var isRunning = false
        var isClosed = false
    }

    /// The transfers to a scheme, host and port. libcurl has one list for all that wait for a connection, in which
    /// those to a hung host would delay the others. So it gets no more than can begin.
    private final class Host {
        /// Those that have not begun. The oldest is first.
        var waiting: [Transfer] = []
        /// Whether some of them may have ended.
        var hasEnded = false
        /// How many are active and not paused, and how many may be.
        var activeCount = 0
        var limit: Int

        init(limit: Int) { self.limit = limit }

        /// Removes and counts the next one that may begin.
        func next() -> Transfer? {
            guard activeCount < limit, let index = waiting.firstIndex(where: { $0.begin() }) else { return nil }
            activeCount += 1
            return waiting.remove(at: index)
        }
    }

    private let inbox = Locked(Inbox())
    private let wakeUp = WakeUp()
    /// Of connections to a host.
    private let limit: Int
    let keepsCookies: Bool
    /// How many cookies there are at most.
    private var cookieCount = 0
    /// By canonical names of hosts. The authorities are those of other hosts, and of proxies.
    private let trust: [String: HostTrust]
    private let authorities: URL?
    private let authoritiesPath: String?
    let watch = SocketWatch()
    private var active: [ObjectIdentifier: CurlTransfer] = [:]
    private var handles: [UnsafeMutableRawPointer: CurlTransfer] = [:]
    /// Those that wait for the app. Each may have a connection beyond the limit.
    private var paused: Set<ObjectIdentifier> = []
    private var hosts: [[String]: Host] = [:]
    /// When the current round began, the time of what happens in it.
    private(set) var now = ContinuousClock.now
    /// When the first time limit may be exceeded.
    private var nextCheck: ContinuousClock.Instant?
    /// See ``wait(_:_:isAlone:)``.
    private var roundsLeft = 0
    private var idleRounds = 0

    init(limit: Int, keepsCookies: Bool, trust: [String: HostTrust], authorities: URL?) {
        self.limit = max(limit, 1)
        self.keepsCookies = keepsCookies
        self.trust = Dictionary(trust.map { ($0.key.canonicalHost, $0.value) }) { first, _ in first }
        (self.authorities, authoritiesPath) = (authorities, authorities?.path)
        // Not with the first request, which may begin while another thread ends the process.
        _ = Self.isLibraryReady
    }

    /// How a host proves its identity, and the client its own.
    func trust(of origin: [String]) -> HostTrust {
        var found = trust.isEmpty ? HostTrust() : trust[origin[1].canonicalHost] ?? HostTrust()
        found.certificateAuthorities = found.certificateAuthorities ?? authorities
        return found
    }

    /// Schedules a transfer on the loop's thread.
    func attend(to transfer: Transfer) {
        add { $0.transfers.append(transfer) }
    }

    /// Calls a function with the client's cookies on the loop's thread; `nil` if it keeps none.
    @discardableResult
    func withCookies<Value: Sendable>(_ use: @escaping @Sendable (UnsafeMutableRawPointer) -> Value) async -> Value? {
        await withCheckedContinuation { continuation in
            add {
                $0.jobs.append { share in
                    continuation.resume(returning: share.map { Cookie.withHandle(of: $0, use) })
                }
            }
        }
    }

    private func add(_ change: (inout Inbox) -> Void) {
        let (isFirst, mustStart) = inbox.withLock { inbox in
            let isFirst = inbox.transfers.isEmpty && inbox.jobs.isEmpty
            change(&inbox)
            return (isFirst, !exchange(&inbox.isRunning, with: true))
        }
        // Otherwise, another call wakes the thread, which takes all. Without the lock, for which the thread would wait.
        if isFirst, !mustStart { wakeUp?.wake() }
        guard mustStart else { return }
        guard let wakeUp, Self.isLibraryReady, ThreadStarter.start(named: "network-kit", { self.run(wakeUp) }) else {
            return fail("could not start the network thread: the process has reached its limits")
        }
    }

    /// Fails all waiting transfers: there is no thread for them.
    private func fail(_ problem: String) {
        let (transfers, jobs) = inbox.withLock { inbox in
            defer { (inbox.transfers, inbox.jobs, inbox.isRunning) = ([], [], false) }
            return (inbox.transfers, inbox.jobs)
        }
        for transfer in transfers { transfer.finish(throwing: transfer.failure(.other, problem)) }
        for job in jobs { job(nil) }
    }

    /// Lets the thread end after the last transfer.
    func close() {
        inbox.withLock { $0.isClosed = true }
        wakeUp?.wake()
    }

    static let outOfMemory = "libcurl is out of memory"
    static let isVersion7 = String(cString: curl_version()).hasPrefix("libcurl/7.")
    private static let isLibraryReady: Bool = {
        SharedLibrary.keepOpenSSL(of: nil)
        return curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK
    }()

    // MARK: - The thread

    private func run(_ wakeUp: WakeUp) {
        watch.begin()
        defer { watch.end() }
        guard let share = curl_share_init(), let multi = curl_multi_init() else { return fail(Self.outOfMemory) }
        defer { curl_share_cleanup(share) }
        defer { curl_multi_cleanup(multi) }
        curl_kit_share_cookies(share)
        if keepsCookies { Cookie.withHandle(of: share) { _ in } }
        while let arrived = takeInbox() {
            now = .now
            for transfer in arrived.transfers { perform(commandsOf: transfer, multi) }
            beginWaiting(multi, share)
            let count = active.count
            var running: Int32 = 0
            curl_multi_perform(multi, &running)
            roundsLeft = max(roundsLeft - 1, 0)
            finishEnded(multi)
            endOverdue(multi)
            for job in arrived.jobs { job(keepsCookies ? share : nil) }
            if cookieCount > Cookie.maximumCount / 10 * 11 {
                cookieCount = Cookie.withHandle(of: share) { Cookie.trim(of: $0) }
            }
            // In the place of those that have ended. libcurl then does not wait.
            beginWaiting(multi, share)
            // After the last transfer, nobody wakes the thread of a loop that was closed before.
            if active.isEmpty, hosts.isEmpty, inbox.withLock({ $0.isClosed }) { continue }
            wait(multi, wakeUp, isAlone: max(count, active.count) <= 1)
        }
    }

    /// What was scheduled; `nil` when the thread should end.
    private func takeInbox() -> Inbox? {
        inbox.withLock { inbox in
            if inbox.isClosed, inbox.transfers.isEmpty, inbox.jobs.isEmpty, hosts.isEmpty, active.isEmpty {
                inbox.isRunning = false
                return nil
            }
            defer { (inbox.transfers, inbox.jobs) = ([], []) }
            return inbox
        }
    }

    private func host(_ origin: [String]) -> Host {
        if let host = hosts[origin] { return host }
        let host = Host(limit: limit)
        hosts[origin] = host
        return host
    }

    private func perform(commandsOf transfer: Transfer, _ multi: UnsafeMutableRawPointer) {
        roundsLeft = 2
        while true {
            switch transfer.command() {
            case .none: return
            case .queue:
                host(transfer.origin).waiting.append(transfer)
                check(by: transfer.request.deadline)
            case .dequeue:
                // All at once: there may be very many.
                host(transfer.origin).hasEnded = true
            case .pause:
                // Not by libcurl, which would hold back lines of the head: the callbacks pause it.
                if let curl = active[ObjectIdentifier(transfer)] { paused(curl) }
            case .resume:
                guard let curl = active[ObjectIdentifier(transfer)] else { continue }
                if paused.remove(ObjectIdentifier(transfer)) != nil { host(transfer.origin).activeCount += 1 }
                curl.resume()
                check(by: curl.nextLimit)
            case .release:
                remove(transfer, multi)
            }
        }
    }

    /// Notes that a transfer waits for the app, and does not keep others from beginning.
    func paused(_ curl: CurlTransfer) {
        guard paused.insert(ObjectIdentifier(curl.transfer)).inserted else { return }
        host(curl.transfer.origin).activeCount -= 1
    }

    private func beginWaiting(_ multi: UnsafeMutableRawPointer, _ share: UnsafeMutableRawPointer) {
        curl_kit_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, limit + paused.count)
        for (origin, host) in hosts {
            if exchange(&host.hasEnded, with: false) { host.waiting.removeAll(where: \.hasEnded) }
            while let transfer = host.next() { begin(transfer, multi, share) }
            if host.activeCount == 0, host.waiting.isEmpty { hosts[origin] = nil }
        }
    }

    private func begin(_ transfer: Transfer, _ multi: UnsafeMutableRawPointer, _ share: UnsafeMutableRawPointer) {
        roundsLeft = 2
        guard let handle = curl_easy_init() else { preconditionFailure(Self.outOfMemory) }
        let curl = CurlTransfer(transfer, handle: handle, loop: self, trust: trust(of: transfer.origin))
        active[ObjectIdentifier(transfer)] = curl
        handles[handle] = curl
        if let problem = curl.setOptions(proxyAuthorities: authoritiesPath) {
            transfer.finish(throwing: problem)
            return remove(transfer, multi)
        }
        if keepsCookies { Cookie.use(share, in: handle) }
        let code = curl_multi_add_handle(multi, handle)
        precondition(code == CURLM_OK, Self.outOfMemory)
    }

    /// Notes that a response has set cookies.
    func cookiesArrived(_ count: Int) { cookieCount += count }

    /// Raises the limit of a host whose transfers share connections. 100 is libcurl's own for a connection.
    func connectionsAreShared(at origin: [String]) {
        hosts[origin]?.limit = max(100, limit)
    }

    private func finishEnded(_ multi: UnsafeMutableRawPointer) {
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi, &left)?.pointee {
            guard message.msg == CURLMSG_DONE, let curl = message.easy_handle.flatMap({ handles[$0] }) else { continue }
            if curl.mustRepeat(after: message.data.result) {
                curl_multi_remove_handle(multi, curl.handle)
                roundsLeft = 2
                if curl_multi_add_handle(multi, curl.handle) == CURLM_OK { continue }
            }
            curl.completed(with: message.data.result)
            remove(curl.transfer, multi)
        }
    }

    private func remove(_ transfer: Transfer, _ multi: UnsafeMutableRawPointer) {
        roundsLeft = 2
        guard let curl = active.removeValue(forKey: ObjectIdentifier(transfer)) else { return }
        handles[curl.handle] = nil
        curl_multi_remove_handle(multi, curl.handle)
        if paused.remove(ObjectIdentifier(transfer)) == nil { host(transfer.origin).activeCount -= 1 }
    }

    private func endOverdue(_ multi: UnsafeMutableRawPointer) {
        guard let nextCheck, nextCheck <= .now else { return }
        self.nextCheck = nil
        roundsLeft = 2
        for curl in active.values {
            if curl.endIfOverdue() { remove(curl.transfer, multi) } else { check(by: curl.nextLimit) }
        }
        for host in hosts.values {
            host.waiting.removeAll { transfer in
                guard let failure = transfer.overdueFailure else { return false }
                transfer.finish(throwing: failure)
                return true
            }
            for transfer in host.waiting { check(by: transfer.request.deadline) }
        }
    }

    /// Notes when a time limit may be exceeded.
    func check(by limit: ContinuousClock.Instant?) {
        guard let limit else { return }
        nextCheck = min(nextCheck ?? limit, limit)
    }

    /// Waits until there is something to do.
    ///
    /// When `curl_multi_perform` looks for a connection, it drops the timers that were set before in the same call (up
    /// to libcurl 8.17). One may stand for data of another transfer that was already read. So with several transfers,
    /// this only waits after two rounds since the last change or event of a socket.
    ///
    /// - Parameter isAlone: whether at most one transfer was run, and is run next.
    private func wait(_ multi: UnsafeMutableRawPointer, _ wakeUp: WakeUp, isAlone: Bool) {
        let check = nextCheck.map { WakeUp.milliseconds(until: .now + ContinuousClock.now.duration(to: $0)) }
        let timeout = roundsLeft > 0 && !isAlone ? 0 : check ?? .max
        var descriptor = curl_waitfd(fd: wakeUp.descriptor, events: Int16(CURL_WAIT_POLLIN), revents: 0)
        var wakeUps = pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0)
        var (eventCount, delay): (Int32, Int) = (0, -1)
        curl_multi_timeout(multi, &delay)
        watch.end()
        // libcurl 8.14 always wants another round while a paused transfer has received its response and the server has
        // closed the connection (curl/curl#17662). That uses a whole core.
        if idleRounds >= 100 { poll(&wakeUps, 1, min(timeout, active.count > paused.count ? 1 : 10)) }
        curl_multi_poll(multi, &descriptor, 1, timeout, &eventCount)
        idleRounds = eventCount == 0 && delay == 0 ? idleRounds + 1 : 0
        watch.begin()
        if eventCount > 0 { roundsLeft = 2 }
        if descriptor.revents != 0 { wakeUp.clear() }
    }
}
