import Foundation
import IndicatorCore

/// A request that is on its way, as ``NetworkClient/start(_:onProgress:)`` returns it.
///
/// It is the `object` of the indicator's notifications, which it posts by itself. Any thread may use it.
public final class NetworkTask: Sendable {
    private let announcer: TaskAnnouncer
    private let control: TransferControl
    private let work = Locked<Task<NetworkResponse, any Error>?>(nil)

    init(
        label: String,
        method: String,
        center: NotificationCenter,
        onProgress: (@Sendable (TransferProgress) -> Void)?
    ) {
        let announcer = TaskAnnouncer(center: center, label: label)
        let relay = ProgressRelay()
        self.announcer = announcer
        control = TransferControl(method: method) { progress in
            onProgress?(progress)
            if let fraction = progress.fractionCompleted, let task = relay.task {
                announcer.progressed(task, to: fraction)
            }
        }
        relay.set(self)
    }

    /// How far the request has come.
    public var progress: TransferProgress { control.currentProgress }

    /// The response, once it is whole.
    ///
    /// - Throws: ``NetworkError``, what an interceptor threw, or `CancellationError`. Cancelling the Swift task that waits does
    ///   not cancel the request; ``cancel()`` does.
    public var response: NetworkResponse {
        get async throws {
            guard let work = work.withLock({ $0 }) else { throw CancellationError() }
            return try await work.value
        }
    }

    /// Pauses the request; without effect when it is paused or has ended.
    public func suspend() {
        if control.setSuspended(true) { announcer.suspended(self) }
    }

    /// Goes on with a paused request.
    public func resume() {
        if control.setSuspended(false) { announcer.resumed(self) }
    }

    /// Cancels the request: ``response`` throws a `CancellationError`. Without effect when it has ended.
    public func cancel() {
        work.withLock { $0 }?.cancel()
    }

    func run(_ send: @escaping @Sendable (TransferControl) async throws -> NetworkResponse) {
        // Before anyone has the task, or a pause or an end could come before the beginning.
        announcer.resumed(self)
        let work = Task {
            defer { announcer.completed(self) }
            try Task.checkCancellation()
            return try await send(control)
        }
        self.work.withLock { $0 = work }
    }

    /// The same for a caller who waits for the response and whose cancellation is that of the request.
    func runToEnd(
        _ send: @escaping @Sendable (TransferControl) async throws -> NetworkResponse
    ) async throws -> NetworkResponse {
        defer { announcer.completed(self) }
        try Task.checkCancellation()
        announcer.resumed(self)
        return try await send(control)
    }
}

/// Leads from the progress of a transfer to the task, which owns the transfer.
private final class ProgressRelay: Sendable {
    private struct Reference: Sendable {
        weak var task: NetworkTask?
    }

    private let reference = Locked(Reference())

    var task: NetworkTask? { reference.withLock { $0.task } }

    func set(_ task: NetworkTask) {
        reference.withLock { $0.task = task }
    }
}
