public import IndicatorCore
import IndicatorThreads

/// A backend that records its snapshots, for apps' tests.
///
/// ```swift
/// let backend = InMemoryBackend()
/// let indicator = IndicatorManager(delays: try IndicatorDelays(startDelay: .zero), backends: [backend])
/// indicator.start("upload", label: "Uploading")
/// let snapshot = await backend.first { $0.isVisible }
/// ```
public final class InMemoryBackend: IndicatorBackend {
    private struct State: Sendable {
        var snapshots: [IndicatorSnapshot] = []
        var starts = 0
        var stops = 0
        var waiters: [Int: Waiter] = [:]
        var nextWaiterID = 0
    }

    private struct Waiter: Sendable {
        var condition: @Sendable (IndicatorSnapshot) -> Bool
        var continuation: CheckedContinuation<IndicatorSnapshot?, Never>
    }

    /// The name in diagnostics. Default `inMemory`.
    public let name: String
    /// Which snapshots it receives. Default: every change of visibility.
    public let delivery: BackendDelivery

    private let state = Locked(State())

    /// Creates a backend without snapshots.
    public init(name: String = "inMemory", delivery: BackendDelivery = .everyTransition) {
        self.name = name
        self.delivery = delivery
    }

    /// All received snapshots, in order.
    public var snapshots: [IndicatorSnapshot] { state.withLock { $0.snapshots } }

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
        let id = state.withLock { state in
            state.nextWaiterID += 1
            return state.nextWaiterID
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let immediate: IndicatorSnapshot?? = state.withLock { state in
                    if let snapshot = state.snapshots.first(where: condition) { return .some(snapshot) }
                    // Under the lock: a cancellation after this check finds the waiter.
                    if Task.isCancelled { return .some(nil) }
                    state.waiters[id] = Waiter(condition: condition, continuation: continuation)
                    return nil
                }
                if let immediate { continuation.resume(returning: immediate) }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.continuation.resume(returning: nil)
        }
    }

    /// Counts the start.
    public func start() async throws {
        state.withLock { $0.starts += 1 }
    }

    /// Records the snapshot.
    public func update(_ snapshot: IndicatorSnapshot) async throws {
        let satisfied = state.withLock { state in
            state.snapshots.append(snapshot)
            let satisfied = state.waiters.filter { $0.value.condition(snapshot) }
            for id in satisfied.keys { state.waiters[id] = nil }
            return Array(satisfied.values)
        }
        for waiter in satisfied { waiter.continuation.resume(returning: snapshot) }
    }

    /// Counts the stop.
    public func stop() async {
        state.withLock { $0.stops += 1 }
    }
}
