import Foundation
import FoundationNetworking
import IndicatorCore

/// What connects a ``NetworkTask`` to the session's task that does its work at the moment, if any.
final class TransferControl: Sendable {
    private struct State {
        var task: URLSessionTask?
        var isSuspended = false
        var progress = TransferProgress()
    }

    /// The request's method.
    let method: String
    private let onProgress: @Sendable (TransferProgress) -> Void
    private let state = Locked(State())

    init(method: String, onProgress: @escaping @Sendable (TransferProgress) -> Void) {
        self.method = method
        self.onProgress = onProgress
    }

    var isSuspended: Bool { state.withLock { $0.isSuspended } }

    var currentProgress: TransferProgress { state.withLock { $0.progress } }

    /// Takes the session's task and starts it, unless things are paused.
    func attach(_ task: URLSessionTask) {
        state.withLock { state in
            state.task = task
            if !state.isSuspended { task.resume() }
        }
    }

    func detach() {
        state.withLock { $0.task = nil }
    }

    /// Pauses or goes on. Returns whether that is a change.
    func setSuspended(_ isSuspended: Bool) -> Bool {
        state.withLock { state in
            guard state.isSuspended != isSuspended else { return false }
            state.isSuspended = isSuspended
            if isSuspended { state.task?.suspend() } else { state.task?.resume() }
            return true
        }
    }

    func progress(_ change: @Sendable (inout TransferProgress) -> Void) {
        let progress = state.withLock { state in
            change(&state.progress)
            return state.progress
        }
        onProgress(progress)
    }
}
