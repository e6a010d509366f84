/// The identity of an activity: any hashable value, or an object. Texts and numbers, the most common ones, need no box.
@usableFromInline
package enum ActivityKey: Sendable {
    /// A value of the caller's own type, whose `==`, `hash(into:)` and `deinit` are the caller's code.
    @usableFromInline
    package struct Value: Hashable, @unchecked Sendable {
        // `@unchecked`: the value is `Sendable`, or comes from a notification, and is only read.

        fileprivate let base: AnyHashable
    }

    case text(String)
    case number(Int)
    indirect case value(Value)
    case object(ActivityObject)

    /// Makes a key of a value, which is `Sendable`, or comes from a notification and is not changed by its poster.
    @inlinable
    init<Base: Hashable>(_ value: Base) {
        // Not `as?` for the two common types: it performs a search in generic code.
        if Base.self == Int.self {
            self = .number(withUnsafePointer(to: value) { UnsafeRawPointer($0).load(as: Int.self) })
        } else if Base.self == String.self {
            self = .text(withUnsafePointer(to: value) { UnsafeRawPointer($0).load(as: String.self) })
        } else {
            self.init(other: value)
        }
    }

    @usableFromInline
    init(other value: some Hashable) {
        if let text = value as? String {
            self = .text(text)
        } else if let integer = value as? any BinaryInteger, let number = Int(exactly: integer) {
            // As in an `AnyHashable`, equal numbers of different types are equal.
            self = .number(number)
        } else {
            self = .value(Value(base: AnyHashable(value)))
        }
    }
}

/// An object as the identity of an activity.
@usableFromInline
package struct ActivityObject: @unchecked Sendable {
    // `@unchecked`: the object is only retained and compared.

    /// Why an object is observed. It is referenced weakly, so that it is deallocated when the app releases it. An
    /// object may have both roles, independently of each other.
    package enum Role: UInt, Sendable {
        /// ``IndicatorManager/track(_:label:)``.
        case tracked = 0
        /// The task of a notification.
        case notified = 1
    }

    /// An object's address and role. While an object is retained, no other one has its address.
    typealias Key = UInt

    let object: AnyObject
    let role: Role

    /// Objects are aligned to 16 bytes, so the lowest bits are free for the role.
    var key: Key { UInt(bitPattern: ObjectIdentifier(object)) | role.rawValue }
}
