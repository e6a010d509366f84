/// A surface that shows the indicator.
///
/// A backend is one function, which runs while the backend is in use:
///
/// ```swift
/// struct LED: IndicatorBackend {
///     let name = "led"
///
///     func show(_ updates: IndicatorUpdates) async throws {
///         let led = try LEDDevice("/dev/led0")
///         defer { led.off() }
///         for await update in updates { led.set(update.snapshot.isVisible) }
///     }
/// }
/// ```
///
/// An ``IndicatorManager`` calls it on a thread of the backend's own. A backend that is slow, throws, or never returns
/// affects neither the app nor the other backends.
///
/// ### What follows from the function
///
/// - What it acquires is a local variable, and what restores the surface is `defer`.
/// - Until it asks for the first update, it is ``BackendState/starting``. If it throws then, it is
///   ``BackendState/unavailable(reason:)`` and is called again: after 1 second, then 2, 4, … up to once a minute. After
///   it has run for half a minute, it begins with a second again.
/// - It gets an update whenever there is something new to show. Asking for the next one says that it was shown.
/// - If it throws, or returns, before the updates have ended, the surface was lost: the backend is unavailable, as
///   above. The update that it was showing is delivered again, with what happened since; one after which it has asked
///   for the next one, or called ``IndicatorUpdates/consume()``, is not.
/// - The updates end when the backend is removed or the manager is shut down, after the last one: restore the surface
///   and return. A backend that is unavailable then is called once more, if something was not delivered.
///
/// ### Guidance
///
/// - The function may block, because the thread is not shared. If it takes longer than
///   ``BackendDelivery/updateTimeLimit`` to start, to show an update or to end, the backend is
///   ``BackendState/stalled`` until it goes on.
/// - Derive what you show from the snapshot alone: snapshots may be skipped or repeated, and the first may have any
///   state.
/// - Throw errors whose text describes the problem and the solution: it is the reason that the user reads. The failure
///   and the recovery are logged once per outage.
/// - A backend with a connection waits for that, too: see ``IndicatorUpdates/next(orReadable:orWritable:until:)``.
public protocol IndicatorBackend: Sendable {
    /// The name that the config file and the diagnostics use. Unique among the backends of one manager.
    var name: String { get }

    /// Which updates the backend receives, and how. Read once, when the backend is added. Default: the latest, while
    /// visible.
    var delivery: BackendDelivery { get }

    /// Shows the indicator until the updates end, and restores the surface.
    ///
    /// - Parameter updates: what there is to show.
    /// - Throws: why the surface cannot be used.
    func show(_ updates: IndicatorUpdates) async throws
}

extension IndicatorBackend {
    /// The default: the latest snapshot, while visible.
    public var delivery: BackendDelivery { BackendDelivery() }
}

/// Which updates a backend receives, and how.
///
/// The latest snapshot wins: a newer one replaces one that was not delivered yet, so a slow surface delays nothing else
/// and always ends with the current state. What was skipped is in the update: what ended
/// (``IndicatorUpdate/finished``), and that the indicator was shown or hidden (``IndicatorUpdate/transitions``).
public struct BackendDelivery: Sendable {
    /// Whether changes while the indicator is hidden (count, label, ``IndicatorState/delayingStart``) are delivered
    /// too. Default `false`: a hidden indicator then costs the backend nothing.
    public var includesHidden: Bool

    /// While visible, the latest snapshot is delivered again at this interval, for backends that animate; then it is a
    /// repetition (``IndicatorUpdate/isRepetition``). Default `nil`: it is delivered only when something changed. Less
    /// than 10 ms counts as 10 ms.
    public var animationInterval: Duration?

    /// The shortest time between the beginnings of two updates, for surfaces with a limit of their own; the latest
    /// snapshot waits, unless it hides the indicator. Not after a start, nor at the end. Default: zero.
    public var minimumInterval: Duration

    /// How long the backend may take to start, to show an update or to end before it counts as stalled. Default 5
    /// seconds; from a hundred years, there is no limit.
    public var updateTimeLimit: Duration

    /// What the backend writes to or talks to, such as a path or an address, which the report of a stalled backend
    /// names. Default: `nil`.
    public var target: String?

    /// Whether the times between attempts are multiplied by a random number from 0.25 to 1, which differs between
    /// processes, so that thousands do not connect to a restarted server at the same time. Default `false`.
    public var spreadsRetries = false

    /// The thread on which the backend runs. Default `nil`: one of its own. A backend that shares a thread must not
    /// block: it suspends.
    public var thread: BackendThread?

    /// Makes a delivery policy.
    public init(
        includesHidden: Bool = false,
        animationInterval: Duration? = nil,
        minimumInterval: Duration = .zero,
        updateTimeLimit: Duration = .seconds(5),
        target: String? = nil
    ) {
        self.includesHidden = includesHidden
        self.animationInterval = animationInterval
        self.minimumInterval = minimumInterval
        self.updateTimeLimit = updateTimeLimit
        self.target = target
    }

    /// The same with limits that timers support.
    var limited: Self {
        func limit(_ duration: Duration, _ least: Duration = .zero) -> Duration {
            min(max(duration, least), TimeSource.longest)
        }
        var copy = self
        copy.updateTimeLimit = limit(updateTimeLimit)
        copy.minimumInterval = limit(minimumInterval)
        copy.animationInterval = animationInterval.map { limit($0, .milliseconds(10)) }
        return copy
    }
}

/// A thread for several backends, such as all that use one connection. It exists while there is work for it.
public struct BackendThread: Sendable {
    package let thread: ServiceThread

    /// Makes a thread, which is started when it is first used.
    ///
    /// - Parameter name: the name in debuggers. Linux uses the first 15 bytes.
    public init(name: String) {
        thread = ServiceThread(name: name, idleTime: .zero)
    }
}

/// A backend's handle to its indicator: ``IndicatorUpdates/control``.
///
/// A control does not keep the indicator working, only its memory; when that has ended, calls have no effect. Any
/// thread may use it.
public struct IndicatorControl: Sendable {
    /// `nil` for the control of a backend without an indicator.
    let engine: IndicatorEngine?
    private let time: TimeSource

    /// - Parameter engine: weak references to it would make every later retain of it slow. Closing it breaks the cycle.
    package init(_ engine: IndicatorEngine?) {
        self.engine = engine
        time = engine?.time ?? .reading(SuspendingClock())
    }

    /// Whether the indicator is enabled, as ``IndicatorManager/isEnabled``: for backends with a switch.
    public var isEnabled: Bool {
        get { engine?.isEnabled ?? true }
        nonmutating set { engine?.setEnabled(newValue) }
    }

    /// The statuses of the indicator's backends. See ``IndicatorManager/backendStatuses``.
    public var backendStatuses: [BackendStatus] { engine?.backendStatuses ?? [] }

    /// Reports that the user wants to cancel what the indicator shows: for backends with a button, while
    /// ``IndicatorSnapshot/isCancellable``. It is delivered to ``IndicatorManager/cancellationRequests``. Returns
    /// immediately.
    public func requestCancellation(_ request: CancellationRequest = CancellationRequest()) {
        engine?.requestCancellation(request)
    }

    /// The time since the indicator was made, by its clock: for animations, which a virtual clock then drives in tests.
    public var now: Duration { time.now }
}

/// What a backend is doing.
public enum BackendState: Sendable, Hashable, CustomStringConvertible {
    /// It is acquiring its resources for the first time.
    case starting
    /// It was started and receives updates.
    case running
    /// It cannot show anything now; it is retried at growing intervals.
    case unavailable(reason: String)
    /// It has taken longer than its time limit to start, to show an update or to end, and still does.
    case stalled
    /// It was removed, or the manager was shut down.
    case stopped

    /// The name of the state, without the reason.
    package var name: String {
        switch self {
        case .starting: "starting"
        case .running: "running"
        case .unavailable: "unavailable"
        case .stalled: "stalled"
        case .stopped: "stopped"
        }
    }

    /// The name of the state and, when there is one, the reason.
    public var description: String {
        if case .unavailable(let reason) = self { "unavailable: \(reason)" } else { name }
    }
}

/// The status of a backend. See ``IndicatorManager/backendStatuses``.
public struct BackendStatus: Sendable, Hashable {
    /// The backend's name.
    public var name: String
    /// What it is doing.
    public var state: BackendState
    /// How many updates it has shown.
    public var updatesDelivered = 0
    /// How often it has become unavailable.
    public var outages = 0
    /// The text of the last error, kept after the backend has recovered; `nil` if there was none.
    public var lastError: String?
    /// How many ended activities and showings it had not shown when it was ended; 0 before.
    public var lost = 0
}
