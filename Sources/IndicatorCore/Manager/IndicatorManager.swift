import Foundation
import IndicatorThreads
public import Logging

/// Decides when the activity indicator of an app is shown, and has it shown by the app's backends.
///
/// Report when work begins and ends; the indicator is shown for work that lasts, stays visible through short gaps, and
/// is hidden when the work is done:
///
/// ```swift
/// let indicator = IndicatorManager(backends: [MyBackend()])
/// try await indicator.withActivity("Uploading") { try await client.upload(file) }
/// ```
///
/// Apps with a config file get theirs from `IndicatorManager.configured(for:)` of the module IndicatorBackends.
///
/// Everything may be called from any thread, and no call blocks on a backend. The manager needs no run loop and no main
/// queue: its delays run on a thread of its own, and so does each backend.
public final class IndicatorManager: ActivityContainer {
    /// The indicator for a whole process. It is disabled until ``isEnabled`` is set to `true`.
    public static let shared = IndicatorManager(isEnabled: false)

    @usableFromInline
    package let engine: IndicatorEngine

    /// Makes an indicator.
    ///
    /// - Parameters:
    ///   - delays: when it is shown and hidden; by default after 1 second and after 0.2 seconds.
    ///   - isEnabled: whether it is enabled.
    ///   - backends: what shows it. Their names must differ.
    ///   - clock: the clock of the delays; tests inject one that they move by hand.
    ///   - logger: where diagnostics of the indicator and its backends go.
    public init(
        delays: IndicatorDelays = .standard,
        isEnabled: Bool = true,
        backends: [any IndicatorBackend] = [],
        clock: any Clock<Duration> = ContinuousClock(),
        logger: Logger = Logger(label: "indicator")
    ) {
        engine = IndicatorEngine(delays: delays, isEnabled: isEnabled, clock: clock, logger: logger)
        for backend in backends { addBackend(backend) }
    }

    deinit {
        engine.managerIsReleased()
    }

    // MARK: - State

    /// Whether the indicator is enabled. While it is not, it is hidden, and activities go on being counted.
    ///
    /// Disabling hides it at once; enabling it while activities are in progress starts the start delay afresh. After
    /// ``shutdown(timeLimit:)`` it stays disabled.
    public var isEnabled: Bool {
        get { engine.isEnabled }
        set { engine.setEnabled(newValue) }
    }

    /// When the indicator is shown and hidden. A change of a delay holds from the next time that it begins.
    public var delays: IndicatorDelays {
        get { engine.delays }
        set { engine.delays = newValue }
    }

    /// How long work must last before the indicator is shown. Default 1 second. A negative value counts as zero, more
    /// than 100 years as 100 years; ``IndicatorDelays`` throws instead.
    public var startDelay: Duration {
        get { delays.startDelay }
        set { engine.setDelay(.startDelay, to: newValue) }
    }

    /// How long there must be no work before it is hidden. Default 0.2 seconds. Limited as ``startDelay`` is.
    public var completionDelay: Duration {
        get { delays.completionDelay }
        set { engine.setDelay(.completionDelay, to: newValue) }
    }

    /// How long it stays at least, once shown. Default zero. Limited as ``startDelay`` is.
    public var minimumVisibleTime: Duration {
        get { delays.minimumVisibleTime }
        set { engine.setDelay(.minimumVisibleTime, to: newValue) }
    }

    /// How often objects that are observed or tracked are looked at, to end the activities of those that were
    /// deallocated. Default 1 second; nothing is done while there are none. Less than a millisecond counts as a
    /// millisecond.
    public var lifetimeCheckInterval: Duration {
        get { engine.read { $0.lifetimeCheckInterval } }
        set {
            let now = engine.time.now
            engine.change { machine, _ in machine.setLifetimeCheckInterval(newValue, at: now) }
        }
    }

    /// The present state. Takes no lock.
    public var state: IndicatorState { engine.counter.state }

    /// Whether the indicator is shown. Takes no lock.
    public var isVisible: Bool { engine.counter.phase.isVisible }

    /// How many activities are in progress; a group and its members are one. Takes no lock.
    public var activityCount: Int { engine.counter.publicCount }

    /// The whole public state now.
    public var snapshot: IndicatorSnapshot { engine.snapshot }

    // MARK: - Backends

    /// Adds a backend and starts it, without waiting for that. Its state is in ``backendStatuses``.
    ///
    /// - Returns: whether it was added. It is not, and an error is logged, when the manager has one of that name or was
    ///   shut down.
    @discardableResult
    public func addBackend(_ backend: any IndicatorBackend) -> Bool {
        engine.addBackend(backend)
    }

    /// Removes a backend: it gets a snapshot that hides the indicator, and is stopped. Returns when it has stopped.
    ///
    /// - Parameters:
    ///   - name: the backend's name; without effect when there is none of that name.
    ///   - timeLimit: how long to wait for a call to it that does not return, before it is given up. Default 2 seconds.
    public func removeBackend(named name: String, timeLimit: Duration = .seconds(2)) async {
        await engine.removeBackend(named: name, timeLimit: timeLimit)
    }

    /// The states of the backends, in the order in which they were added.
    public var backendStatuses: [BackendStatus] { engine.backendStatuses }

    /// Hides the indicator for good and stops the backends: what they changed is restored, what they hold is flushed.
    ///
    /// Returns when all have stopped. A backend whose call does not return within the time limit is given up, so one
    /// that hangs costs the limit and no more. Activities may go on; they are counted and nothing else.
    ///
    /// - Parameter timeLimit: how long to wait for a call that does not return. Default 2 seconds. A backend that does
    ///   return and has much left to deliver gets 5 seconds in all.
    public func shutdown(timeLimit: Duration = .seconds(2)) async {
        await engine.shutdown(timeLimit: timeLimit)
    }

    /// Does what is due by now, for tests on clocks that wake nobody.
    package func advance() {
        engine.advance(to: engine.time.now)
    }
}
