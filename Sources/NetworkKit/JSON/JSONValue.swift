/// A JSON value with access to members by name and index, without a type for each response:
/// `json.feed.entry[0]["im:name"].label.string`.
///
/// A missing member, and any member of a value that has none, is ``null``. The typed accessor at the end of a chain
/// then returns `nil`. Members with the name of a property of this type (`string`, `count`) need the subscript.
///
/// Numbers keep their original decimal text and are compared by it: `1` and `1.0` differ. The last of duplicate keys
/// counts. Text output has a stable key order.
@dynamicMemberLookup
public enum JSONValue: Hashable, Sendable {
    /// `null`, or a missing member.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number, as its decimal text.
    case number(JSONNumber)
    /// A string.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object.
    case object([String: JSONValue])

    /// The member of an object; ``null`` when it is missing.
    public subscript(key: String) -> JSONValue { object?[key] ?? .null }

    /// The element of an array; ``null`` when it is missing.
    public subscript(index: Int) -> JSONValue {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return .null }
        return elements[index]
    }

    /// The member of an object, as if it were a property.
    public subscript(dynamicMember key: String) -> JSONValue { self[key] }
}

/// A number in JSON, as its decimal text: see ``JSONValue/int``, ``JSONValue/double`` and ``JSONValue/decimal``.
public struct JSONNumber: Hashable, Sendable, CustomStringConvertible {
    /// The decimal text.
    public let description: String
}
