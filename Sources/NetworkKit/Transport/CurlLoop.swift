import CCurl
import Foundation
import IndicatorCore
import IndicatorThreads

/// The thread on which libcurl runs all transfers of a client, with its connection pool.
///
/// The thread waits in one call for the sockets, the next time limit and a `WakeUp`, so an idle one causes no wake-ups.
/// The first transfer starts it. It ends when the loop is closed and the last transfer has ended.
final class CurlLoop: @unchecked Sendable {
    // `@unchecked`: `inbox` is locked; only the loop's thread uses the other variables.

    private struct Inbox {
        var transfers: [Transfer] = []
        var isRunning = false
        var isClosed = false
    }

    private let inbox = Locked(Inbox())
    private let wakeUp = WakeUp()
    private let options: NetworkClient.Options
    private var active: [UnsafeMutableRawPointer: Transfer] = [:]
    /// When the first time limit may be exceeded.
    private var nextCheck: ContinuousClock.Instant?
    /// Whether a transfer was added, got a connection or ended, after which libcurl looks for connections.
    private var hasChanged = false

    init(_ options: NetworkClient.Options) {
        self.options = options
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
    private static let isLibraryReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    // MARK: - The thread

    private func run(_ wakeUp: WakeUp) {
        guard let share = curl_share_init() else { return fail(Self.outOfMemory) }
        defer { curl_share_cleanup(share) }
        guard let multi = curl_multi_init() else { return fail(Self.outOfMemory) }
        defer { curl_multi_cleanup(multi) }
        curl_kit_share_cookies(share)
        curl_kit_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, options.maximumConnectionsPerHost)
        while let arrived = takeInbox() {
            for transfer in arrived { attend(to: transfer, multi, share) }
            let hadChanged = hasChanged
            hasChanged = false
            var running: Int32 = 0
            curl_multi_perform(multi, &running)
            finishEnded(multi)
            endOverdue(multi)
            wait(multi, wakeUp, mayHaveLostTimer: hadChanged || hasChanged)
        }
    }

    /// The scheduled transfers; `nil` when the thread should end.
    private func takeInbox() -> [Transfer]? {
        inbox.withLock { inbox in
            if inbox.isClosed, inbox.transfers.isEmpty, active.isEmpty {
                inbox.isRunning = false
                return nil
            }
            defer { inbox.transfers = [] }
            return inbox.transfers
        }
    }

    private func attend(to transfer: Transfer, _ multi: UnsafeMutableRawPointer, _ share: UnsafeMutableRawPointer) {
        if let handle = transfer.handle {
            if transfer.isFinished { return remove(handle, from: multi) }
            return transfer.updatePause()
        }
        guard !transfer.isFinished, !transfer.isSuspended else { return }
        guard let handle = curl_easy_init() else {
            return transfer.finish(throwing: transfer.failure(.other, Self.outOfMemory))
        }
        active[handle] = transfer
        hasChanged = true
        if let file = options.certificateAuthorities { curl_kit_set_string(handle, CURLOPT_CAINFO, file.path) }
        transfer.begin(with: handle, cookies: options.keepsCookies ? share : nil)
        check(by: transfer.nextLimit)
        guard curl_multi_add_handle(multi, handle) == CURLM_OK else {
            transfer.completed(with: CURLE_OUT_OF_MEMORY)
            return remove(handle, from: multi)
        }
    }

    private func finishEnded(_ multi: UnsafeMutableRawPointer) {
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi, &left)?.pointee {
            guard message.msg == CURLMSG_DONE, let handle = message.easy_handle else { continue }
            active[handle]?.completed(with: message.data.result)
            remove(handle, from: multi)
        }
    }

    /// Notes, on the loop's thread, that a transfer has a connection or starts to establish one.
    func transferBegan() {
        hasChanged = true
    }

    private func remove(_ handle: UnsafeMutableRawPointer, from multi: UnsafeMutableRawPointer) {
        hasChanged = true
        curl_multi_remove_handle(multi, handle)
        curl_easy_cleanup(handle)
        active.removeValue(forKey: handle)?.end()
    }

    private func endOverdue(_ multi: UnsafeMutableRawPointer) {
        guard let nextCheck, nextCheck <= .now else { return }
        self.nextCheck = nil
        for (handle, transfer) in active {
            if transfer.failIfOverdue() { remove(handle, from: multi) } else { check(by: transfer.nextLimit) }
        }
    }

    private func check(by limit: ContinuousClock.Instant?) {
        guard let limit else { return }
        nextCheck = min(nextCheck ?? limit, limit)
    }

    /// Waits until there is something to do.
    ///
    /// When `curl_multi_perform` looks for a connection for a transfer, it can lose timers of other transfers that fall
    /// due during the call (until libcurl 8.17). One of them continues a transfer that waited for a connection, which
    /// would then wait until the next time limit. So this does not wait after a call that may have looked for one.
    private func wait(_ multi: UnsafeMutableRawPointer, _ wakeUp: WakeUp, mayHaveLostTimer: Bool) {
        let timeout = mayHaveLostTimer ? 0 : nextCheck.map { WakeUp.milliseconds(until: $0) } ?? .max
        var waker = curl_waitfd(fd: wakeUp.descriptor, events: Int16(CURL_WAIT_POLLIN), revents: 0)
        curl_multi_poll(multi, &waker, 1, timeout, nil)
        wakeUp.clear()
    }
}
