public import Foundation

extension IndicatorManager {
    // MARK: - Notifications

    /// Observes the notifications that a library posts when its tasks begin and end.
    ///
    /// A task is counted from a notification that starts it to one that stops it, once, however often each is posted. A
    /// task that is an object is referenced weakly: without a stop, its activity ends within ``lifetimeCheckInterval``
    /// after the object was deallocated.
    ///
    /// - Parameters:
    ///   - notifications: what to observe: ``TaskNotifications/indicator``, ``TaskNotifications/alamofire``, or a
    ///     custom value.
    ///   - center: the center that they are posted to.
    /// - Returns: the observation, which lasts until it is cancelled, the manager is shut down, or the manager and its
    ///   activities are released.
    @discardableResult
    public func observe(
        _ notifications: TaskNotifications,
        in center: NotificationCenter = .default
    ) -> NotificationObservation {
        engine.observe(notifications, in: center)
    }

    // MARK: - Lifetimes

    /// Counts an activity while an object lives, or until ``stopTracking(_:)``.
    ///
    /// The object is referenced weakly; its memory is kept until its deallocation is noticed, within
    /// ``lifetimeCheckInterval``. If its last other reference is released during a check, it is deallocated on one of
    /// the indicator's threads. Tracking a tracked object has no effect.
    public func track(_ object: AnyObject, label: String? = nil) {
        engine.start(.object(ActivityObject(object: object, role: .tracked)), label: label)
    }

    /// Ends the activity of a tracked object before the object is deallocated; without effect if it is not tracked.
    public func stopTracking(_ object: AnyObject) {
        engine.stop(.object(ActivityObject(object: object, role: .tracked)))
    }
}

extension IndicatorEngine {
    package func observe(_ notifications: TaskNotifications, in center: NotificationCenter) -> NotificationObservation {
        let (label, update, outcome) = (notifications.label, notifications.update, notifications.outcome)
        let observation = NotificationObservation(of: notifications.identity, in: center, engine: self)
        // The closures retain the engine, which cancels the observation when it closes.
        typealias Input = @Sendable (ActivityKey, Notification) -> Void
        let inputs: [(names: [Notification.Name], input: Input)] = [
            (
                notifications.starts,
                { task, notification in
                    let label = label(notification)
                    self.change { machine, now in machine.startTask(task, label: label, now) }
                }
            ),
            (notifications.updates, { task, notification in self.update(task) { update(notification, &$0) } }),
            (notifications.pauses, { task, _ in self.stop(task, nil) }),
            (
                notifications.stops,
                { task, notification in
                    let outcome = outcome(notification)
                    self.change { machine, now in machine.completeTask(task, outcome, now) }
                }
            ),
        ]
        keep(observation)
        for name in Set(inputs.flatMap(\.names)) {
            // One notification may mean several of these, in this order.
            let own = inputs.filter { $0.names.contains(name) }.map(\.input)
            observation.add(name) { notification in
                guard let task = observation.key(of: notification) else { return }
                for input in own { input(task, notification) }
            }
        }
        return observation
    }
}
