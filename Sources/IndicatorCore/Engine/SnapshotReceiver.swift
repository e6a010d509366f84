/// A receiver of snapshots: a backend's runner, or a subscription.
protocol SnapshotReceiver: AnyObject, Sendable {
    /// Which changes it observes.
    var audience: PublicationState.Audience { get }

    /// Adds a snapshot to the inbox. Called under the engine's lock, so it takes only its own; ``startDelivery()``
    /// follows.
    func post(_ snapshot: IndicatorSnapshot)

    /// No more snapshots follow. Called as ``post(_:)``.
    func finish(timeLimit: Duration, at now: Duration)

    /// Begins what has become necessary. Called without a lock, on any thread, in any order.
    func startDelivery()

    /// Returns when nothing is delivered any more, after ``finish(timeLimit:at:)``.
    func waitUntilFinished() async
}

/// A resource with the lifetime of a manager, such as the watcher of its config file.
package protocol ManagerResource: AnyObject, Sendable {
    /// The manager is being shut down, or it and its activities were released: release everything. A shutdown waits for
    /// this in bounded time.
    /// Called on a thread for foreign code.
    func managerHasEnded() async
}
