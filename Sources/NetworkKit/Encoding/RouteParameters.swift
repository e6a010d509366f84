public import Foundation

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
