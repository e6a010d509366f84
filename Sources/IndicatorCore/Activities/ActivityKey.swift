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
    case value(Value)
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
