import IndicatorCore
import IndicatorTesting
import Logging
import TestSupport

/// An indicator on a virtual clock, with a backend that records its snapshots.
struct TestIndicator {
    let clock = VirtualClock()
    let surface = InMemoryBackend()
    let manager: IndicatorManager

    init(delays: IndicatorDelays = .standard, isEnabled: Bool = true, logger: Logger? = nil) {
        manager = IndicatorManager(
            delays: delays,
            isEnabled: isEnabled,
            backends: [surface],
            clock: clock,
            logger: logger ?? Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    /// Advances the clock and waits until the indicator is in a state.
    func advance(by duration: Duration, until state: IndicatorState) async -> Bool {
        clock.advance(by: duration)
        return await eventually { manager.state == state }
    }
}
