/// The identity of an activity: any hashable value, with strings, which most are, kept out of a box.
enum ActivityKey: Hashable, @unchecked Sendable {
    // `@unchecked`: what goes into the `AnyHashable` is `Sendable`, or a value out of a notification, which is read and never
    // changed.

    case string(String)
    case value(AnyHashable)

    init(_ value: some Hashable & Sendable) {
        self.init(unchecked: value)
    }

    /// Makes a key of a value from a notification, which must not be changed by whoever posted it.
    init(unchecked value: some Hashable) {
        self = if let string = value as? String { .string(string) } else { .value(AnyHashable(value)) }
    }
}
