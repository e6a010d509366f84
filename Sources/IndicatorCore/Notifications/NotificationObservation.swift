import Foundation
import IndicatorThreads
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

/// Tells objects from values among what notifications name as their tasks.
final class TaskKinds: Sendable {
    /// What a notification names.
    enum Kind {
        /// An instance of a class.
        case object(AnyObject)
        /// A value.
        case value(Any)
    }

    /// The class that was seen last: to ask whether a type is a class takes a search, and most tasks are of one class.
    private let lastClass = Atomic<UInt>(0)

    /// What a notification names.
    func kind(of identity: Any) -> Kind {
        let type = UInt(bitPattern: ObjectIdentifier(type(of: identity)))
        if lastClass.load(ordering: .relaxed) == type { return .object(Self.object(identity)) }
        guard Swift.type(of: identity) is AnyClass else { return .value(identity) }
        lastClass.store(type, ordering: .relaxed)
        return .object(Self.object(identity))
    }

    /// A value whose type is a class as an object, without the search that `as` begins.
    private static func object<Instance>(_ instance: Instance) -> AnyObject {
        unsafeBitCast(instance, to: AnyObject.self)
    }
}
