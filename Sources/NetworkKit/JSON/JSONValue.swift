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

    /// The member of an object; ``null`` when it is missing. Setting a member turns ``null`` into an object; it has no
    /// effect on other kinds.
    public subscript(key: String) -> JSONValue {
        get {
            guard case .object(let members) = self else { return .null }
            return members[key] ?? .null
        }
        set {
            switch self {
            case .object(var members):
                self = .null
                members[key] = newValue
                self = .object(members)
            case .null:
                self = .object([key: newValue])
            case .bool, .number, .string, .array:
                break
            }
        }
    }

    /// The element of an array; ``null`` when it is missing. Setting the element at the end index appends it; beyond
    /// that it has no effect.
    public subscript(index: Int) -> JSONValue {
        get {
            guard case .array(let elements) = self, elements.indices.contains(index) else { return .null }
            return elements[index]
        }
        set {
            guard case .array(var elements) = self else { return }
            self = .null
            if elements.indices.contains(index) {
                elements[index] = newValue
            } else if index == elements.endIndex {
                elements.append(newValue)
            }
            self = .array(elements)
        }
    }

    /// The member of an object, as if it were a property.
    public subscript(dynamicMember key: String) -> JSONValue {
        get { self[key] }
        set { self[key] = newValue }
    }
}
