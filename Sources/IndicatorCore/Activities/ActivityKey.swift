/// The identity of an activity: any hashable value, with texts and numbers, which most are, kept out of a box.
enum ActivityKey: Sendable {
    /// Any other value.
    struct Other: ActivityIdentity, @unchecked Sendable {
        // `@unchecked`: the value is `Sendable`, or comes out of a notification, and is read and never changed.

        fileprivate let value: AnyHashable

        func tableHash(seed: UInt64) -> UInt64 {
            FoldedHash.of(UInt64(bitPattern: Int64(value.hashValue)), seed: seed)
        }
    }

    case text(String)
    case number(Int)
    case value(Other)

    init(_ value: some Hashable & Sendable) {
        self.init(unchecked: value)
    }

    /// Makes a key of a value from a notification, which must not be changed by whoever posted it.
    init<Value: Hashable>(unchecked value: Value) {
        // Not `as?`, which begins a search in generic code.
        if Value.self == Int.self {
            self = .number(withUnsafePointer(to: value) { UnsafeRawPointer($0).load(as: Int.self) })
        } else if Value.self == String.self {
            self = .text(withUnsafePointer(to: value) { UnsafeRawPointer($0).load(as: String.self) })
        } else if let text = value as? String {
            self = .text(text)
        } else if let integer = value as? any BinaryInteger, let number = Int(exactly: integer) {
            // An `AnyHashable` of it would be equal to one of the same number of another type.
            self = .number(number)
        } else {
            self = .value(Other(value: AnyHashable(value)))
        }
    }
}
