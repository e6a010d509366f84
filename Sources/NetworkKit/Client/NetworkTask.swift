import Foundation
import IndicatorCore
import IndicatorThreads

/// A request that is on its way, as ``NetworkClient/start(_:onProgress:)`` returns it.
///
/// It is the `object` of the indicator's notifications, which it posts by itself, each once and in order, whichever
/// threads things happen on. Any thread may use it.
public final class NetworkTask: Sendable {
    private enum Phase {
        /// Not begun.
        case waiting
        /// Announced as going on.
        case running
        /// Announced as paused.
        case suspended
        /// Its end was announced.
        case completed
    }

    private struct Event: Sendable {
        var name: Notification.Name
        var userInfo: [String: any Sendable] = [:]
        /// How the request has ended.
        var outcome = ActivityOutcome.unspecified
    }

    private struct State {
        var phase = Phase.waiting
        var label: String
        var progress = TransferProgress()
        /// How many bytes were announced last.
        var announced: Int64 = 0
        var transfer: Transfer?
        var work: Task<NetworkResponse, any Error>?
        var outbox = Outbox<Event>()
    }

    /// Where the request is an activity; `nil`: where the notifications lead.
    private let container: (any ActivityContainer)?
    /// That activity. Changed by the thread that announces alone.
    private let activity = Locked<ManagedActivity?>(nil)
    private let center: NotificationCenter
    private let onProgress: (@Sendable (TransferProgress) -> Void)?
    private let label: String
    private let state: Locked<State>

    init(
        label: String,
        container: (any ActivityContainer)?,
        center: NotificationCenter,
        onProgress: (@Sendable (TransferProgress) -> Void)?
    ) {
        self.label = label
        self.container = container
        self.center = center
        self.onProgress = onProgress
        state = Locked(State(label: label))
    }

    /// How far the request has come.
    public var progress: TransferProgress { state.withLock { $0.progress } }

    /// The response, once it is whole.
    ///
    /// - Throws: ``NetworkError``, what an interceptor threw, or `CancellationError`. Cancelling the Swift task that
    ///   waits does not cancel the request; ``cancel()`` does.
    public var response: NetworkResponse {
        get async throws {
            guard let work = state.withLock({ $0.work }) else { throw CancellationError() }
            return try await work.value
        }
    }

    /// Pauses the request; without effect when it is paused or has ended.
    public func suspend() {
        announce { state in
            guard state.phase == .running else { return nil }
            state.phase = .suspended
            return Event(name: .indicatorTaskDidSuspend)
        }
        passOnPause()
    }

    /// Goes on with a paused request.
    public func resume() {
        begin()
        passOnPause()
    }

    /// Cancels the request: ``response`` throws a `CancellationError`. Without effect when it has ended.
    public func cancel() {
        state.withLock { $0.work }?.cancel()
    }

    // MARK: - The client

    func run(_ send: @escaping @Sendable () async throws -> NetworkResponse) {
        // Before anyone has the task, or a pause or an end could come before the beginning.
        begin()
        let work = Task {
            defer { complete(.unspecified) }
            try Task.checkCancellation()
            return try await send()
        }
        state.withLock { $0.work = work }
    }

    /// The same for a caller who waits and whose cancellation is that of the request. What is returned may go on; when
    /// it throws, the request has ended.
    func run<Value>(
        isEnd: Bool = true,
        isolation: isolated (any Actor)? = #isolation,
        _ send: () async throws -> sending Value
    ) async throws -> sending Value {
        do {
            try Task.checkCancellation()
            begin()
            let value = try await send()
            if isEnd { complete(.succeeded) }
            return value
        } catch {
            complete(ActivityOutcome(error))
            throw error
        }
    }

    func complete(_ outcome: ActivityOutcome) {
        announce { state in
            guard state.phase != .completed else { return nil }
            state.phase = .completed
            state.transfer = nil
            return Event(name: .indicatorTaskDidComplete, outcome: outcome)
        }
    }

    /// Takes the transfer that does the work at the moment, and starts it, unless things are paused.
    func attach(_ transfer: Transfer) {
        state.withLock { $0.transfer = transfer }
        passOnPause()
    }

    /// Starts or pauses the transfer, until what it was told last is still so.
    private func passOnPause() {
        var last: Bool?
        while true {
            let (transfer, isSuspended) = state.withLock { ($0.transfer, $0.phase == .suspended) }
            guard let transfer, isSuspended != last else { return }
            transfer.setSuspended(isSuspended)
            last = isSuspended
        }
    }

    /// Says how much there is to send, before the first attempt.
    func begins(bytesToSend: Int64) {
        progressed { $0.bytesToSend = bytesToSend }
    }

    /// Begins to count anew, and says in the label which attempt this is.
    func retries(_ number: Int, of count: Int) {
        var progress = TransferProgress()
        announce { [label] state in
            state.label = "\(label), retry \(number) of \(count)"
            state.progress = TransferProgress(bytesToSend: state.progress.bytesToSend)
            state.announced = 0
            progress = state.progress
            guard state.phase == .running else { return nil }
            var event = Self.event(progress)
            event.userInfo[TaskNotifications.labelKey] = state.label
            return event
        }
        onProgress?(progress)
    }

    func progressed(_ change: (inout TransferProgress) -> Void) {
        var progress = TransferProgress()
        announce { state in
            change(&state.progress)
            progress = state.progress
            let (count, total) = progress.shown
            let step = total.map { max(1, $0 / 100) } ?? 1 << 18
            guard state.phase == .running,
                count >= state.announced + step || (count == total && count != state.announced)
            else { return nil }
            state.announced = count
            return Self.event(progress)
        }
        onProgress?(progress)
    }

    private static func event(_ progress: TransferProgress) -> Event {
        let (count, total) = progress.shown
        var userInfo: [String: any Sendable] = [TaskNotifications.completedBytesKey: Int(count)]
        if let total { userInfo[TaskNotifications.totalBytesKey] = Int(total) }
        return Event(name: .indicatorTaskDidProgress, userInfo: userInfo)
    }

    private func begin() {
        announce { state in
            guard state.phase == .waiting || state.phase == .suspended else { return nil }
            state.phase = .running
            return Event(name: .indicatorTaskDidResume, userInfo: [TaskNotifications.labelKey: state.label])
        }
    }

    // MARK: - Announcing

    /// Posts what a change calls for. The caller that brings an event while another thread is posting leaves it to that
    /// thread, so that no lock is held while observers run and none is notified of an end before its beginning.
    private func announce(_ change: (inout State) -> Event?) {
        let isPoster = state.withLock { state in
            guard let event = change(&state) else { return false }
            state.outbox.append(event)
            return state.outbox.attend()
        }
        guard isPoster else { return }
        while let batch = state.withLock({ $0.outbox.nextBatch() }) {
            for event in batch {
                if let container {
                    show(event, in: container)
                } else {
                    center.post(name: event.name, object: self, userInfo: event.userInfo.isEmpty ? nil : event.userInfo)
                }
            }
        }
    }

    /// Does what an observer of the notifications would do.
    private func show(_ event: Event, in container: any ActivityContainer) {
        let label = event.userInfo[TaskNotifications.labelKey] as? String
        switch event.name {
        case .indicatorTaskDidResume:
            let begun = ManagedActivity(label, unit: .bytes, in: container)
            activity.withLock { $0 = begun }
        case .indicatorTaskDidProgress:
            guard let activity = activity.withLock({ $0 }) else { return }
            let total = event.userInfo[TaskNotifications.totalBytesKey] as? Int
            if label != nil || activity.total != total {
                activity.update { details in
                    details.label = label ?? details.label
                    details.total = total
                }
            }
            let step = (event.userInfo[TaskNotifications.completedBytesKey] as? Int ?? 0) - activity.completed
            // By steps, of which the rate is made; a new attempt begins again.
            if step < 0 { activity.completed += step } else { activity.advance(by: step) }
        case .indicatorTaskDidComplete:
            activity.withLock { $0.take() }?.end(event.outcome)
        default: break
        }
    }
}
