public import Foundation
import Logging

extension IndicatorManager {
    // MARK: - Notifications

    /// Observes the notifications by which a library tells that its tasks begin and end.
    ///
    /// A task is counted from a notification that starts it to one that stops it, once, however often each is posted. One that is
    /// deallocated without ever announcing its end is noticed within ``lifetimeCheckInterval``.
    ///
    /// - Parameters:
    ///   - notifications: what to observe: ``TaskNotifications/indicator``, ``TaskNotifications/alamofire``, or a value of your own.
    ///   - center: where they are posted.
    /// - Returns: the observation, which lasts until it is cancelled or the manager goes.
    @discardableResult
    public func observe(
        _ notifications: TaskNotifications,
        in center: NotificationCenter = .default
    ) -> NotificationObservation {
        let find = notifications.identity.find
        let label = notifications.label
        let observation = NotificationObservation(center: center)
        for name in Set(notifications.starts) {
            observation.add(name) { [weak self] notification in
                guard let self, let identity = find(notification) else { return }
                taskStarted(identity, label: label(notification))
            }
        }
        for name in Set(notifications.stops).subtracting(notifications.starts) {
            observation.add(name) { [weak self] notification in
                guard let self, let identity = find(notification) else { return }
                taskStopped(identity)
            }
        }
        let progress = notifications.progress
        for name in Set(notifications.updates).subtracting(notifications.starts).subtracting(notifications.stops) {
            observation.add(name) { [weak self] notification in
                guard let self, let identity = find(notification), let fraction = progress(notification) else { return }
                taskProgressed(identity, to: fraction)
            }
        }
        core.withLock { core in
            core.observations.removeAll(where: \.isCancelled)
            core.observations.append(observation)
        }
        return observation
    }

    private func taskStarted(_ identity: Any, label: String?) {
        if type(of: identity) is AnyClass {
            startActivity(of: identity as AnyObject, role: .notified, label: label)
        } else if let value = identity as? any Hashable {
            start(ActivityKey(unchecked: value), label: label)
        } else {
            logger.debug("A notification's identity is neither an object nor hashable: \(type(of: identity))")
        }
    }

    private func taskStopped(_ identity: Any) {
        if type(of: identity) is AnyClass {
            stopActivity(of: identity as AnyObject, role: .notified)
        } else if let value = identity as? any Hashable {
            stop(ActivityKey(unchecked: value))
        }
    }

    private func taskProgressed(_ identity: Any, to progress: Double) {
        if type(of: identity) is AnyClass {
            let object = identity as AnyObject
            let key = ObservedObject.key(object, role: .notified)
            core.withLock { core in
                guard var activity = core.objects[key], activity.object?.object === object else { return }
                update(&activity, progress: progress, in: &core)
                core.objects[key] = activity
            }
        } else if let value = identity as? any Hashable {
            let key = ActivityKey(unchecked: value)
            core.withLock { core in
                guard var activity = core.identities[key] else { return }
                update(&activity, progress: progress, in: &core)
                core.identities[key] = activity
            }
        }
    }

    /// Called with the lock held.
    private func update(_ activity: inout IdentifiedActivity, progress: Double, in core: inout Core) {
        if let slot = activity.slot {
            core.details.update(slot, label: nil, progress: progress)
        } else {
            activity.slot = core.details.insert(label: nil, progress: progress, order: activity.order)
        }
        noteChange(&core)
    }

    // MARK: - Lifetimes

    /// Counts an activity for as long as an object lives, or until ``stopTracking(_:)``.
    ///
    /// The object is held weakly; that it is gone is noticed within ``lifetimeCheckInterval``. Tracking an object that is tracked
    /// already changes nothing.
    ///
    /// - Parameters:
    ///   - object: the object.
    ///   - label: a short text of what is going on.
    public func track(_ object: AnyObject, label: String? = nil) {
        startActivity(of: object, role: .tracked, label: label)
    }

    /// Ends the activity of a tracked object before the object is deallocated; without effect when it is not tracked.
    public func stopTracking(_ object: AnyObject) {
        core.withLock { core in
            let key = ObservedObject.key(object, role: .tracked)
            // Not `stop`: its memory of stops that overtake their starts is for notifications.
            guard core.objects[key] != nil, let activity = core.objects.stop(key, at: .zero) else { return }
            end(activity, in: &core)
        }
    }

    private func startActivity(of object: AnyObject, role: ObservedObject.Role, label: String?) {
        let key = ObservedObject.key(object, role: role)
        let observed = ObservedObject(object)
        core.withLock { core in
            var predecessor: IdentifiedActivity?
            if core.objects[key]?.object?.isGone == true { predecessor = core.objects.stop(key, at: .zero) }
            var entry = IdentifiedActivity(order: nextOrder(&core), object: observed)
            if core.objects.start(key, at: time.now, entry: entry) {
                if let label {
                    entry.slot = core.details.insert(label: label, progress: nil, order: entry.order)
                    core.objects[key] = entry
                }
                if core.lifetimeCheckDue == nil {
                    core.lifetimeCheckDue = time.now + core.lifetimeCheckInterval
                    arm(&core)
                }
                addEntry(to: &core, hasDetails: label != nil)
            }
            if let predecessor { end(predecessor, in: &core) }
        }
    }

    private func stopActivity(of object: AnyObject, role: ObservedObject.Role) {
        let key = ObservedObject.key(object, role: role)
        core.withLock { core in
            guard let activity = core.objects.stop(key, object: ObservedObject(object), at: time.now) else { return }
            end(activity, in: &core)
        }
    }

    /// Called with the lock held.
    func endActivitiesOfGoneObjects(_ core: inout Core, at now: Duration) {
        for activity in core.objects.removeAll(where: { $0.object?.isGone == true }) { end(activity, in: &core) }
        core.lifetimeCheckDue = core.objects.count == 0 ? nil : now + core.lifetimeCheckInterval
    }
}
