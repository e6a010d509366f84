/// Calls a closure at a deadline.
///
/// Calls are scheduled and cancelled outside the lock, because an injected clock may have cancellation handlers.
package final class DeadlineTimer: Sendable {
    private struct State: Sendable {
        var deadline: Duration?
        var version: UInt64 = 0
        /// The number of the newest call. Only that one may fire.
        var generation: UInt64 = 0
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
    ///   - deadline: when the timer fires; `nil` cancels it.
    ///   - version: orders the calls of several threads. A call with a lower version than an earlier one has no effect.
    ///   - onDeadline: called with the deadline, on ``ServiceThread/shared`` or, with an injected clock, on the
    ///     cooperative thread pool. It is retained until then, or until the timer is set again.
    package func set(
        _ deadline: Duration?,
        version: UInt64,
        _ onDeadline: @escaping @Sendable (Duration) -> Void
    ) {
        let (old, generation): (TimeSource.Cancellation?, UInt64?) = state.withLock { state in
            guard version >= state.version else { return (nil, nil) }
            state.version = version
            guard deadline != state.deadline else { return (nil, nil) }
            state.deadline = deadline
            state.generation += 1
            return (state.cancel.take(), state.generation)
        }
        old?()
        guard let generation, let deadline else { return }
        let cancel = time.call(at: deadline) { [weak self] in
            if self?.fires(generation) == true { onDeadline(deadline) }
        }
        let isCurrent = state.withLock { state in
            guard state.generation == generation else { return false }
            if state.deadline != nil { state.cancel = cancel }
            return true
        }
        if !isCurrent { cancel() }
    }

    /// Returns whether this call is the newest. If so, resets the timer.
    private func fires(_ generation: UInt64) -> Bool {
        state.withLock { state in
            guard state.generation == generation else { return false }
            state.deadline = nil
            state.cancel = nil
            return true
        }
    }
}
