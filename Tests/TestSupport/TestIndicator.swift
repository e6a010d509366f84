/// An indicator on a virtual clock, with a backend that records its snapshots.
package struct TestIndicator {
    package let clock = VirtualClock()
    package let surface = InMemoryBackend()
    package let manager: IndicatorManager

    package init(delays: IndicatorDelays = .standard, isEnabled: Bool = true, logger: Logger? = nil) {
        manager = IndicatorManager(
            delays: delays,
            isEnabled: isEnabled,
            backends: [surface],
            clock: clock,
            logger: logger ?? Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    /// Advances the clock and waits until the indicator is in a state.
    package func advance(by duration: Duration, until state: IndicatorState) async -> Bool {
        clock.advance(by: duration)
        return await eventually { manager.state == state }
    }
}

extension IndicatorManager {
    /// With a limit that a busy machine does not reach, instead of the default one.
    package func shutdown() async { await shutdown(timeLimit: .seconds(60)) }
}

/// Lets tasks through once it is open. They ignore cancellation.
package final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Locked(State())

    package init() {}

    package var waiterCount: Int { state.withLock { $0.waiters.count } }

    package func open() {
        let waiters = state.withLock { state in
            state.isOpen = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    package func pass() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiters.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }
}

extension IndicatorDelays {
    /// The indicator is shown and hidden at once.
    package static let zero = (try? IndicatorDelays(startDelay: .zero, completionDelay: .zero)) ?? .standard
    /// The indicator is shown at once.
    package static let noStart = (try? IndicatorDelays(startDelay: .zero)) ?? .standard
}

extension BackendDriver {
    /// The same, when it has started.
    package func started() async throws -> Self {
        try await start()
        return self
    }
}
