import Foundation
import IndicatorThreads
import Logging
import Synchronization

/// The observation of a library's notifications, as ``IndicatorManager/observe(_:in:)`` returns it.
public final class NotificationObservation: Sendable {
    private struct State: @unchecked Sendable {
        // `@unchecked`: the tokens are opaque and only handed back to their notification center, on any thread.
        var tokens: [any NSObjectProtocol] = []
        var isCancelled = false
    }

    private let center: NotificationCenter
    private let state = Locked(State())

    init(center: NotificationCenter) {
        self.center = center
    }

    /// Whether the observation has been cancelled.
    public var isCancelled: Bool { state.withLock { $0.isCancelled } }

    func add(_ name: Notification.Name, handler: @escaping @Sendable (Notification) -> Void) {
        let token = State(tokens: [center.addObserver(forName: name, object: nil, queue: nil, using: handler)])
        state.withLock { $0.tokens += token.tokens }
    }

    /// Stops observing. Tasks in progress stay so until they are deallocated or ended otherwise.
    public func cancel() {
        let old = state.withLock { state in
            defer { state = State(isCancelled: true) }
            return state
        }
        for token in old.tokens { center.removeObserver(token) }
    }
}

/// Finds out which activities notifications are about.
final class TaskIdentities: Sendable {
    private let find: @Sendable (Notification) -> Any?
    private let logger: Logger
    /// The class that was seen last: to ask whether a type is a class takes a search, and most tasks are of one class.
    private let lastClass = Atomic<UInt>(0)

    init(find: @escaping @Sendable (Notification) -> Any?, logger: Logger) {
        self.find = find
        self.logger = logger
    }

    /// The identity of a notification's task; `nil` if it names none.
    func key(of notification: Notification) -> ActivityKey? {
        guard let task = find(notification) else { return nil }
        let type = type(of: task)
        let typeID = UInt(bitPattern: ObjectIdentifier(type))
        if lastClass.load(ordering: .relaxed) != typeID {
            guard type is AnyClass else { return key(ofValue: task) }
            lastClass.store(typeID, ordering: .relaxed)
        }
        return .object(ActivityObject(object: Self.object(task), role: .notified))
    }

    private func key(ofValue value: Any) -> ActivityKey? {
        if let value = value as? any Hashable { return ActivityKey(unchecked: value) }
        logger.debug("A notification's identity is neither an object nor hashable: \(type(of: value))")
        return nil
    }

    /// A value whose type is a class as an object, without the search that `as` begins.
    private static func object<Instance>(_ instance: Instance) -> AnyObject {
        unsafeBitCast(instance, to: AnyObject.self)
    }
}
