public import Foundation

/// How parameters are encoded in a query or a form. Servers expect different variants.
///
/// Keys are sorted by their Unicode code points; array elements keep their order. `null` values are left out. All
/// characters except unreserved ones are percent-encoded (RFC 3986 §2), including the brackets of nested keys.
public struct QueryEncoding: Hashable, Sendable {
    /// How the elements of an array are named.
    public enum Arrays: Hashable, Sendable {
        /// `c[]=1&c[]=2`, as PHP and Rails read it.
        case brackets
        /// `c=1&c=2`.
        case none
        /// `c[0]=1&c[1]=2`. Elements that are left out are not counted: some servers stop reading at a missing index.
        case indices
    }

    /// How the members of a nested object are named.
    public enum Objects: Hashable, Sendable {
        /// `a[b]=1`.
        case brackets
        /// `a.b=1`.
        case dots
    }

    /// How booleans are encoded.
    public enum Booleans: Hashable, Sendable {
        /// `1` and `0`.
        case numbers
        /// `true` and `false`.
        case words
    }

    /// How spaces are encoded.
    public enum Spaces: Hashable, Sendable {
        /// `%20`, valid everywhere in a URL.
        case percent
        /// `+`, as in HTML forms.
        case plus
    }

    /// How the elements of an array are named.
    package var arrays: Arrays
    /// How the members of a nested object are named.
    package var objects: Objects
    /// How booleans are encoded.
    package var booleans: Booleans
    /// How spaces are encoded.
    package var spaces: Spaces

    /// Creates an encoding.
    public init(
        arrays: Arrays = .brackets,
        objects: Objects = .brackets,
        booleans: Booleans = .numbers,
        spaces: Spaces = .percent
    ) {
        self.arrays = arrays
        self.objects = objects
        self.booleans = booleans
        self.spaces = spaces
    }

    /// The default for queries: brackets, `1` and `0`, `%20`.
    public static var query: Self { Self() }
    /// The default for form bodies: brackets, `1` and `0`, `+`.
    public static var form: Self { Self(spaces: .plus) }

    /// The parameters as `key=value&key=value`.
    ///
    /// - Throws: ``NetworkError/invalidRequest(_:)`` when they are not an object, or the error of their encoding.
    package func encode(_ parameters: RouteParameters) throws -> String {
        switch try parameters.value.get() {
        case .object(let members):
            var pairs: [String] = []
            append(members, prefix: nil, to: &pairs)
            return pairs.joined(separator: "&")
        case .null:
            return ""
        case let other:
            throw NetworkError.invalidRequest(
                "a query or form needs an object with named parameters, "
                    + "not \(other.description.prefix(80))"
            )
        }
    }

    private func append(_ members: [String: JSONValue], prefix: String?, to pairs: inout [String]) {
        let sorted = members.sorted { $0.key.unicodeScalars.lexicographicallyPrecedes($1.key.unicodeScalars) }
        for (name, value) in sorted {
            let key =
                switch (prefix, objects) {
                case (nil, _): name
                case (let prefix?, .brackets): "\(prefix)[\(name)]"
                case (let prefix?, .dots): "\(prefix).\(name)"
                }
            append(value, key: key, to: &pairs)
        }
    }

    private func append(_ value: JSONValue, key: String, to pairs: inout [String]) {
        let text: String
        switch value {
        case .null:
            return
        case .object(let members):
            return append(members, prefix: key, to: &pairs)
        case .array(let elements):
            for (index, element) in elements.filter({ $0 != .null }).enumerated() {
                let elementKey =
                    switch arrays {
                    case .brackets: "\(key)[]"
                    case .none: key
                    case .indices: "\(key)[\(index)]"
                    }
                append(element, key: elementKey, to: &pairs)
            }
            return
        case .bool(let bool):
            text = booleans == .numbers ? (bool ? "1" : "0") : (bool ? "true" : "false")
        case .number(let number):
            text = number.text
        case .string(let string):
            text = string
        }
        pairs.append("\(escape(key))=\(escape(text))")
    }

    private func escape(_ text: String) -> String {
        PercentEncoding.encode(text, plusForSpace: spaces == .plus)
    }
}

/// Percent-encoding (RFC 3986).
enum PercentEncoding {
    static func encode(_ text: String, allowed: CharacterSet = .unreserved, plusForSpace: Bool = false) -> String {
        let encoded = text.addingPercentEncoding(withAllowedCharacters: allowed) ?? ""
        return plusForSpace ? encoded.replacing("%20", with: "+") : encoded
    }
}

extension CharacterSet {
    static let lettersAndDigits = Self(charactersIn: "a"..."z").union(.init(charactersIn: "A"..."Z"))
        .union(.init(charactersIn: "0"..."9"))
    /// The characters that are encoded in no value (§2.3).
    static let unreserved = lettersAndDigits.union(.init(charactersIn: "-._~"))
    /// The characters of a path, including slashes (§3.3).
    static let path = unreserved.union(.init(charactersIn: "/:@!$&'()*+,;="))
}

/// The parameters of a request: its query, the fields of a form, or a JSON body.
///
/// A dictionary of JSON values, or anything `Encodable`:
///
/// ```swift
/// .get("search", query: ["term": .string(term), "limit": 10])
/// .post("post", body: .json(.encoding(post)))
/// ```
public struct RouteParameters: Sendable, ExpressibleByDictionaryLiteral {
    /// The value, or the error of its encoding, which is thrown when the request is sent.
    let value: Result<JSONValue, any Error>

    /// Creates parameters from a JSON value.
    public init(_ value: JSONValue) {
        self.value = .success(value)
    }

    /// Creates parameters from keys and values. The last of duplicate keys counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self.init(.object(Dictionary(elements) { _, last in last }))
    }

    private init(value: Result<JSONValue, any Error>) {
        self.value = value
    }

    /// No parameters.
    public static var none: Self { [:] }

    /// Encodes a value. An encoding error is thrown when the request is sent.
    ///
    /// - Parameters:
    ///   - value: the value. For a query or a form it must encode to an object.
    ///   - encoder: the encoder; the default one encodes dates as ISO 8601.
    public static func encoding(_ value: some Encodable, using encoder: JSONEncoder? = nil) -> Self {
        Self(value: Result { try JSONValue(encoding: value, using: encoder) })
    }
}
