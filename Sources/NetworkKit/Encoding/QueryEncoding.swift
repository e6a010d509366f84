/// How parameters are written in a query or a form, in the variants that servers differ in.
///
/// Keys are in the order of their Unicode code points, elements of arrays in their own. What is `null` is left out.
/// Everything but unreserved characters is percent-encoded (RFC 3986 §2), the brackets of nested keys too.
public struct QueryEncoding: Hashable, Sendable {
    /// How the elements of an array are named.
    public enum Arrays: Hashable, Sendable {
        /// `c[]=1&c[]=2`, as PHP and Rails read it.
        case brackets
        /// `c=1&c=2`.
        case none
        /// `c[0]=1&c[1]=2`.
        case indices
    }

    /// How the members of an object within another are named.
    public enum Objects: Hashable, Sendable {
        /// `a[b]=1`.
        case brackets
        /// `a.b=1`.
        case dots
    }

    /// How booleans are written.
    public enum Booleans: Hashable, Sendable {
        /// `1` and `0`.
        case numbers
        /// `true` and `false`.
        case words
    }

    /// How spaces are written.
    public enum Spaces: Hashable, Sendable {
        /// `%20`, which is right everywhere in a URL.
        case percent
        /// `+`, as HTML forms do.
        case plus
    }

    /// How the elements of an array are named.
    public var arrays: Arrays
    /// How the members of an object within another are named.
    public var objects: Objects
    /// How booleans are written.
    public var booleans: Booleans
    /// How spaces are written.
    public var spaces: Spaces

    /// Makes an encoding.
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

    /// What queries use by default: brackets, `1` and `0`, `%20`.
    public static var query: Self { Self() }
    /// What form bodies use by default: brackets, `1` and `0`, `+`.
    public static var form: Self { Self(spaces: .plus) }

    /// The parameters as `key=value&key=value`.
    ///
    /// - Throws: ``NetworkError/invalidRequest(_:)`` when they are not an object, or what their encoding threw.
    public func encode(_ parameters: RouteParameters) throws -> String {
        switch try parameters.value.get() {
        case .object(let members):
            var pairs: [String] = []
            append(members, prefix: nil, to: &pairs)
            return pairs.joined(separator: "&")
        case .null:
            return ""
        case let other:
            throw NetworkError.invalidRequest(
                "a query or form needs named parameters, and \(other.serialized.prefix(80)) has no names; "
                    + "give an object"
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
            for (index, element) in elements.enumerated() {
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
