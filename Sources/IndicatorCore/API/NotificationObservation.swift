import Foundation
import Synchronization

/// The observation of a library's notifications. See ``IndicatorManager/observe(_:in:)``.
///
/// It ends with the indicator, which it does not keep working.
public final class NotificationObservation: Sendable, ManagerResource {
    private struct State: @unchecked Sendable {
        // `@unchecked`: the tokens are opaque and only passed back to their notification center, on any thread.
        var tokens: [any NSObjectProtocol] = []
        /// What it reports to; `nil` when it has been cancelled.
        var engine: IndicatorEngine?
    }

    private let center: NotificationCenter
    private let identity: TaskNotifications.Identity
    private let state: Locked<State>
    /// The most recent class: checking whether a type is a class takes a search, and most tasks have the same class.
    private let lastClass = Atomic<UInt>(0)

    init(of identity: TaskNotifications.Identity, in center: NotificationCenter, engine: IndicatorEngine) {
        self.center = center
        self.identity = identity
        state = Locked(State(engine: engine))
    }

    /// Whether the observation has been cancelled.
    package var isCancelled: Bool { state.withLock { $0.engine == nil } }

    func add(_ name: Notification.Name, handler: @escaping @Sendable (Notification) -> Void) {
        let new = State(tokens: [center.addObserver(forName: name, object: nil, queue: nil, using: handler)])
        let isCancelled = state.withLock { state in
            if state.engine != nil { state.tokens += new.tokens }
            return state.engine == nil
        }
        if isCancelled { center.removeObserver(new.tokens[0]) }
    }

    /// Stops observing. Tasks in progress remain so until they are released or end otherwise.
    public func cancel() {
        let old = state.withLock { state in
            defer { state = State() }
            return state
        }
        for token in old.tokens { center.removeObserver(token) }
        old.engine?.forget(self)
    }

    package func managerHasEnded() async { cancel() }

    /// The identity of a notification's task; `nil` if it has none, or one that is neither an object nor hashable.
    func key(of notification: Notification) -> ActivityKey? {
        guard let task = identity.find(notification) else { return nil }
        let type = type(of: task)
        let typeID = UInt(bitPattern: ObjectIdentifier(type))
        if lastClass.load(ordering: .relaxed) != typeID {
            guard type is AnyClass else { return (task as? any Hashable).map { ActivityKey($0) } }
            lastClass.store(typeID, ordering: .relaxed)
        }
        return .object(ActivityObject(object: Self.object(task), role: .notified))
    }

    /// Converts an instance of a class to an object without the search that `as` performs.
    private static func object<Instance>(_ instance: Instance) -> AnyObject {
        unsafeBitCast(instance, to: AnyObject.self)
    }
}
