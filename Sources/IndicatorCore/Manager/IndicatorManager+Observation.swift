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
        let identity = TaskIdentity()
        let observation = NotificationObservation(center: center)
        for name in Set(notifications.starts) {
            observation.add(name) { [weak self] notification in
                guard let self, let task = find(notification) else { return }
                taskStarted(identity.kind(of: task), label: label(notification))
            }
        }
        for name in Set(notifications.stops).subtracting(notifications.starts) {
            observation.add(name) { [weak self] notification in
                guard let self, let task = find(notification) else { return }
                taskStopped(identity.kind(of: task))
            }
        }
        let progress = notifications.progress
        for name in Set(notifications.updates).subtracting(notifications.starts).subtracting(notifications.stops) {
            observation.add(name) { [weak self] notification in
                guard let self, let task = find(notification), let fraction = progress(notification) else { return }
                taskProgressed(identity.kind(of: task), to: fraction)
            }
        }
        core.withLock { core in
            core.observations.removeAll(where: \.isCancelled)
            core.observations.append(observation)
        }
        return observation
    }

    private func taskStarted(_ task: TaskIdentity.Kind, label: String?) {
        switch task {
        case .object(let object): startActivity(of: object, role: .notified, label: label)
        case .value(let value as any Hashable): start(ActivityKey(unchecked: value), label: label)
        case .value(let value):
            logger.debug("A notification's identity is neither an object nor hashable: \(type(of: value))")
        }
    }

    private func taskStopped(_ task: TaskIdentity.Kind) {
        switch task {
        case .object(let object): stopActivity(of: object, role: .notified)
        case .value(let value as any Hashable): stop(ActivityKey(unchecked: value))
        case .value: break
        }
    }

    private func taskProgressed(_ task: TaskIdentity.Kind, to progress: Double) {
        switch task {
        case .object(let object):
            let key = ObservedObject.key(object, role: .notified)
            core.withLock { core in
                guard var kept = core.objects[key], kept.object.object === object else { return }
                if core.details.update(&kept.entry, label: nil, progress: progress) {
                    core.objects.update(key) { $0.entry = kept.entry }
                }
                noteChange(&core)
            }
        case .value(let value as any Hashable):
            update(ActivityKey(unchecked: value), label: nil, progress: progress)
        case .value: break
        }
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
            // Not `stop`: its memory of stops that overtake their starts is for notifications.
            guard let kept = core.objects.remove(ObservedObject.key(object, role: .tracked)) else { return }
            end(kept.entry, in: &core)
        }
    }

    private func startActivity(of object: AnyObject, role: ObservedObject.Role, label: String?) {
        let key = ObservedObject.key(object, role: role)
        core.withLock { core in
            let predecessor = core.objects.remove(key) { $0.object.isGone }
            var entry = Entry(order: nextOrder(&core))
            let isNew = core.objects.start(
                key,
                at: time.now,
                entry: ObjectEntry(entry: entry, object: ObservedObject(object))
            )
            if isNew {
                if let label {
                    entry.slot = core.details.insert(label: label, progress: nil, order: entry.order)
                    core.objects.update(key) { $0.entry = entry }
                }
                if core.lifetimeCheckDue == nil {
                    core.lifetimeCheckDue = time.now + core.lifetimeCheckInterval
                    arm(&core)
                }
                addEntry(to: &core, hasDetails: label != nil)
            }
            if let predecessor { end(predecessor.entry, in: &core) }
        }
    }

    private func stopActivity(of object: AnyObject, role: ObservedObject.Role) {
        let key = ObservedObject.key(object, role: role)
        core.withLock { core in
            guard let kept = core.objects.stop(key, object: ObservedObject(object), at: time.now) else { return }
            end(kept.entry, in: &core)
        }
    }

    /// Called with the lock held. Returns the objects that are not gone, to be let go of without it: one of them may have lost its last
    /// other reference meanwhile, and what it does in its `deinit` may need the lock.
    func endActivitiesOfGoneObjects(_ core: inout Core, at now: Duration) -> [AnyObject] {
        var objects: [AnyObject] = []
        let gone = core.objects.removeAll { kept in
            guard let object = kept.object.object else { return true }
            objects.append(object)
            return false
        }
        for kept in gone { end(kept.entry, in: &core) }
        core.lifetimeCheckDue = core.objects.count == 0 ? nil : now + core.lifetimeCheckInterval
        return objects
    }
}
