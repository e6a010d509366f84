/// Calls a closure at a deadline.
///
/// Calls are scheduled and cancelled outside the lock, because an injected clock may have cancellation handlers.
package final class DeadlineTimer: Sendable {
    private struct State: Sendable {
        var deadline: Duration?
        var cancel: TimeSource.Cancellation?
    }

    private let time: TimeSource
    private let state = Locked(State())

    /// Creates a timer without a deadline.
    package init(time: TimeSource) {
        self.time = time
    }

    deinit {
        state.withLock { $0.cancel }?()
    }

    /// Sets or cancels the timer.
    ///
    /// - Parameters:
    ///   - deadline: when the timer fires now; `nil` cancels it. Called with the timer's lock held, so that of several
    ///     threads the last one reads the latest deadline.
    ///   - onDeadline: called with the deadline, on ``ServiceThread/shared`` or, with an injected clock, on the
    ///     cooperative thread pool. It is retained until then, or until the timer is set again.
    package func set(_ deadline: () -> Duration?, _ onDeadline: @escaping @Sendable (Duration) -> Void) {
        let (deadline, isNew, old): (Duration?, Bool, TimeSource.Cancellation?) = state.withLock { state in
            let deadline = deadline()
            guard deadline != state.deadline else { return (nil, false, nil) }
            state.deadline = deadline
            return (deadline, true, state.cancel.take())
        }
        old?()
        guard isNew, let deadline else { return }
        let cancel = time.call(at: deadline) { [weak self] in
            if self?.fires(deadline) == true { onDeadline(deadline) }
        }
        // Another thread may have set the timer meanwhile, also to the same deadline again: then one call is enough.
        let isNeeded = state.withLock { state in
            guard state.deadline == deadline, state.cancel == nil else { return false }
            state.cancel = cancel
            return true
        }
        if !isNeeded { cancel() }
    }

    /// Returns whether the timer is set to this deadline. If so, resets it.
    private func fires(_ deadline: Duration) -> Bool {
        state.withLock { state in
            guard state.deadline == deadline else { return false }
            (state.deadline, state.cancel) = (nil, nil)
            return true
        }
    }
}
