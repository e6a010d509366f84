public import Foundation
public import HTTPTypes

/// A complete response.
public struct NetworkResponse: Sendable, CustomStringConvertible {
    /// Where a response came from.
    public enum Source: Hashable, Sendable {
        /// The server sent it.
        case network
        /// The cache had a fresh response.
        case cache
        /// The cache had a stale response, and the server confirmed it with status 304.
        case revalidatedCache
    }

    /// The URL of the response: the request's, or that of the last redirect.
    public let url: URL
    /// The status.
    public let status: HTTPResponse.Status
    /// The header fields.
    public let headers: HTTPFields
    /// The body.
    public let data: Data
    /// Where the response came from.
    public let source: Source

    /// Creates a response, for example for an app's tests.
    public init(
        url: URL,
        status: HTTPResponse.Status,
        headers: HTTPFields = .init(),
        data: Data = Data(),
        source: Source = .network
    ) {
        (self.url, self.status, self.headers, self.data, self.source) = (url, status, headers, data, source)
    }

    /// URL, status and length, without secrets.
    public var description: String { "\(url.withoutSecrets): status \(status.code), \(data.count) bytes" }

    /// The body as text in the response's charset; by default UTF-8. A byte order mark at the beginning is left out.
    ///
    /// - Throws: ``NetworkError/undecodableText(_:charset:)`` when the charset is unknown or does not match the bytes.
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

    /// Decodes a value from the body, which by default is JSON, with dates as ISO 8601 or seconds since 2001.
    ///
    /// - Throws: a `DecodingError`.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self,
        using decoder: JSONDecoder? = nil
    ) throws -> Value {
        try (decoder ?? .forResponses).decode(type, from: data)
    }

    /// The body as JSON.
    ///
    /// - Throws: a `DecodingError`.
    public func json() throws -> JSONValue { try JSONValue(parsing: data) }
}

/// The head of a response: everything before its body.
package struct ResponseHead: Sendable {
    var url: URL
    var status: HTTPResponse.Status
    let headers: HTTPFields
    /// The different values of `Content-Length`; several are an error (RFC 9112 §6.3).
    let lengths: Set<Substring>
    /// Whether a complete body can be distinguished from a truncated one: it has a length or a framing, or is none.
    var announcesEnd = false
    var isRedirected = false

    package init(url: URL, status: HTTPResponse.Status, headers: HTTPFields, announcesEnd: Bool = false) {
        (self.url, self.status, self.headers, self.announcesEnd) = (url, status, headers, announcesEnd)
        lengths = Set(headers[values: .contentLength].flatMap { $0.split { ", \t".contains($0) } })
    }

    /// Whether the status allows a body (RFC 9110 §6.4.1).
    var mayHaveBody: Bool { ![204, 304].contains(status.code) }

    /// Whether the body has no length beforehand.
    var isChunked: Bool { headers[.transferEncoding]?.lowercased().contains("chunked") == true }

    /// The length of the body as it is sent.
    var length: Int64? { lengths.count == 1 ? lengths.first.flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil } : nil }

    /// Whether the response is a redirect (RFC 9110 §15.4) to another URL.
    var isRedirect: Bool {
        [300, 301, 302, 303, 307, 308].contains(status.code) && headers[.location] != nil
    }

    /// The length of the body in bytes; `nil` when it is unknown, for example because the body is compressed.
    var bodyCount: Int64? {
        guard headers[.contentEncoding].map({ $0.lowercased() == "identity" }) ?? true else { return nil }
        return length
    }
}

extension NetworkResponse {
    init(_ head: ResponseHead, _ data: Data) {
        self.init(url: head.url, status: head.status, headers: head.headers, data: data)
    }

    /// The beginning of a text body, for a one-line message. A page for people's browsers is none.
    var excerpt: String {
        let start = String(decoding: data.prefix(200), as: UTF8.self)
        // The prefix may end within a character.
        let text = start.hasSuffix("\u{FFFD}") ? start.dropLast() : start[...]
        let isMarkup = text.drop { $0.isWhitespace }.first == "<"
        guard !text.isEmpty, !isMarkup, !text.contains("\u{FFFD}") else { return "" }
        return ": \(String(text).withoutControls)"
    }
}

/// A `Content-Type` (RFC 9110 §8.3.1).
struct ContentType: Hashable, Sendable {
    /// The type without parameters, in lower case, such as `text/html`.
    var mediaType: String
    /// The value of the parameter `charset`.
    var charset: String?

    init?(_ field: String?) {
        guard let field else { return nil }
        let pieces = field.split(separator: ";", omittingEmptySubsequences: false)
        mediaType = pieces[0].trimmed.lowercased()
        guard mediaType.contains("/") else { return nil }
        for piece in pieces.dropFirst() {
            let pair = piece.split(separator: "=", maxSplits: 1)
            guard pair.count == 2, pair[0].trimmed.lowercased() == "charset" else { continue }
            charset = pair[1].trimmed.trimmingCharacters(in: ["\"", "'"]).lowercased()
        }
    }

    /// Whether the type matches a pattern such as `application/json`, `image/*` or `*/*`. `application/json` also
    /// matches types with the suffix `+json`, such as `application/problem+json` (RFC 6839 §3.1).
    func matches(_ pattern: String) -> Bool {
        let pattern = ContentType(pattern)?.mediaType ?? pattern.lowercased()
        if pattern == "*/*" || pattern == mediaType { return true }
        if pattern.hasSuffix("/*") { return mediaType.hasPrefix(pattern.dropLast()) }
        return pattern == "application/json" && mediaType.hasSuffix("+json")
    }

    /// The text encoding of the charset, by its IANA name or a common alias.
    var encoding: String.Encoding? { charset.map { Self.encodings[$0] } ?? .utf8 }

    private static let encodings: [String: String.Encoding] = [
        "utf-8": .utf8, "utf8": .utf8, "utf-16": .utf16, "utf-16be": .utf16BigEndian, "utf-16le": .utf16LittleEndian,
        "us-ascii": .ascii, "ascii": .ascii, "iso-8859-1": .isoLatin1, "iso_8859-1": .isoLatin1, "latin1": .isoLatin1,
        "iso-8859-2": .isoLatin2, "iso_8859-2": .isoLatin2, "latin2": .isoLatin2, "windows-1250": .windowsCP1250,
        "cp1250": .windowsCP1250, "windows-1251": .windowsCP1251, "cp1251": .windowsCP1251,
        "windows-1252": .windowsCP1252, "cp1252": .windowsCP1252, "shift_jis": .shiftJIS, "shift-jis": .shiftJIS,
        "sjis": .shiftJIS, "euc-jp": .japaneseEUC,
    ]
}

extension StringProtocol {
    /// Without spaces and tabs at its ends (RFC 9110 §5.6.3). Foundation takes several microseconds for that.
    var trimmed: String {
        let rest = utf8.drop { $0 == 0x20 || $0 == 0x09 }
        return String(decoding: rest.dropLast(rest.reversed().prefix { $0 == 0x20 || $0 == 0x09 }.count), as: UTF8.self)
    }
}
