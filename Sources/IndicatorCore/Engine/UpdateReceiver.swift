/// A receiver of updates: a backend's runner, or a subscription.
protocol UpdateReceiver: AnyObject, Sendable {
    /// Which changes it observes.
    var audience: PublicationState.Audience { get }

    /// Adds an update to the inbox. Called under the engine's lock, so it takes only its own; ``startDelivery()``
    /// follows.
    func post(_ update: IndicatorUpdate)

    /// No more updates follow. Called as ``post(_:)``.
    func finish(timeLimit: Duration)

    /// Begins what has become necessary. Called without a lock, on any thread, in any order.
    func startDelivery()

    /// Returns when nothing is delivered any more, after ``finish(timeLimit:)``.
    func waitUntilFinished() async
}

/// A resource with the lifetime of a manager, such as the watcher of its config file.
package protocol ManagerResource: AnyObject, Sendable {
    /// The manager is being shut down, or it and its activities were released: release everything. A shutdown waits for
    /// this in bounded time.
    /// Called on a thread for foreign code.
    func managerHasEnded() async
}
