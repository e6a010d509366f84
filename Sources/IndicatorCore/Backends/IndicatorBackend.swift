/// A surface that shows the indicator.
///
/// An ``IndicatorManager`` calls each backend on a separate thread, one call at a time, in order. A backend that is
/// slow, throws, or never returns affects neither the app nor the other backends.
///
/// ### What is called when
///
/// 1. ``attach(to:)``, once, when the backend is added to a manager.
/// 2. ``start()``. If it throws, the backend is ``BackendState/unavailable(reason:)`` and `start()` is called again:
///    after 1 second, then 2, 4, … up to once a minute, or immediately after ``IndicatorControl/retry``.
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
