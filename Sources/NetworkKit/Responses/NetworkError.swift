public import Foundation
public import HTTPTypes

/// Why a request failed. Cancelling one throws `CancellationError` instead.
///
/// Descriptions are for logs and people: they have no control characters from a server, and no passwords or query
/// values.
public enum NetworkError: Error, Sendable, CustomStringConvertible {
    /// The request could not be made of what the route or an interceptor says.
    case invalidRequest(String)
    /// No whole response arrived: the server could not be reached, did not answer in time, or broke off.
    case transport(TransportFailure)
    /// The server redirected more often than the client follows: the URLs that were asked, in order.
    case tooManyRedirects([URL])
    /// The server redirected to what is not an http or https URL.
    case invalidRedirect(URL, location: String)
    /// The response's body is longer than the client takes.
    case responseTooLarge(URL, limit: Int)
    /// The response's status is not one of the accepted.
    case unacceptableStatus(ResponseFailure)
    /// The response's content type is not one of the accepted.
    case unacceptableContentType(ResponseFailure, accepted: [String])
    /// The response's bytes are not text in the charset that it names.
    case undecodableText(URL, charset: String)
    /// Only the cache was to answer, and it does not have the response.
    case notInCache(URL)
    /// The file for a download could not be written.
    case unwritable(URL, reason: String)

    /// What went wrong, with what, and what to do.
    public var description: String {
        switch self {
        case .invalidRequest(let problem):
            "the request cannot be made: \(problem.withoutControls)"
        case .transport(let failure):
            failure.description
        case .tooManyRedirects(let urls):
            Self.describe(redirects: urls)
        case .invalidRedirect(let url, let location):
            "\(url.withoutSecrets): redirected to '\(location.withoutControls)', which is not an http or https URL"
        case .responseTooLarge(let url, let limit):
            "\(url.withoutSecrets): the response is longer than \(limit) bytes; raise maximumBodySize if it is meant "
                + "to be, or download it to a file"
        case .unacceptableStatus(let failure):
            failure.description
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

    private static func describe(redirects urls: [URL]) -> String {
        let count = "redirected \(urls.count) times"
        guard let last = urls.last else { return count }
        guard let earlier = urls.dropLast().lastIndex(of: last) else {
            return "\(last.withoutSecrets): \(count); raise maximumRedirects if that is meant to be"
        }
        let loop = urls[earlier...].prefix(5).map(\.withoutSecrets).joined(separator: " → ")
        return "\(last.withoutSecrets): \(count), in a loop: \(loop)"
    }
}

/// What is known of a request that got no whole response.
public struct TransportFailure: Sendable, CustomStringConvertible {
    /// What kind of failure it is.
    public enum Kind: Hashable, Sendable {
        /// The name of the host, or of the proxy, has no address.
        case cannotFindHost
        /// Nothing listens there, or it cannot be reached.
        case cannotConnect
        /// Nothing happened for as long as the request's timeout.
        case timedOut
        /// The request took longer than its time limit.
        case timeLimitExceeded
        /// The connection ended before the response.
        case connectionLost
        /// The connection ended in the middle of the response's body.
        case incompleteBody
        /// The connection could not be made secure, or the server's certificate is not trusted.
        case insecure
        /// What the server sent is not HTTP, or breaks its rules or the client's limits.
        case invalidResponse
        /// Something else.
        case other
    }

    /// The request's URL.
    public let url: URL
    /// What kind of failure it is.
    public let kind: Kind
    /// What is known of the cause, without control characters.
    public let reason: String

    init(url: URL, kind: Kind, reason: String) {
        self.url = url
        self.kind = kind
        self.reason = reason.withoutControls
    }

    /// URL, reason and kind.
    public var description: String { "\(url.withoutSecrets): \(reason) (\(kind))" }
}

/// What is known of a response that was not accepted.
public struct ResponseFailure: Sendable, CustomStringConvertible {
    /// The request's URL, or the one that it was redirected to.
    public let url: URL
    /// The status.
    public let status: HTTPResponse.Status
    /// The header fields.
    public let headers: HTTPFields
    /// The first 4 KiB of the body.
    public let bodyStart: Data

    init(_ response: NetworkResponse) {
        url = response.url
        status = response.status
        headers = response.headers
        bodyStart = Data(response.data.prefix(4096))
    }

    /// URL, status and the beginning of the body, on one line.
    public var description: String { "\(url.withoutSecrets): status \(status.code)\(excerpt)" }

    /// The beginning of a body that is text, for a message of one line.
    var excerpt: String {
        let start = String(decoding: bodyStart.prefix(200), as: UTF8.self)
        // Of a character that was cut in two, the first part is left out.
        let text = start.hasSuffix("\u{FFFD}") ? start.dropLast() : start[...]
        guard !text.isEmpty, !text.contains("\u{FFFD}") else { return "" }
        return ": \(String(text).withoutControls)"
    }
}
