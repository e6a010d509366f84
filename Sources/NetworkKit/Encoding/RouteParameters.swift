public import Foundation

/// What a request says: in its query, in the fields of a form, or as a JSON body.
///
/// A dictionary of JSON values, or anything `Encodable`:
///
/// ```swift
/// .get("search", query: ["term": .string(term), "limit": 10])
/// .post("post", body: .json(.encoding(post)))
/// ```
public struct RouteParameters: Sendable, ExpressibleByDictionaryLiteral {
    /// The value, or why what was to be encoded could not be: the request that uses it fails with that.
    let value: Result<JSONValue, any Error>

    /// Takes a JSON value.
    public init(_ value: JSONValue) {
        self.value = .success(value)
    }

    /// Takes members.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self.init(.object(Dictionary(elements) { _, last in last }))
    }

    private init(value: Result<JSONValue, any Error>) {
        self.value = value
    }

    /// No parameters.
    public static var none: Self { [:] }

    /// Encodes a value. What it throws is thrown when the request is sent.
    ///
    /// - Parameters:
    ///   - value: the value; for a query or a form it must encode to an object.
    ///   - encoder: how to encode it; by default dates are written as in ISO 8601.
    public static func encoding(_ value: some Encodable, using encoder: JSONEncoder? = nil) -> Self {
        Self(value: Result { try JSONValue(encoding: value, using: encoder) })
    }
}
