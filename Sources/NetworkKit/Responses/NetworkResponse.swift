public import Foundation
public import HTTPTypes

/// A whole response.
public struct NetworkResponse: Sendable, CustomStringConvertible {
    /// Where a response came from.
    public enum Source: Hashable, Sendable {
        /// The server sent it.
        case network
        /// It was in the cache, and fresh: the server was not asked.
        case cache
        /// It was in the cache, and the server said with status 304 that it still holds.
        case revalidatedCache
    }

    /// The URL that answered: the request's, or the one that it was redirected to.
    public let url: URL
    /// The status.
    public let status: HTTPResponse.Status
    /// The header fields.
    public let headers: HTTPFields
    /// The body.
    public let data: Data
    /// Where the response came from.
    public let source: Source

    /// Makes a response, as tests of an app need it.
    public init(
        url: URL,
        status: HTTPResponse.Status,
        headers: HTTPFields = .init(),
        data: Data = Data(),
        source: Source = .network
    ) {
        self.url = url
        self.status = status
        self.headers = headers
        self.data = data
        self.source = source
    }

    /// URL, status and length, without secrets.
    public var description: String { "\(url.withoutSecrets): status \(status.code), \(data.count) bytes" }

    /// The body as text, in the charset that the response names, and in UTF-8 if it names none. A byte order mark at
    /// the beginning is left out.
    ///
    /// - Throws: ``NetworkError/undecodableText(_:charset:)`` when the charset is not known, or the bytes are not text
    ///   in it.
    public func string() throws -> String {
        let type = ContentType(headers[.contentType])
        let charset = type?.charset ?? "utf-8"
        let encoding = type == nil ? .utf8 : type?.encoding
        let bytes = encoding == .utf8 && data.starts(with: [0xEF, 0xBB, 0xBF]) ? data.dropFirst(3) : data
        guard let encoding, let text = String(data: bytes, encoding: encoding) else {
            throw NetworkError.undecodableText(url, charset: charset)
        }
        return text
    }

    /// Decodes a type from the body, which is JSON unless the decoder reads something else.
    ///
    /// - Throws: a `DecodingError`.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self,
        using decoder: JSONDecoder? = nil
    ) throws -> Value {
        try (decoder ?? JSONDecoder()).decode(type, from: data)
    }

    /// The body as JSON.
    ///
    /// - Throws: ``JSONSyntaxError``.
    public func json() throws -> JSONValue {
        try JSONValue(parsing: data)
    }
}
