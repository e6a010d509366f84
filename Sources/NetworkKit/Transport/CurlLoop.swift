import CCurl
import DequeModule
import Foundation
import IndicatorCore
import IndicatorThreads

/// The thread on which libcurl runs all transfers of a client, with its connection pool.
///
/// The thread waits in one call for the sockets, the next time limit and a `WakeUp`, so an idle one causes no wake-ups.
/// The first transfer starts it. It ends when the loop is closed and the last transfer has ended.
final class CurlLoop: @unchecked Sendable {
    // `@unchecked`: `inbox` is locked; only the loop's thread uses the other variables.

    /// What applies to all transfers.
    struct Settings: Sendable {
        var maximumConnectionsPerHost: Int
        var keepsCookies: Bool
        /// The trust of hosts, by their canonical names.
        var trust: [String: HostTrust]
        /// The trust of the others.
        var defaultTrust: HostTrust

        func trust(of origin: [String]) -> HostTrust {
            guard !trust.isEmpty else { return defaultTrust }
            var found = trust[origin[1].canonicalHost] ?? defaultTrust
            found.certificateAuthorities = found.certificateAuthorities ?? defaultTrust.certificateAuthorities
            return found
        }
    }

    private struct Inbox {
        var transfers: [Transfer] = []
        var isRunning = false
        var isClosed = false
    }

    /// The transfers to a scheme, host and port.
    ///
    /// libcurl limits the connections, too, but has one list for all transfers that wait for one, and begins them in
    /// their order: those to a hung host would delay the others. So it gets no more than can begin, as long as a host
    /// that shares connections allows enough streams.
    private final class Host {
        /// Those that have not begun, because the limit is reached or they are suspended. The oldest is first.
        var waiting: Deque<Transfer> = []
        var activeCount = 0
        /// How many may be active.
        var limit: Int
        /// Whether another one can perhaps begin: the waiting ones, the number or the limit has changed.
        var hasChanged = true

        init(limit: Int) {
            self.limit = limit
        }

        /// Removes and counts the next one that may begin.
        func next() -> Transfer? {
            guard hasChanged, activeCount < limit, let index = waiting.firstIndex(where: \.mayBegin) else {
                hasChanged = false
                return nil
            }
            activeCount += 1
            return waiting.remove(at: index)
        }

        /// Counts one that has ended.
        func end() {
            activeCount -= 1
            hasChanged = true
        }

        func removeFinished() {
            for transfer in waiting where transfer.isFinished { transfer.isWaiting = false }
            waiting.removeAll { !$0.isWaiting }
        }
    }

    private let inbox = Locked(Inbox())
    private let wakeUp = WakeUp()
    private let settings: Settings
    let watch = SocketWatch()
    /// How many connections to a host there may be.
    private let limit: Int
    private var active: [UnsafeMutableRawPointer: Transfer] = [:]
    private var hosts: [[String]: Host] = [:]
    /// When the first time limit may be exceeded.
    private var nextCheck: ContinuousClock.Instant?
    /// How many rounds there are, at least, before the thread waits.
    private var roundsLeft = 0
    private static let roundsAfterAnEvent = 2

    init(_ settings: Settings) {
        self.settings = settings
        limit = max(settings.maximumConnectionsPerHost, 1)
        // Not with the first request, which may begin while another thread ends the process.
        _ = Self.isLibraryReady
    }

    /// Schedules a transfer on the loop's thread: starts, ends, pauses or resumes it, as its state requires.
    func attend(to transfer: Transfer) {
        let mustStart = inbox.withLock { inbox in
            inbox.transfers.append(transfer)
            defer { inbox.isRunning = true }
            return !inbox.isRunning
        }
        guard mustStart else { wakeUp?.wake(); return }
        guard let wakeUp, Self.isLibraryReady, ThreadStarter.start(named: "network-kit", { self.run(wakeUp) }) else {
            return fail("could not start the network thread: the process has reached its limits")
        }
    }

    /// Fails all waiting transfers: there is no thread for them.
    private func fail(_ problem: String) {
        let waiting = inbox.withLock { inbox in
            defer { inbox.transfers = [] }
            inbox.isRunning = false
            return inbox.transfers
        }
        for transfer in waiting { transfer.finish(throwing: transfer.failure(.other, problem)) }
    }

    /// Lets the thread end after the last transfer.
    func close() {
        inbox.withLock { $0.isClosed = true }
        wakeUp?.wake()
    }

    private static let outOfMemory = "libcurl is out of memory"
    private static let isLibraryReady: Bool = {
        guard ExitGate.enter() else { return false }
        defer { ExitGate.leave() }
        guard curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK else { return false }
        ExitGate.closeAtExit()
        return true
    }()

    // MARK: - The thread

    private func run(_ wakeUp: WakeUp) {
        ExitGate.enterUntilThreadEnds()
        watch.begin()
        defer { watch.end() }
        guard let share = curl_share_init() else { return fail(Self.outOfMemory) }
        defer { curl_share_cleanup(share) }
        guard let multi = curl_multi_init() else { return fail(Self.outOfMemory) }
        defer { curl_multi_cleanup(multi) }
        curl_kit_share_cookies(share)
        curl_kit_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, limit)
        while let arrived = takeInbox() {
            var running: Int32 = 0
            curl_multi_perform(multi, &running)
            finishEnded(multi)
            endOverdue(multi)
            for transfer in arrived { attend(to: transfer, multi) }
            beginWaiting(multi, share)
            wait(multi, wakeUp)
        }
    }

    /// The scheduled transfers; `nil` when the thread should end.
    private func takeInbox() -> [Transfer]? {
        inbox.withLock { inbox in
            if inbox.isClosed, inbox.transfers.isEmpty, hosts.isEmpty {
                inbox.isRunning = false
                return nil
            }
            defer { inbox.transfers = [] }
            return inbox.transfers
        }
    }

    private func attend(to transfer: Transfer, _ multi: UnsafeMutableRawPointer) {
        roundsLeft = Self.roundsAfterAnEvent
        if let handle = transfer.handle {
            if !transfer.isFinished { transfer.updatePause() }
            if transfer.isFinished { remove(handle, from: multi) }
            return
        }
        guard !transfer.isFinished else {
            if transfer.isWaiting { hosts[transfer.origin]?.removeFinished() }
            return
        }
        let host = hosts[transfer.origin] ?? Host(limit: limit)
        host.hasChanged = true
        guard !transfer.isWaiting else { return }
        transfer.isWaiting = true
        hosts[transfer.origin] = host
        host.waiting.append(transfer)
        check(by: transfer.nextLimit)
    }

    private func beginWaiting(_ multi: UnsafeMutableRawPointer, _ share: UnsafeMutableRawPointer) {
        for (origin, host) in hosts {
            while let transfer = host.next() { begin(transfer, multi, share) }
            if host.activeCount == 0, host.waiting.isEmpty { hosts[origin] = nil }
        }
    }

    private func begin(_ transfer: Transfer, _ multi: UnsafeMutableRawPointer, _ share: UnsafeMutableRawPointer) {
        transfer.isWaiting = false
        guard let handle = curl_easy_init() else {
            hosts[transfer.origin]?.end()
            return transfer.finish(throwing: transfer.failure(.other, Self.outOfMemory))
        }
        roundsLeft = Self.roundsAfterAnEvent
        active[handle] = transfer
        let trust = settings.trust(of: transfer.origin)
        if let problem = transfer.begin(with: handle, cookies: settings.keepsCookies ? share : nil, trust: trust) {
            transfer.finish(throwing: transfer.failure(.insecure, problem))
            return remove(handle, from: multi)
        }
        guard curl_multi_add_handle(multi, handle) == CURLM_OK else {
            transfer.completed(with: CURLE_OUT_OF_MEMORY)
            return remove(handle, from: multi)
        }
    }

    /// Raises, on the loop's thread, the limit of a host whose transfers share connections, until there are none left.
    /// 100 is libcurl's own limit for a connection.
    func connectionsAreShared(at origin: [String]) {
        guard let host = hosts[origin] else { return }
        host.limit = max(limit, 100)
        host.hasChanged = true
    }

    private func finishEnded(_ multi: UnsafeMutableRawPointer) {
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi, &left)?.pointee {
            guard message.msg == CURLMSG_DONE, let handle = message.easy_handle else { continue }
            active[handle]?.completed(with: message.data.result)
            remove(handle, from: multi)
        }
    }

    private func remove(_ handle: UnsafeMutableRawPointer, from multi: UnsafeMutableRawPointer) {
        roundsLeft = Self.roundsAfterAnEvent
        curl_multi_remove_handle(multi, handle)
        curl_easy_cleanup(handle)
        guard let transfer = active.removeValue(forKey: handle) else { return }
        hosts[transfer.origin]?.end()
        transfer.end()
    }

    private func endOverdue(_ multi: UnsafeMutableRawPointer) {
        guard let nextCheck, nextCheck <= .now else { return }
        self.nextCheck = nil
        roundsLeft = Self.roundsAfterAnEvent
        for (handle, transfer) in active {
            if transfer.failIfOverdue() { remove(handle, from: multi) } else { check(by: transfer.nextLimit) }
        }
        for host in hosts.values {
            for transfer in host.waiting where !transfer.failIfOverdue() { check(by: transfer.nextLimit) }
            host.removeFinished()
        }
    }

    /// Notes, on the loop's thread, that a transfer has a connection or starts to establish one.
    func transferBegan(_ transfer: Transfer) {
        roundsLeft = Self.roundsAfterAnEvent
        check(by: transfer.nextLimit)
    }

    private func check(by limit: ContinuousClock.Instant?) {
        guard let limit else { return }
        nextCheck = min(nextCheck ?? limit, limit)
    }

    /// Waits until there is something to do.
    ///
    /// When `curl_multi_perform` looks for a connection, such as in the round after a transfer was added, it drops the
    /// timers that were set before in the same call (up to libcurl 8.17). One of them may stand for data that was
    /// already read from the socket. It runs every transfer, so another round makes up for that. Therefore this only
    /// waits after two rounds in which nothing happened.
    private func wait(_ multi: UnsafeMutableRawPointer, _ wakeUp: WakeUp) {
        let check = nextCheck.map { WakeUp.milliseconds(until: .now + ContinuousClock.now.duration(to: $0)) }
        let timeout = roundsLeft > 0 ? 0 : check ?? .max
        var descriptor = curl_waitfd(fd: wakeUp.descriptor, events: Int16(CURL_WAIT_POLLIN), revents: 0)
        var eventCount: Int32 = 0
        watch.end()
        ExitGate.leave()
        curl_multi_poll(multi, &descriptor, 1, timeout, &eventCount)
        ExitGate.enterOrStop()
        watch.begin()
        roundsLeft = eventCount > 0 ? Self.roundsAfterAnEvent : max(roundsLeft - 1, 0)
        wakeUp.clear()
    }
}
