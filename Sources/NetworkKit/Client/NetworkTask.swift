import Foundation
import IndicatorCore
import IndicatorThreads

/// A request in progress, returned by ``NetworkClient/start(_:onProgress:)``.
///
/// The task is the `object` of the indicator's notifications. It posts each of them once and in order, from any thread.
/// It is thread-safe.
public final class NetworkTask: Sendable {
    private enum Phase {
        /// Not started.
        case waiting
        /// Announced as running.
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

    /// Contains the request's activity; `nil`: the task posts notifications instead.
    private let container: (any ActivityContainer)?
    /// The activity in `container`. Only the thread that announces events changes it.
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

    /// The progress of the request.
    public var progress: TransferProgress { state.withLock { $0.progress } }

    /// The complete response. Waits for it.
    ///
    /// Cancelling the Swift task that waits does not cancel the request; ``cancel()`` does.
    ///
    /// - Throws: ``NetworkError``, the error of an interceptor, or `CancellationError`.
    public var response: NetworkResponse {
        get async throws {
            guard let work = state.withLock({ $0.work }) else { throw CancellationError() }
            return try await work.value
        }
    }

    /// Pauses the request. No effect when it is paused or has ended.
    public func suspend() {
        announce { state in
            guard state.phase == .running else { return nil }
            state.phase = .suspended
            return Event(name: .indicatorTaskDidSuspend)
        }
        passOnPause()
    }

    /// Resumes a paused request.
    public func resume() {
        begin()
        passOnPause()
    }

    /// Cancels the request: ``response`` throws a `CancellationError`. No effect when it has ended.
    public func cancel() {
        state.withLock { $0.work }?.cancel()
    }

    // MARK: - The client

    func run(_ send: @escaping @Sendable () async throws -> NetworkResponse) {
        // Announces the start before a caller can pause or cancel the task.
        begin()
        let work = Task {
            defer { complete(.unspecified) }
            try Task.checkCancellation()
            return try await send()
        }
        state.withLock { $0.work = work }
    }

    /// Runs the request in the caller's task, whose cancellation cancels the request. With `isEnd` false, the request
    /// continues after the return. If this throws, the request has ended.
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

    /// Sets the current transfer, and starts it unless the task is suspended.
    func attach(_ transfer: Transfer) {
        state.withLock { $0.transfer = transfer }
        passOnPause()
    }

    /// Starts or pauses the transfer. Repeats this if the state has changed meanwhile.
    private func passOnPause() {
        var last: Bool?
        while true {
            let (transfer, isSuspended) = state.withLock { ($0.transfer, $0.phase == .suspended) }
            guard let transfer, isSuspended != last else { return }
            transfer.setSuspended(isSuspended)
            last = isSuspended
        }
    }

    /// Sets the length of the request's body, before the first attempt.
    func setBytesToSend(_ bytesToSend: Int64) {
        progressed { $0.bytesToSend = bytesToSend }
    }

    /// Resets the progress, and shows the number of the retry in the label.
    func willRetry(_ number: Int, of count: Int) {
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

    /// Posts the event of a state change. If another thread is posting, that thread posts this event too: no lock is
    /// held while observers run, and the events stay in order.
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

    /// Applies an event to the activity, as an observer of the notifications would.
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
            // A retry starts again from a lower count, and the first step may have been done earlier: only what follows
            // counts for the rate.
            if step < 0 || activity.completed == 0 { activity.completed += step } else { activity.advance(by: step) }
        case .indicatorTaskDidComplete:
            activity.withLock { $0.take() }?.end(event.outcome)
        default: break
        }
    }
}

/// The progress of a request.
public struct TransferProgress: Hashable, Sendable {
    /// The number of bytes sent of the request's body.
    public internal(set) var bytesSent: Int64 = 0
    /// The length of the request's body in bytes; 0 without one, or when it is unknown.
    public internal(set) var bytesToSend: Int64 = 0
    /// The number of bytes received of the response's body, after decompression. A retry begins again at 0, or, if it
    /// resumes a download, with the bytes of the earlier attempts.
    public internal(set) var bytesReceived: Int64 = 0
    /// The length of the response's body in bytes; `nil` when the server does not send it, or compresses the body.
    public internal(set) var bytesToReceive: Int64?

    /// The completed fraction, 0…1: of the upload if there is one, else of the download. `nil` when it is unknown.
    public var fractionCompleted: Double? {
        let (count, total) = shown
        guard let total else { return nil }
        return total == 0 ? 1 : min(1, Double(count) / Double(total))
    }

    /// What the indicator shows.
    var shown: (count: Int64, total: Int64?) {
        bytesToSend > 0 ? (bytesSent, bytesToSend) : (bytesReceived, bytesToReceive)
    }
}
