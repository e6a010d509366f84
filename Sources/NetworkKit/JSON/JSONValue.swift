/// A JSON value whose members are reached by name and index, without a type for each answer of a server.
///
/// ```swift
/// let name = json.feed.entry[0]["im:name"].label.string
/// ```
///
/// A member that is not there, or is asked of a value that has no members, is ``null``: only the typed accessor at the
/// end tells, by being `nil`. A member whose name is that of a property of this type (`string`, `count`) is reached by
/// subscript; there are few of those on purpose.
///
/// Numbers keep the decimal text that they arrived with, and that text is what is compared: `1` and `1.0` differ. Of
/// equal keys in an object the last one counts. Text output has the keys in a stable order.
@dynamicMemberLookup
public enum JSONValue: Hashable, Sendable {
    /// `null`, and whatever is not there.
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

    /// The member of an object. Getting one that is not there gives ``null``; setting one makes an object of what is
    /// ``null`` and does nothing to other kinds.
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

    /// The element of an array. Getting one that is not there gives ``null``; setting one beyond the end does nothing,
    /// except that the index just after the last element appends.
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
