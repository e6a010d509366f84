import Foundation
public import Logging

/// Decides when the activity indicator of an app is shown, and shows it through the app's backends.
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
/// queue: its delays run on a background thread, and each backend on its own.
public final class IndicatorManager: ActivityContainer, @unchecked Sendable {
    // `@unchecked`: restated. It has no variables.

    /// The indicator for a whole process. It is disabled until ``isEnabled`` is set to `true`.
    public static let shared = IndicatorManager(isEnabled: false)

    @inlinable
    package var engine: IndicatorEngine { lease.engine }

    /// Makes an indicator.
    ///
    /// - Parameters:
    ///   - delays: when it is shown and hidden; by default after 1 second and after 0.2 seconds.
    ///   - isEnabled: whether it is enabled.
    ///   - backends: the backends that show it. Their names must differ.
    ///   - clock: the clock of the delays and durations; by default, it stops while the machine is suspended. Tests
    ///     inject one that they advance manually.
    ///   - logger: for diagnostics of the indicator and its backends.
    public init(
        delays: IndicatorDelays = .standard,
        isEnabled: Bool = true,
        backends: [any IndicatorBackend] = [],
        clock: any Clock<Duration> = SuspendingClock(),
        logger: Logger = Logger(label: "indicator")
    ) {
        let engine = IndicatorEngine(delays: delays, isEnabled: isEnabled, clock: clock, logger: logger)
        super.init(ContainerLease(engine))
        for backend in backends { addBackend(backend) }
    }

    // MARK: - State

    /// Whether the indicator is enabled. While it is disabled, it is hidden, and activities are still counted.
    ///
    /// Disabling hides it immediately; enabling it while activities are in progress restarts the start delay. After
    /// ``shutdown(timeLimit:)`` it stays disabled.
    public var isEnabled: Bool {
        get { engine.isEnabled }
        set { engine.setEnabled(newValue) }
    }

    /// When the indicator is shown and hidden. A changed delay takes effect the next time that it begins.
    ///
    /// `indicator.delays.startDelay = .seconds(2)` reads all and sets all: of two threads that do so at once, one wins.
    public var delays: IndicatorDelays {
        get { engine.delays }
        set { engine.delays = newValue }
    }

    /// How often observed and tracked objects are checked, to end the activities of deallocated ones. Default 1 second;
    /// without such objects there are no checks. Less than a millisecond counts as a millisecond.
    public var lifetimeCheckInterval: Duration {
        get { engine.read { machine, _ in machine.lifetimeCheckInterval } }
        set {
            let now = engine.time.now
            engine.change { machine, _ in machine.setLifetimeCheckInterval(newValue, at: now) }
        }
    }

    /// The current state. Takes no lock.
    public var state: IndicatorState { engine.counter.state }

    /// Whether the indicator is shown. Takes no lock.
    public var isVisible: Bool { engine.counter.phase?.isVisible ?? false }

    /// How many activities are in progress; a group and its members are one. Takes no lock.
    public var activityCount: Int { engine.counter.count }

    /// The whole public state now.
    public var snapshot: IndicatorSnapshot { lease.withEngine { $0.snapshot } }

    /// The state of the indicator as it changes: first the current one, then the latest after every change.
    ///
    /// Each access begins a subscription. The latest value wins: a slow subscriber skips intermediate snapshots and
    /// always ends with the current state. A change of visibility is delivered immediately, other changes at most ten
    /// times a second. The sequence ends when the manager is shut down, when it and its activities are released, or
    /// when a task that iterates it is cancelled. One that is kept does not keep the indicator working, only its
    /// memory.
    public var snapshots: AsyncStream<IndicatorSnapshot> {
        UpdateSubscription.snapshots(of: engine)
    }

    /// The same as ``snapshots``, with what a snapshot does not have: which activities have ended, and each showing and
    /// hiding that a slow subscriber has skipped.
    public var updates: AsyncStream<IndicatorUpdate> {
        UpdateSubscription.updates(of: engine)
    }

    // MARK: - Backends

    /// Adds a backend and starts it asynchronously. Its state is in ``backendStatuses``.
    ///
    /// - Returns: whether it was added. If its name is taken, or the manager was shut down, an error is logged instead.
    @discardableResult
    public func addBackend(_ backend: any IndicatorBackend) -> Bool {
        engine.addBackend(backend)
    }

    /// Removes a backend: it receives a snapshot that hides the indicator, and is stopped. Returns when it has stopped.
    ///
    /// - Parameters:
    ///   - name: the backend's name; without effect if there is none of that name.
    ///   - timeLimit: how long to wait for a call to it that does not return, before it is given up. Default 2 seconds.
    public func removeBackend(named name: String, timeLimit: Duration = .seconds(2)) async {
        await engine.removeBackend(named: name, timeLimit: timeLimit)
    }

    /// The states of the backends, in the order in which they were added.
    public var backendStatuses: [BackendStatus] { engine.backendStatuses }

    /// The user's requests to cancel what the indicator shows, from backends with a button for it, such as KDE's job
    /// view.
    ///
    /// ```swift
    /// for await _ in indicator.cancellationRequests { downloads.cancelAll() }
    /// ```
    ///
    /// The button is there while a task iterates this sequence. Each iteration gets the requests from its beginning on,
    /// in order; the last 16 wait for a slow one. It ends after those that were made before the manager is shut down,
    /// or it and its activities are released. Any thread may use the sequence.
    public var cancellationRequests: some AsyncSequence<CancellationRequest, Never> & Sendable {
        CancellationRequests(engine: engine)
    }

    /// Hides the indicator permanently and stops the backends, which restore what they changed and flush their output.
    ///
    /// Returns when all have stopped. A backend whose call does not return within the time limit is given up.
    /// Activities may continue; they are only counted. Those of objects end.
    ///
    /// - Parameter timeLimit: how long to wait for a call that does not return. Default 2 seconds. A backend whose
    ///   calls return but that has more to deliver gets 5 seconds in total.
    public func shutdown(timeLimit: Duration = .seconds(2)) async {
        await engine.shutdown(timeLimit: timeLimit)
    }
}
