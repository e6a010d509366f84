public import Foundation
import HTTPTypes
import IndicatorCore

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
    /// The response's status is not accepted. Of a stream or a download, it has the first piece of the body.
    case unacceptableStatus(NetworkResponse)
    /// The response's content type is not accepted.
    case unacceptableContentType(NetworkResponse, accepted: [String])
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
            "\(urls.last?.withoutSecrets ?? ""): redirected \(urls.count) times"
                + (Set(urls).count < urls.count ? ", in a loop" : "")
        case .invalidRedirect(let url, let location):
            "\(url.withoutSecrets): redirected to '\(URL(string: location)?.withoutSecrets ?? "an invalid URL")', "
                + "which is not an http or https URL"
        case .responseTooLarge(let url, let limit):
            "\(url.withoutSecrets): the response is longer than \(limit) bytes; raise maximumBodySize "
                + "or download it to a file"
        case .unacceptableStatus(let response):
            "\(response.url.withoutSecrets): status \(response.status.code)\(response.excerpt)"
        case .unacceptableContentType(let response, let accepted):
            "\(response.url.withoutSecrets): content type "
                + "\((response.headers[.contentType] ?? "missing").withoutControls), "
                + "expected \(accepted.joined(separator: " or "))\(response.excerpt)"
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
        (self.url, self.kind, self.reason) = (url, kind, reason.withoutControls)
    }

    /// URL and reason.
    public var description: String { "\(url.withoutSecrets): \(reason)" }
}

extension String {
    /// The text on one line, without control characters and those that change the writing direction.
    var withoutControls: String { SafeText.singleLine(self, limit: 4000) }
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
