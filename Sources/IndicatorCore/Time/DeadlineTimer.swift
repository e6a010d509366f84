/// Wakes its owner when a deadline is due, and is set as rarely as possible.
///
/// The timer is re-armed lazily: a deadline that moves to a later time leaves it alone, and when it goes off too early for
/// that reason it asks for the deadline that holds then. However often an indicator flips between busy and idle, what is
/// scheduled is one wake-up for each delay that really runs out.
package final class DeadlineTimer: Sendable {
    private struct State: Sendable {
        var armedFor: Duration?
        var task: Task<Void, Never>?
        var generation = 0
    }

    private let time: TimeSource
    private let onDeadline: @Sendable () -> Duration?
    private let state = Locked(State())

    /// Makes a timer that is not set.
    ///
    /// - Parameters:
    ///   - time: the clock that it goes by.
    ///   - onDeadline: called on one of Swift's cooperative threads when the timer goes off; returns the next deadline. It
    ///     must not keep the owner alive.
    package init(time: TimeSource, onDeadline: @escaping @Sendable () -> Duration?) {
        self.time = time
        self.onDeadline = onDeadline
    }

    deinit {
        state.withLock { $0.task }?.cancel()
    }

    /// Sees to it that the timer goes off at `deadline` or earlier.
    package func wake(at deadline: Duration) {
        state.withLock { state in
            if let armedFor = state.armedFor, armedFor <= deadline { return }
            state.task?.cancel()
            state.generation += 1
            state.armedFor = deadline
            state.task = start(deadline: deadline, generation: state.generation)
        }
    }

    /// Unsets the timer.
    package func cancel() {
        let task = state.withLock { state in
            state.armedFor = nil
            state.generation += 1
            return state.task.take()
        }
        task?.cancel()
    }

    private func start(deadline: Duration, generation: Int) -> Task<Void, Never> {
        // Detached: the task must not inherit the task-local values of whoever happened to begin an activity.
        Task.detached { [weak self, time] in
            var next = deadline
            while true {
                do { try await time.sleep(until: next) } catch { return }
                guard let following = self?.wentOff(generation: generation) else { return }
                next = following
            }
        }
    }

    /// Returns how long the task of this generation is to sleep on.
    private func wentOff(generation: Int) -> Duration? {
        let isCurrent = state.withLock { state in
            guard state.generation == generation else { return false }
            state.armedFor = nil
            return true
        }
        guard isCurrent, let next = onDeadline() else { return nil }
        let isStillCurrent = state.withLock { state in
            guard state.generation == generation else { return false }
            state.armedFor = next
            return true
        }
        if isStillCurrent { return next }
        // Meanwhile the timer was set anew, perhaps by someone who did not know of `next` yet.
        wake(at: next)
        return nil
    }
}
