import IndicatorCore
import IndicatorThreads
import TestSupport

/// A backend whose calls run the closures of a test, and which counts them.
final class ScriptedBackend: IndicatorBackend {
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    private struct State: Sendable {
        var starts = 0
        var updates: [IndicatorSnapshot] = []
        var stops = 0
        var control: IndicatorControl?
        var attachCount = 0
    }

    let name: String
    let delivery: BackendDelivery
    private let onStart: @Sendable (Int) async throws -> Void
    private let onUpdate: @Sendable (IndicatorSnapshot) async throws -> Void
    private let onStop: @Sendable () async -> Void
    private let state = Locked(State())

    init(
        name: String = "scripted",
        delivery: BackendDelivery = .latestWins,
        onStart: @escaping @Sendable (Int) async throws -> Void = { _ in },
        onUpdate: @escaping @Sendable (IndicatorSnapshot) async throws -> Void = { _ in },
        onStop: @escaping @Sendable () async -> Void = {}
    ) {
        self.name = name
        self.delivery = delivery
        self.onStart = onStart
        self.onUpdate = onUpdate
        self.onStop = onStop
    }

    var startCount: Int { state.withLock { $0.starts } }
    var updates: [IndicatorSnapshot] { state.withLock { $0.updates } }
    var stopCount: Int { state.withLock { $0.stops } }
    var control: IndicatorControl? { state.withLock { $0.control } }
    var attachCount: Int { state.withLock { $0.attachCount } }

    func attach(to control: IndicatorControl) {
        state.withLock { state in
            state.control = control
            state.attachCount += 1
        }
    }

    func start() async throws {
        let number = state.withLock { state in
            state.starts += 1
            return state.starts
        }
        try await onStart(number)
    }

    func update(_ snapshot: IndicatorSnapshot) async throws {
        state.withLock { $0.updates.append(snapshot) }
        try await onUpdate(snapshot)
    }

    func stop() async {
        state.withLock { $0.stops += 1 }
        await onStop()
    }
}
