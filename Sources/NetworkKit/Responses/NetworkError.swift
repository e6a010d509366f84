public import Foundation

/// Why a request failed. Cancelling one throws `CancellationError` instead.
public enum NetworkError: Error, Sendable, CustomStringConvertible {
    /// The request could not be made of what the route says.
    case invalidRequest(String)
    /// No whole response arrived: the server could not be reached, did not answer in time, or broke off.
    case transport(TransportFailure)
    /// The server redirected more often than the client follows.
    case tooManyRedirects(URL)
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

    /// What went wrong, with what, and what to do.
    public var description: String {
        switch self {
        case .invalidRequest(let problem):
            "the request cannot be made: \(problem)"
        case .transport(let failure):
            failure.description
        case .tooManyRedirects(let url):
            "\(url): redirected too often; the server sends the client round in a circle, or raise maximumRedirects"
        case .responseTooLarge(let url, let limit):
            "\(url): the response is longer than \(limit) bytes; raise maximumBodySize if it is meant to be"
        case .unacceptableStatus(let failure):
            "\(failure.url): status \(failure.status)\(failure.excerpt)"
        case .unacceptableContentType(let failure, let accepted):
            "\(failure.url): content type \(failure.headers["Content-Type"] ?? "missing"), "
                + "expected \(accepted.joined(separator: " or "))\(failure.excerpt)"
        case .undecodableText(let url, let charset):
            "\(url): the response is not text in the charset '\(charset)'; use `data`"
        case .notInCache(let url):
            "\(url): not in the cache, and the request may not use the network"
        }
    }
}

/// What is known of a request that got no whole response.
public struct TransportFailure: Sendable, CustomStringConvertible {
    /// The request's URL.
    public let url: URL
    /// What kind of failure it is, such as `.timedOut` or `.cannotConnectToHost`.
    public let code: URLError.Code
    /// What the system says of it.
    public let reason: String

    /// URL, reason and code.
    public var description: String { "\(url): \(reason) (URLError \(code.rawValue))" }
}

/// What is known of a response that was not accepted.
public struct ResponseFailure: Sendable {
    /// The request's URL, or the one that it was redirected to.
    public let url: URL
    /// The status.
    public let status: Int
    /// The header fields.
    public let headers: ResponseHeaders
    /// The first 4 KiB of the body.
    public let bodyStart: Data

    init(_ response: NetworkResponse) {
        url = response.url
        status = response.status
        headers = response.headers
        bodyStart = Data(response.data.prefix(4096))
    }

    /// The beginning of a body that is text, for a message of one line.
    var excerpt: String {
        guard let text = String(data: bodyStart.prefix(200), encoding: .utf8), !text.isEmpty else { return "" }
        let line = text.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : String($0) }.joined()
        return ": \(line)"
    }
}
