public import Foundation
public import HTTPTypes

/// Why a request failed. A cancelled request throws `CancellationError` instead.
///
/// Descriptions are safe to log: they contain no control characters from a server, no passwords and no query values.
public enum NetworkError: LocalizedError, Sendable, CustomStringConvertible {
    /// The route or an interceptor describes an invalid request.
    case invalidRequest(String)
    /// No complete response arrived: the server could not be reached, did not respond in time, or closed the
    /// connection.
    case transport(TransportFailure)
    /// The server redirected too often; the requested URLs in order.
    case tooManyRedirects([URL])
    /// The server redirected to something other than an http or https URL.
    case invalidRedirect(URL, location: String)
    /// The response's body is longer than the client allows.
    case responseTooLarge(URL, limit: Int)
    /// The response's status is not accepted.
    case unacceptableStatus(ResponseFailure)
    /// The response's content type is not accepted.
    case unacceptableContentType(ResponseFailure, accepted: [String])
    /// The response's body is not text in its charset.
    case undecodableText(URL, charset: String)
    /// The request may only be answered from the cache, which does not have the response.
    case notInCache(URL)
    /// A file could not be written.
    case unwritable(URL, reason: String)

    /// The ``description``, also as `localizedDescription`.
    public var errorDescription: String? { description }

    /// The problem, the URL, and what to do.
    public var description: String {
        switch self {
        case .invalidRequest(let problem): "invalid request: \(problem.withoutControls)"
        case .transport(let failure): failure.description
        case .tooManyRedirects(let urls):
            "\(urls.last?.withoutSecrets ?? ""): redirected \(urls.count) times, "
                + (Set(urls).count < urls.count ? "in a loop" : "raise maximumRedirects to allow more")
        case .invalidRedirect(let url, let location):
            "\(url.withoutSecrets): redirected to '\(URL(string: location)?.withoutSecrets ?? "an invalid URL")', "
                + "which is not an http or https URL"
        case .responseTooLarge(let url, let limit):
            "\(url.withoutSecrets): the response is longer than \(limit) bytes; raise maximumBodySize "
                + "or download it to a file"
        case .unacceptableStatus(let failure): failure.description
        case .unacceptableContentType(let failure, let accepted):
            "\(failure.url.withoutSecrets): content type "
                + "\((failure.headers[.contentType] ?? "missing").withoutControls), "
                + "expected \(accepted.joined(separator: " or "))\(failure.excerpt)"
        case .undecodableText(let url, let charset):
            "\(url.withoutSecrets): the response is not text in the charset '\(charset.withoutControls)'; use `data`"
        case .notInCache(let url):
            "\(url.withoutSecrets): not in the cache, and the request may not use the network"
        case .unwritable(let file, let reason):
            "the file '\(file.path.withoutControls)' cannot be written: \(reason)"
        }
    }
}

/// A request without a complete response.
public struct TransportFailure: Sendable, CustomStringConvertible {
    /// The kind of failure.
    public enum Kind: Hashable, Sendable {
        /// The name of the host, or of the proxy, has no address.
        case cannotFindHost
        /// The host refuses connections or cannot be reached.
        case cannotConnect
        /// No data was transferred within the request's timeout.
        case timedOut
        /// The request took longer than its time limit.
        case timeLimitExceeded
        /// The connection ended before the response.
        case connectionLost
        /// The connection ended in the middle of the response's body.
        case incompleteBody
        /// The TLS handshake failed, or the server's certificate is not trusted.
        case insecure
        /// The response is not valid HTTP, or exceeds a limit of the client.
        case invalidResponse
        /// Another failure.
        case other
    }

    /// The request's URL.
    public let url: URL
    /// The kind of failure.
    public let kind: Kind
    /// The cause, without control characters.
    public let reason: String

    package init(url: URL, kind: Kind, reason: String) {
        self.url = url
        self.kind = kind
        self.reason = reason.withoutControls
    }

    /// URL and reason.
    public var description: String { "\(url.withoutSecrets): \(reason)" }
}

/// A response that was not accepted.
public struct ResponseFailure: Sendable, CustomStringConvertible {
    /// The request's URL, or that of the last redirect.
    public let url: URL
    /// The status.
    public let status: HTTPResponse.Status
    /// The header fields.
    public let headers: HTTPFields
    /// The first 4 KiB of the body.
    public let bodyStart: Data

    /// URL, status and the beginning of the body, on one line.
    public var description: String { "\(url.withoutSecrets): status \(status.code)\(excerpt)" }

    /// The beginning of a text body, for a one-line message. A page for people's browsers is none.
    var excerpt: String {
        let start = String(decoding: bodyStart.prefix(200), as: UTF8.self)
        // The prefix may end within a character.
        let text = start.hasSuffix("\u{FFFD}") ? start.dropLast() : start[...]
        let isMarkup = text.drop { $0.isWhitespace }.first == "<"
        guard !text.isEmpty, !isMarkup, !text.contains("\u{FFFD}") else { return "" }
        return ": \(String(text).withoutControls)"
    }
}

extension String {
    /// The text with control characters, line separators and formatting characters, such as those that change the
    /// writing direction, replaced by spaces.
    var withoutControls: String {
        if utf8.allSatisfy({ 0x20..<0x7F ~= $0 }) { return self }
        var safe = String.UnicodeScalarView()
        for scalar in unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: safe.append(" ")
            default: safe.append(scalar)
            }
        }
        return String(safe)
    }
}

extension URL {
    /// The URL without user name, password and query values, for messages.
    var withoutSecrets: String {
        guard var parts = URLComponents(url: self, resolvingAgainstBaseURL: true) else { return "an invalid URL" }
        (parts.user, parts.password, parts.fragment) = (nil, nil, nil)
        let hasQuery = parts.query?.isEmpty == false
        parts.query = nil
        return (parts.string ?? "an invalid URL").withoutControls + (hasQuery ? "?…" : "")
    }
}
