import Foundation
public import Logging
import Synchronization

/// Decides when the activity indicator of an app is shown, and has it shown on the app's surfaces.
///
/// Tell it when work begins and ends; it shows the indicator for work that lasts, keeps it through short gaps, and hides it
/// when the work is done:
///
/// ```swift
/// let indicator = IndicatorManager(backends: [MySurface()])
/// try await indicator.withActivity("Uploading") { try await client.upload(file) }
/// ```
///
/// Apps with a config file get theirs from `IndicatorManager.configured(for:)` of the module IndicatorBackends.
///
/// Everything may be called from any thread, without `await` except for what waits by nature, and no call blocks on a surface.
/// The manager needs no run loop and no main queue: its delays run on Swift's cooperative threads, and each backend has a thread
/// of its own.
public final class IndicatorManager: Sendable {
    /// The indicator for a whole process. It is disabled until ``isEnabled`` is set to `true`.
    public static let shared = IndicatorManager(isEnabled: false)

    @usableFromInline let word = ActivityWord()
    /// How many activities are in progress that the manager itself knows of; written with the lock held.
    let entryCount = Atomic<Int>(0)
    let quiet = QuietPeriod()
    let published: PublishedState
    let time: TimeSource
    let logger: Logger
    let core: Locked<Core>

    /// Makes an indicator.
    ///
    /// - Parameters:
    ///   - delays: when it is shown and hidden; by default after 1 second and after 0.2 seconds.
    ///   - isEnabled: whether it is switched on.
    ///   - backends: the surfaces that show it. Their names must differ.
    ///   - clock: the clock that the delays go by; tests inject one that they move by hand.
    ///   - logger: where diagnostics of the indicator and its backends go.
    public init(
        delays: IndicatorDelays = .standard,
        isEnabled: Bool = true,
        backends: [any IndicatorBackend] = [],
        clock: any Clock<Duration> = ContinuousClock(),
        logger: Logger = Logger(label: "indicator")
    ) {
        time = TimeSource.reading(clock)
        self.logger = logger
        let first = Core(machine: VisibilityStateMachine(delays: delays, isEnabled: isEnabled))
        published = PublishedState(isEnabled: isEnabled, since: first.since)
        core = Locked(first)
        let timer = DeadlineTimer(time: time) { [weak self] in self?.deadlineIsDue() }
        core.withLock { core in
            core.timer = timer
            changeVisibility(&core) { _, _ in true }
        }
        for backend in backends { addBackend(backend) }
    }

    deinit {
        var (publisher, observations, resources) = core.withLock { core in
            core.timer?.cancel()
            return (core.publisher, core.observations, core.resources)
        }
        for observation in observations { observation.cancel() }
        publisher.abandon(at: time.now)
        for resource in resources { resource.managerIsGone() }
    }

    // MARK: - State

    /// Whether the indicator is switched on. While it is off it is hidden, and activities go on being counted.
    ///
    /// Switching it off hides it at once; switching it on while activities are in progress starts the start delay afresh. After
    /// ``shutdown(timeLimit:)`` it stays off.
    public var isEnabled: Bool {
        get { published.phase.isEnabled }
        set {
            core.withLock { core in
                guard !core.isShutDown, core.machine.isEnabled != newValue else { return }
                changeVisibility(&core) { core, now in
                    apply(core.machine.setEnabled(newValue, at: now), to: &core, at: now)
                }
            }
        }
    }

    /// When the indicator is shown and hidden. A change holds from the next time that a delay is begun.
    public var delays: IndicatorDelays {
        get { core.withLock { $0.machine.delays } }
        set {
            core.withLock { setDelays(newValue, in: &$0) }
        }
    }

    /// How long work must be going on before the indicator is shown. Default 1 second.
    ///
    /// A negative value is refused: the old one stays, and an error is logged. ``IndicatorDelays`` throws instead.
    public var startDelay: Duration {
        get { delays.startDelay }
        set { setDelay(.startDelay, to: newValue) }
    }

    /// How long nothing must be going on before the indicator is hidden. Default 0.2 seconds.
    ///
    /// A negative value is refused: the old one stays, and an error is logged. ``IndicatorDelays`` throws instead.
    public var completionDelay: Duration {
        get { delays.completionDelay }
        set { setDelay(.completionDelay, to: newValue) }
    }

    /// How long the indicator stays at least, once shown. Default zero.
    ///
    /// A negative value is refused: the old one stays, and an error is logged. ``IndicatorDelays`` throws instead.
    public var minimumVisibleTime: Duration {
        get { delays.minimumVisibleTime }
        set { setDelay(.minimumVisibleTime, to: newValue) }
    }

    /// How often objects that are observed or tracked are looked at, to end the activities of those that are gone. Default
    /// 1 second; nothing is done while there are none. Values under a millisecond count as a millisecond.
    public var lifetimeCheckInterval: Duration {
        get { core.withLock { $0.lifetimeCheckInterval } }
        set {
            core.withLock { core in
                core.lifetimeCheckInterval = min(max(newValue, .milliseconds(1)), TimeSource.longest)
                guard core.lifetimeCheckDue != nil else { return }
                core.lifetimeCheckDue = time.now + core.lifetimeCheckInterval
                arm(&core)
            }
        }
    }

    /// The present state.
    public var state: IndicatorState { published.phase.state(isBusy: word.value.isBusy) }

    /// Whether the indicator is shown.
    public var isVisible: Bool { published.phase.isVisible }

    /// How many activities are in progress.
    public var activityCount: Int { word.value.tokenCount + entryCount.load(ordering: .relaxed) }

    /// The whole public state now.
    public var snapshot: IndicatorSnapshot {
        guard let (phase, since) = published.phaseAndSince, !phase.hasDetails else {
            return core.withLock { snapshot(of: $0) }
        }
        let count = activityCount
        return IndicatorSnapshot(
            state: phase.state(isBusy: count > 0),
            isEnabled: phase.isEnabled,
            activityCount: count,
            label: nil,
            progress: nil,
            secondsOfSince: since.timeIntervalSinceReferenceDate
        )
    }

    /// Called with the lock held.
    private func setDelays(_ delays: IndicatorDelays, in core: inout Core) {
        changeVisibility(&core) { core, now in
            // What is due by now, though its timer may be late, goes by the old ones.
            let isKnown = apply(core.machine.advance(to: now), to: &core, at: now)
            core.machine.delays = delays
            return isKnown
        }
    }

    private func setDelay(_ setting: IndicatorDelays.Setting, to value: Duration) {
        do throws(InvalidDelayError) {
            try core.withLock { core throws(InvalidDelayError) in
                setDelays(try core.machine.delays.replacing(setting, with: value), in: &core)
            }
        } catch {
            logger.error("The setting was not changed: \(error)")
        }
    }
}
