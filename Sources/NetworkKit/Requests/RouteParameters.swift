public import Foundation

/// The parameters of a request: its query, the fields of a form, or a JSON body. A dictionary of JSON values, such as
/// `["term": .string(term), "limit": 10]`, or anything `Encodable`: `.encoding(post)`.
public struct RouteParameters: Sendable {
    /// The value, or the error of its encoding, which is thrown when the request is sent.
    let value: Result<JSONValue, any Error>
}

extension RouteParameters: ExpressibleByDictionaryLiteral {
    /// Creates parameters from a JSON value.
    public init(_ value: JSONValue) { self.init(value: .success(value)) }

    /// Creates parameters from keys and values. The last of duplicate keys counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self.init(.object(Dictionary(elements) { _, last in last }))
    }

    /// No parameters.
    public static var none: Self { [:] }

    /// Encodes a value: for a query or a form, one that is encoded as an object. By default with dates as ISO 8601.
    public static func encoding(_ value: some Encodable, using encoder: JSONEncoder? = nil) -> Self {
        Self(value: Result { try JSONValue.encoding(value, using: encoder) })
    }

    /// The parameters as `key=value&key=value`, in a query or a form. Throws if they are not an object, or the error of
    /// their encoding.
    ///
    /// Keys are sorted by their Unicode code points; array elements keep their order. `null` values are left out, and
    /// booleans are `1` and `0`. All characters except unreserved ones are percent-encoded (RFC 3986 §2), including the
    /// brackets of nested keys. A space is `%20`, which is valid in both.
    package func encoded(usesBrackets: Bool = true) throws -> String {
        switch try value.get() {
        case .object(let members):
            var pairs: [String] = []
            Self.append(members, prefix: nil, usesBrackets, to: &pairs)
            return pairs.joined(separator: "&")
        case .null:
            return ""
        case let other:
            let found = other.description.prefix(80)
            throw NetworkError.invalidRequest("a query or form needs an object with named parameters, not \(found)")
        }
    }

    private static func append(
        _ members: [String: JSONValue],
        prefix: String?,
        _ usesBrackets: Bool,
        to pairs: inout [String]
    ) {
        for (name, value) in members.sorted(by: {
            $0.key.unicodeScalars.lexicographicallyPrecedes($1.key.unicodeScalars)
        }) {
            append(value, key: prefix.map { "\($0)[\(name)]" } ?? name, usesBrackets, to: &pairs)
        }
    }

    private static func append(_ value: JSONValue, key: String, _ usesBrackets: Bool, to pairs: inout [String]) {
        let text: String
        switch value {
        case .null:
            return
        case .object(let members):
            return append(members, prefix: key, usesBrackets, to: &pairs)
        case .array(let elements):
            for element in elements { append(element, key: usesBrackets ? "\(key)[]" : key, usesBrackets, to: &pairs) }
            return
        case .bool(let bool):
            text = bool ? "1" : "0"
        case .number(let number):
            text = "\(number)"
        case .string(let string):
            text = string
        }
        pairs.append("\(key.percentEncoded())=\(text.percentEncoded())")
    }
}

extension String {
    /// The text with percent-encoding (RFC 3986) of all characters but unreserved ones (§2.3) and those that are kept.
    func percentEncoded(keeping kept: String = "") -> String {
        // Foundation takes several microseconds for that, also of an empty text.
        utf8.reduce(into: "") { text, byte in
            switch UnicodeScalar(byte) {
            case "a"..."z", "A"..."Z", "0"..."9", "-", ".", "_", "~": text.unicodeScalars.append(UnicodeScalar(byte))
            case let other where kept.unicodeScalars.contains(other): text.unicodeScalars.append(other)
            default: text += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
            }
        }
    }
}
