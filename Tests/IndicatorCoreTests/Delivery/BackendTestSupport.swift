import TestSupport

/// A backend whose function runs the closures of a test, and which counts them.
final class ScriptedBackend: IndicatorBackend {
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    private struct State: Sendable {
        var starts = 0
        var updates: [IndicatorUpdate] = []
        var stops = 0
        var control: IndicatorControl?
    }

    let name: String
    let delivery: BackendDelivery
    private let onStart: @Sendable (Int) async throws -> Void
    private let onUpdate: @Sendable (IndicatorUpdate) async throws -> Void
    private let onStop: @Sendable () async -> Void
    private let state = Locked(State())

    init(
        name: String = "scripted",
        delivery: BackendDelivery = BackendDelivery(),
        onStart: @escaping @Sendable (Int) async throws -> Void = { _ in },
        onUpdate: @escaping @Sendable (IndicatorUpdate) async throws -> Void = { _ in },
        onStop: @escaping @Sendable () async -> Void = {}
    ) {
        self.name = name
        self.delivery = delivery
        self.onStart = onStart
        self.onUpdate = onUpdate
        self.onStop = onStop
    }

    var startCount: Int { state.withLock { $0.starts } }
    var updates: [IndicatorUpdate] { state.withLock { $0.updates } }
    /// The snapshots of ``updates``.
    var snapshots: [IndicatorSnapshot] { updates.map(\.snapshot) }
    var stopCount: Int { state.withLock { $0.stops } }
    var control: IndicatorControl? { state.withLock { $0.control } }

    func show(_ updates: IndicatorUpdates) async throws {
        let number = state.withLock { state in
            state.starts += 1
            state.control = updates.control
            return state.starts
        }
        try await onStart(number)
        var failure: (any Error)?
        while failure == nil, let update = await updates.next() {
            state.withLock { $0.updates.append(update) }
            do { try await onUpdate(update) } catch { failure = error }
        }
        state.withLock { $0.stops += 1 }
        await onStop()
        if let failure { throw failure }
    }
}

/// Runs jobs on the system's threads, and calls a closure whenever one is enqueued.
final class ObservedExecutor: TaskExecutor {
    private let onEnqueue: @Sendable () -> Void

    init(onEnqueue: @escaping @Sendable () -> Void) { self.onEnqueue = onEnqueue }

    func enqueue(_ job: consuming ExecutorJob) {
        onEnqueue()
        let job = UnownedJob(job)
        DispatchQueue.global().async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
