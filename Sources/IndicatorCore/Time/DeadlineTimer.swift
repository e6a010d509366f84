/// Wakes its owner at a deadline.
///
/// Nothing runs under its lock: tasks are created and cancelled without it, since an injected clock may have cancellation
/// handlers of its own.
package final class DeadlineTimer: Sendable {
    private struct State: Sendable {
        var deadline: Duration?
        var version: UInt64 = 0
        /// Counts the tasks; only the newest one may fire.
        var generation: UInt64 = 0
        var task: Task<Void, Never>?
    }

    private let time: TimeSource
    private let state = Locked(State())

    /// Makes a timer that is not set.
    package init(time: TimeSource) {
        self.time = time
    }

    deinit {
        state.withLock { $0.task }?.cancel()
    }

    /// Sets the timer, or unsets it.
    ///
    /// - Parameters:
    ///   - deadline: when it fires; `nil` unsets it.
    ///   - version: orders the calls of several threads: one with a lower version than an earlier call has no effect.
    ///   - onDeadline: called with the deadline on one of Swift's cooperative threads when it has come; kept until then, or
    ///     until the timer is set anew.
    package func set(
        _ deadline: Duration?,
        version: UInt64,
        _ onDeadline: @escaping @Sendable (Duration) -> Void
    ) {
        let (old, generation): (Task<Void, Never>?, UInt64?) = state.withLock { state in
            guard version >= state.version else { return (nil, nil) }
            state.version = version
            guard deadline != state.deadline else { return (nil, nil) }
            state.deadline = deadline
            state.generation += 1
            return (state.task.take(), state.generation)
        }
        old?.cancel()
        guard let generation, let deadline else { return }
        // Detached: the task must not inherit the task-local values of the thread that happened to begin an activity.
        let task = Task.detached { [weak self, time] in
            do { try await time.sleep(until: deadline) } catch { return }
            if self?.fires(generation) == true { onDeadline(deadline) }
        }
        let isCurrent = state.withLock { state in
            guard state.generation == generation else { return false }
            if state.deadline != nil { state.task = task }
            return true
        }
        if !isCurrent { task.cancel() }
    }

    /// Whether the task of this generation is the newest. The timer is not set any more then.
    private func fires(_ generation: UInt64) -> Bool {
        state.withLock { state in
            guard state.generation == generation else { return false }
            state.deadline = nil
            state.task = nil
            return true
        }
    }
}
