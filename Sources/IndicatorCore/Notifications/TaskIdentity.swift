import Synchronization

/// Tells objects from values among what notifications name as their tasks.
final class TaskIdentity: Sendable {
    /// What a notification names.
    enum Kind {
        /// An instance of a class.
        case object(AnyObject)
        /// A value.
        case value(Any)
    }

    /// The class that was seen last: asking whether a type is a class takes a search, and most tasks are of one class.
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
