public import IndicatorCore

/// A backend that records its updates, for apps' tests, with each showing and hiding.
///
/// ```swift
/// let backend = InMemoryBackend()
/// let indicator = IndicatorManager(delays: try IndicatorDelays(startDelay: .zero), backends: [backend])
/// indicator.start("upload", label: "Uploading")
/// let snapshot = await backend.first { $0.isVisible }
/// ```
public final class InMemoryBackend: IndicatorBackend {
    private struct State: Sendable {
        var updates: [IndicatorUpdate] = []
        var starts = 0
        var stops = 0
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
        var nextWaiterID = 0
    }

    /// The name in diagnostics. Default `inMemory`.
    public let name: String
    /// Which updates it receives.
    public let delivery: BackendDelivery

    private let state = Locked(State())

    /// Creates a backend without updates.
    public init(name: String = "inMemory", delivery: BackendDelivery = BackendDelivery()) {
        self.name = name
        self.delivery = delivery
    }

    /// All received updates, in order, one for each showing and hiding that it skipped.
    public var updates: [IndicatorUpdate] { state.withLock { $0.updates } }

    /// The snapshots of ``updates``.
    public var snapshots: [IndicatorSnapshot] { updates.map(\.snapshot) }

    /// The activities that have ended.
    public var finished: [FinishedActivity] { updates.flatMap(\.finished) }

    /// Whether the indicator is shown in the last snapshot.
    public var isVisible: Bool { snapshots.last?.isVisible ?? false }

    /// The number of starts.
    public var startCount: Int { state.withLock { $0.starts } }

    /// The number of stops.
    public var stopCount: Int { state.withLock { $0.stops } }

    /// Waits for a snapshot that satisfies a condition. Earlier snapshots count too.
    ///
    /// - Returns: the first such snapshot; `nil` when the task is cancelled first.
    public func first(where condition: @escaping @Sendable (IndicatorSnapshot) -> Bool) async -> IndicatorSnapshot? {
        var seen = 0
        repeat {
            let new = state.withLock { $0.updates[seen...].map(\.snapshot) }
            // Without the lock: the condition may use the backend.
            if let snapshot = new.first(where: condition) { return snapshot }
            seen += new.count
            await wait(beyond: seen)
        } while !Task.isCancelled
        return nil
    }

    /// Returns when there are more than `count` snapshots, or the task is cancelled.
    private func wait(beyond count: Int) async {
        let id = state.withLock { state in
            state.nextWaiterID += 1
            return state.nextWaiterID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let mustWait = state.withLock { state in
                    // Under the lock: a cancellation after this check finds the waiter.
                    if Task.isCancelled || state.updates.count > count { return false }
                    state.waiters[id] = continuation
                    return true
                }
                if !mustWait { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.resume()
        }
    }

    /// Records the updates.
    public func show(_ updates: IndicatorUpdates) async {
        state.withLock { $0.starts += 1 }
        for await update in updates {
            let waiters = state.withLock { state in
                state.updates += update.steps
                defer { state.waiters = [:] }
                return state.waiters.values
            }
            for waiter in waiters { waiter.resume() }
        }
        state.withLock { $0.stops += 1 }
    }
}
