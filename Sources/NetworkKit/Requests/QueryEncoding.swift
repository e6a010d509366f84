public import Foundation

/// How parameters are encoded in a query or a form. Servers expect different variants.
///
/// Keys are sorted by their Unicode code points; array elements keep their order. `null` values are left out. All
/// characters except unreserved ones are percent-encoded (RFC 3986 §2), including the brackets of nested keys.
public struct QueryEncoding: Hashable, Sendable {
    private let usesBrackets: Bool
    private let usesWords: Bool
    private let usesPlus: Bool

    /// Creates an encoding.
    ///
    /// - Parameters:
    ///   - usesBrackets: whether the elements of an array are named `c[]=1&c[]=2`, as PHP and Rails read it, not
    ///     `c=1&c=2`.
    ///   - usesWords: whether booleans are `true` and `false`, not `1` and `0`.
    ///   - usesPlus: whether spaces are `+`, as in HTML forms, not `%20`, which is valid everywhere in a URL.
    public init(
        usesBrackets: Bool = true,
        usesWords: Bool = false,
        usesPlus: Bool = false
    ) {
        self.usesBrackets = usesBrackets
        self.usesWords = usesWords
        self.usesPlus = usesPlus
    }

    /// The default for queries: brackets, `1` and `0`, `%20`.
    public static var query: Self { Self() }
    /// The default for form bodies: brackets, `1` and `0`, `+`.
    public static var form: Self { Self(usesPlus: true) }

    /// The parameters as `key=value&key=value`. Throws if they are not an object, or the error of their encoding.
    package func encode(_ parameters: RouteParameters) throws -> String {
        switch try parameters.value.get() {
        case .object(let members):
            var pairs: [String] = []
            append(members, prefix: nil, to: &pairs)
            return pairs.joined(separator: "&")
        case .null:
            return ""
        case let other:
            let found = other.description.prefix(80)
            throw NetworkError.invalidRequest("a query or form needs an object with named parameters, not \(found)")
        }
    }

    private func append(_ members: [String: JSONValue], prefix: String?, to pairs: inout [String]) {
        for (name, value) in members.sorted(by: {
            $0.key.unicodeScalars.lexicographicallyPrecedes($1.key.unicodeScalars)
        }) {
            let key = prefix.map { "\($0)[\(name)]" } ?? name
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
            for element in elements { append(element, key: usesBrackets ? "\(key)[]" : key, to: &pairs) }
            return
        case .bool(let bool):
            text = usesWords ? "\(bool)" : (bool ? "1" : "0")
        case .number(let number):
            text = "\(number)"
        case .string(let string):
            text = string
        }
        pairs.append("\(escape(key))=\(escape(text))")
    }

    private func escape(_ text: String) -> String {
        usesPlus ? text.percentEncoded().replacing("%20", with: "+") : text.percentEncoded()
    }
}

extension String {
    /// The text with percent-encoding (RFC 3986).
    func percentEncoded(allowed: CharacterSet = .unreserved) -> String {
        addingPercentEncoding(withAllowedCharacters: allowed) ?? ""
    }
}

extension CharacterSet {
    /// The characters that are encoded in no value (§2.3).
    static let unreserved = Self(charactersIn: "a"..."z").union(.init(charactersIn: "A"..."Z"))
        .union(.init(charactersIn: "0"..."9")).union(.init(charactersIn: "-._~"))
    /// The characters of a path, including slashes (§3.3).
    static let path = unreserved.union(.init(charactersIn: "/:@!$&'()*+,;="))
}

/// The parameters of a request: its query, the fields of a form, or a JSON body. A dictionary of JSON values, such as
/// `["term": .string(term), "limit": 10]`, or anything `Encodable`: `.encoding(post)`.
public struct RouteParameters: Sendable, ExpressibleByDictionaryLiteral {
    /// The value, or the error of its encoding, which is thrown when the request is sent.
    let value: Result<JSONValue, any Error>

    /// Creates parameters from a JSON value.
    public init(_ value: JSONValue) { self.value = .success(value) }

    /// Creates parameters from keys and values. The last of duplicate keys counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self.init(.object(Dictionary(elements) { _, last in last }))
    }

    private init(value: Result<JSONValue, any Error>) { self.value = value }

    /// No parameters.
    public static var none: Self { [:] }

    /// Encodes a value: for a query or a form, one that is encoded as an object. By default with dates as ISO 8601.
    public static func encoding(_ value: some Encodable, using encoder: JSONEncoder? = nil) -> Self {
        Self(value: Result { try JSONValue.encoding(value, using: encoder) })
    }
}
