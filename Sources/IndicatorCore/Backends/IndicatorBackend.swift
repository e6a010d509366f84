/// A surface that shows the indicator.
///
/// A backend is given to an ``IndicatorManager``, which runs it apart from everything else: on a thread of the
/// backend's own, one call at a time, in order. A backend that is slow, throws, or never returns disturbs neither the
/// app nor the other backends.
///
/// ### What is called when
///
/// 1. ``attach(to:)``, once, when the backend is added to a manager.
/// 2. ``start()``. If it throws, the backend is ``BackendState/unavailable(reason:)`` and `start()` is called
///    again: after 1 second, then 2, 4, … up to once a minute, or at once after ``IndicatorControl/retry``.
/// 3. ``update(_:)``, whenever there is something new to show. If it throws, the backend is unavailable: ``stop()`` is
///    called, then `start()` again as in step 2, and the latest snapshot is delivered once that succeeds.
/// 4. ``stop()``, when the backend is removed or the manager is shut down. `start()` may be called again later.
///
/// ### Guidance
///
/// - Because the thread is the backend's own, a blocking call is allowed. One that takes longer than
///   ``BackendDelivery/updateTimeLimit`` marks the backend ``BackendState/stalled`` until it returns.
/// - Show what the snapshot says and nothing else: snapshots may be skipped, repeated, or start anywhere.
/// - Throw errors whose text says what was wrong and what to do: it becomes the reason that the user reads. A failure
///   is logged once per outage, and so is the recovery.
public protocol IndicatorBackend: Sendable {
    /// The name that the config file and the diagnostics use. Unique among the backends of one manager.
    var name: String { get }

    /// Which snapshots the backend wants, and how. Read once, when the backend is added. Default: `.latestWins`.
    var delivery: BackendDelivery { get }

    /// Gives the backend a handle to the indicator that it belongs to. Called once, before the first ``start()``.
    ///
    /// Called on the thread of whoever adds the backend, so it must return at once. The default does nothing.
    func attach(to control: IndicatorControl)

    /// Acquires what the surface needs.
    ///
    /// Throwing leaves the backend unavailable; it is tried again, ever less often. Must release what it acquired
    /// before it throws: ``stop()`` is called only after a `start()` that succeeded.
    func start() async throws

    /// Shows this snapshot. Called one at a time, in order.
    ///
    /// Throwing means that the surface was lost: the backend is stopped and started again.
    func update(_ snapshot: IndicatorSnapshot) async throws

    /// Puts everything back as it was found. Called after a successful ``start()``, also when an update threw.
    func stop() async
}

extension IndicatorBackend {
    /// The default: the latest snapshot, while visible.
    public var delivery: BackendDelivery { .latestWins }

    /// The default does nothing.
    public func attach(to control: IndicatorControl) {}
}
