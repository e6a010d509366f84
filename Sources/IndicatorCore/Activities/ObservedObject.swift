/// The identity of an object whose activity must not outlive it.
///
/// The object is held weakly. An object that takes the place in memory of one that is gone is another one: it gets the same
/// `ObjectIdentifier`, and only the weak reference tells them apart.
struct ObservedObject: @unchecked Sendable {
    // `@unchecked`: the object is compared and never used; weak references may be read on any thread.

    /// Whether an object is tracked for its own sake, or for the notifications that name it. The two are apart.
    enum Role: Hashable {
        case tracked
        case notified
    }

    struct Key: Hashable {
        var role: Role
        var object: ObjectIdentifier
    }

    private(set) weak var object: AnyObject?

    init(_ object: AnyObject) {
        self.object = object
    }

    var isGone: Bool { object == nil }

    static func key(_ object: AnyObject, role: Role) -> Key {
        Key(role: role, object: ObjectIdentifier(object))
    }
}
