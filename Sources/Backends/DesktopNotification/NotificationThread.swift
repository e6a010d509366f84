#if DesktopNotification
import Foundation
import IndicatorCore

/// The thread on which a process uses libnotify.
///
/// There is one, however many backends there are: libnotify has one state for the process and locks nothing of it. It sleeps
/// in a GLib main context of its own, on which GLib calls back; an idle one costs no wake-up. A notification server that hangs
/// can hold it up for 25 seconds, and whoever has given it work waits only as long as it wants to.
final class NotificationThread: Sendable {
    static let shared = NotificationThread()

    private struct State: Sendable {
        var jobs: [@Sendable (NotificationHub) -> Void] = []
        var isRunning = false
    }

    private let context = GLibContext()
    private let state = Locked(State())

    private init() {}

    /// Has `job` done in its turn. Returns at once.
    func enqueue(_ job: @escaping @Sendable (NotificationHub) -> Void) {
        let mustStart = state.withLock { state in
            state.jobs.append(job)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        context.wake()
        guard mustStart, !OwnThread.start(named: "ind-notify", { self.run() }) else { return }
        // No thread is to be had now; the next job tries again.
        state.withLock { $0.isRunning = false }
    }

    /// Has `job` done in its turn and waits for that.
    ///
    /// - Parameters:
    ///   - limit: how long to wait; then ``DesktopNotificationError/notResponding`` is thrown, and the job goes on.
    ///   - late: called when a job that nobody waits for any more has been done.
    ///   - job: what to do, on the thread.
    func perform(
        within limit: Duration,
        late: @escaping @Sendable () -> Void = {},
        _ job: @escaping @Sendable (NotificationHub) throws(DesktopNotificationError) -> Void
    ) async throws(DesktopNotificationError) {
        let outcome = Outcome()
        enqueue { hub in
            do throws(DesktopNotificationError) {
                try job(hub)
                if !outcome.resolve(.success(())) { late() }
            } catch {
                if !outcome.resolve(.failure(error)) { late() }
            }
        }
        let timer = Task.detached {
            try await Task.sleep(for: limit)
            _ = outcome.resolve(.failure(.notResponding))
        }
        defer { timer.cancel() }
        try await outcome.wait().get()
    }

    private func run() {
        context.enter()
        let hub = NotificationHub(context: context)
        while true {
            while let job = nextJob() { job(hub) }
            context.turn()
        }
    }

    private func nextJob() -> (@Sendable (NotificationHub) -> Void)? {
        state.withLock { $0.jobs.isEmpty ? nil : $0.jobs.removeFirst() }
    }
}

/// The first outcome of several that may come.
private final class Outcome: Sendable {
    typealias Value = Result<Void, DesktopNotificationError>

    private struct State: Sendable {
        var value: Value?
        var waiter: CheckedContinuation<Value, Never>?
    }

    private let state = Locked(State())

    /// Returns whether this was the first.
    func resolve(_ value: Value) -> Bool {
        let (isFirst, waiter) = state.withLock { state in
            guard state.value == nil else { return (false, CheckedContinuation<Value, Never>?.none) }
            state.value = value
            return (true, state.waiter.take())
        }
        waiter?.resume(returning: value)
        return isFirst
    }

    func wait() async -> Value {
        await withCheckedContinuation { continuation in
            let value = state.withLock { state in
                if state.value == nil { state.waiter = continuation }
                return state.value
            }
            if let value { continuation.resume(returning: value) }
        }
    }
}
#endif
