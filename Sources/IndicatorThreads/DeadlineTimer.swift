/// Wakes its owner at a deadline.
///
/// Nothing runs under its lock: calls are scheduled and cancelled without it, since an injected clock may have
/// cancellation handlers of its own.
package final class DeadlineTimer: Sendable {
    private struct State: Sendable {
        var deadline: Duration?
        var version: UInt64 = 0
        /// Counts the calls; only the newest one may fire.
        var generation: UInt64 = 0
        var cancel: TimeSource.Cancellation?
    }

    private let time: TimeSource
    private let state = Locked(State())

    /// Makes a timer that is not set.
    package init(time: TimeSource) {
        self.time = time
    }

    deinit {
        state.withLock { $0.cancel }?()
    }

    /// Sets the timer, or unsets it.
    ///
    /// - Parameters:
    ///   - deadline: when it fires; `nil` unsets it.
    ///   - version: orders the calls of several threads: one with a lower version than an earlier call has no effect.
    ///   - onDeadline: called with the deadline when it has come, on ``ServiceThread/shared`` or, with an injected
    ///     clock, one of Swift's cooperative threads; kept until then, or until the timer is set anew.
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

    /// Whether the call of this generation is the newest. The timer is not set any more then.
    private func fires(_ generation: UInt64) -> Bool {
        state.withLock { state in
            guard state.generation == generation else { return false }
            state.deadline = nil
            state.cancel = nil
            return true
        }
    }
}
