package import IndicatorThreads

/// A surface that shows the indicator.
///
/// An ``IndicatorManager`` calls each backend on a separate thread, one call at a time, in order. A backend that is
/// slow, throws, or never returns affects neither the app nor the other backends.
///
/// ### What is called when
///
/// 1. ``attach(to:)``, once, when the backend is added to a manager.
/// 2. ``start()``. If it throws, the backend is ``BackendState/unavailable(reason:)`` and `start()` is called again:
///    after 1 second, then 2, 4, … up to once a minute, or immediately after ``IndicatorControl/retry``. After it has
///    run for half a minute, it begins with a second again.
/// 3. ``update(_:)``, whenever there is something new to show. If it throws, the backend is unavailable: ``stop()`` is
///    called, then `start()` again as in step 2, and the latest snapshot is delivered once that succeeds.
/// 4. ``stop()``, when the backend is removed or the manager is shut down. `start()` may be called again later.
///
/// ### Guidance
///
/// - A call may block, because the thread is not shared. One that takes longer than ``BackendDelivery/updateTimeLimit``
///   marks the backend ``BackendState/stalled`` until it returns.
/// - Derive what you show from the snapshot alone: snapshots may be skipped or repeated, and the first may have any
///   state.
/// - Throw errors whose text describes the problem and the solution: it is the reason that the user reads. The failure
///   and the recovery are logged once per outage.
public protocol IndicatorBackend: Sendable {
    /// The name that the config file and the diagnostics use. Unique among the backends of one manager.
    var name: String { get }

    /// Which snapshots the backend receives, and how. Read once, when the backend is added. Default: `.latestWins`.
    var delivery: BackendDelivery { get }

    /// Gives the backend a handle to the indicator that it belongs to. Called once, before the first ``start()``.
    ///
    /// Called on the thread that adds the backend, so it must return immediately. The default does nothing.
    func attach(to control: IndicatorControl)

    /// Acquires the resources of the surface.
    ///
    /// If it throws, the backend is unavailable and is retried at growing intervals. It must release what it acquired
    /// before it throws: ``stop()`` is called only after a successful `start()`.
    func start() async throws

    /// Shows a snapshot. Calls are made one at a time, in order.
    ///
    /// An error means that the surface was lost: the backend is stopped and started again.
    func update(_ snapshot: IndicatorSnapshot) async throws

    /// Restores the surface. Called after a successful ``start()``, also when an update threw.
    func stop() async
}

extension IndicatorBackend {
    /// The default: the latest snapshot, while visible.
    public var delivery: BackendDelivery { .latestWins }

    /// The default does nothing.
    public func attach(to control: IndicatorControl) {}
}

/// A backend with a connection, for which the thread that calls the backend waits, too.
///
/// The backend adds a `PollSource` to the thread. It starts no thread, and leaves counting failures and waiting for the
/// next attempt to its runner: it throws, or calls ``IndicatorControl/surfaceWasLost`` and ``IndicatorControl/retry``.
/// The runner multiplies its times between attempts by a random number from 0.25 to 1, which differs between processes,
/// so that thousands do not connect to a restarted server at the same time.
package protocol ConnectedBackend: IndicatorBackend {
    /// The thread on which it is called. Backends that share a connection have the same one, so their calls must not
    /// block: they suspend.
    var thread: ServiceThread { get }

    /// Called when the backend is to be stopped, before the last snapshots are delivered: a call that waits for a peer
    /// should return soon. On any thread; must not block.
    func willStop()
}

extension ConnectedBackend {
    package func willStop() {}
}

/// Which snapshots a backend receives, and how.
///
/// The latest snapshot wins: a newer one replaces one that was not delivered yet, so a slow surface delays nothing else
/// and always ends with the current state. What the replaced one reports moves to the newer one: what ended
/// (``IndicatorSnapshot/finished``), and that the indicator was shown or hidden (``IndicatorSnapshot/transitions``).
public struct BackendDelivery: Sendable, Hashable {
    /// Whether changes while the indicator is hidden (count, label, ``IndicatorState/delayingStart``) are delivered
    /// too. Default `false`: a hidden indicator then costs the backend nothing.
    public var includesHidden: Bool

    /// While visible, the latest snapshot is delivered again at this interval, for backends that animate; then it is a
    /// repetition (``IndicatorSnapshot/isRepetition``). Default `nil`: it is delivered only when something changed.
    /// Less than 10 ms counts as 10 ms.
    public var animationInterval: Duration?

    /// The shortest time between the beginnings of two updates, for surfaces with a limit of their own; the latest
    /// snapshot waits. Not after a start, nor when the backend is stopped. Default: zero.
    public var minimumInterval: Duration

    /// How long a call to the backend may take before the backend counts as stalled. Default 5 seconds; from a hundred
    /// years, there is no limit.
    public var updateTimeLimit: Duration

    /// What the backend writes to or talks to, such as a path or an address, which the report of a call that does not
    /// return names. Default: `nil`.
    public var target: String?

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

    /// The latest snapshot, while visible: suits most surfaces.
    public static var latestWins: Self { Self() }
}

/// A backend's handle to its indicator.
///
/// A control does not keep the indicator working, only its memory; after the manager is deallocated, calls have no
/// effect. Any thread may call it.
public struct IndicatorControl: Sendable {
    /// Enables or disables the indicator, as ``IndicatorManager/isEnabled`` does: for backends with a switch.
    public let setEnabled: @Sendable (_ isEnabled: Bool) -> Void

    /// Reports that an unavailable backend may be available again: it is started immediately. Without effect while the
    /// backend runs.
    public let retry: @Sendable () -> Void

    /// Reports that a running backend has lost its surface, before an update throws: the backend is stopped and started
    /// again, as if an update had thrown an error with this text, which the user reads.
    ///
    /// Without effect while the backend does not run. If the surface is lost while ``IndicatorBackend/start()`` runs,
    /// the next update must throw.
    public let surfaceWasLost: @Sendable (_ reason: String) -> Void

    /// The statuses of the indicator's backends. See ``IndicatorManager/backendStatuses``.
    public let backendStatuses: @Sendable () -> [BackendStatus]

    /// Whether ``requestCancellation`` would reach the app: it observes ``IndicatorManager/cancellationRequests``.
    public let isCancellable: @Sendable () -> Bool

    /// Reports that the user wants to cancel what the indicator shows: for backends with a button. It is delivered to
    /// ``IndicatorManager/cancellationRequests``. Returns immediately.
    public let requestCancellation: @Sendable (_ label: String?) -> Void

    /// The time since the indicator was made, by its clock: for animations, which a virtual clock then drives in tests.
    public let now: @Sendable () -> Duration

    /// Makes a control, for the tests of a backend.
    public init(
        setEnabled: @escaping @Sendable (Bool) -> Void = { _ in },
        retry: @escaping @Sendable () -> Void = {},
        surfaceWasLost: @escaping @Sendable (String) -> Void = { _ in },
        backendStatuses: @escaping @Sendable () -> [BackendStatus] = { [] },
        isCancellable: @escaping @Sendable () -> Bool = { false },
        requestCancellation: @escaping @Sendable (String?) -> Void = { _ in },
        now: @escaping @Sendable () -> Duration = { .zero }
    ) {
        self.setEnabled = setEnabled
        self.retry = retry
        self.surfaceWasLost = surfaceWasLost
        self.backendStatuses = backendStatuses
        self.isCancellable = isCancellable
        self.requestCancellation = requestCancellation
        self.now = now
    }
}
