import Foundation
import HTTPTypes

/// The head of a response: everything before its body.
struct ResponseHead: Sendable {
    var url: URL
    var status: HTTPResponse.Status
    var headers: HTTPFields
    /// Whether a complete body can be distinguished from a truncated one: it has a length, or is framed.
    var announcesEnd: Bool
    /// Whether libcurl added cookies to the request.
    var usedCookies = false
    var isRedirected = false

    /// The length of the body in bytes; `nil` when it is unknown, for example because the body is compressed.
    var bodyCount: Int64? {
        guard headers[.contentEncoding].map({ $0.lowercased() == "identity" }) ?? true else { return nil }
        return headers[.contentLength].flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
    }
}

/// A complete response from the network.
struct ReceivedResponse: Sendable {
    var head: ResponseHead
    var data: Data
    var metrics: NetworkMetrics?
}

extension NetworkResponse {
    init(_ response: ReceivedResponse, source: Source = .network) {
        self.init(
            url: response.head.url,
            status: response.head.status,
            headers: response.head.headers,
            data: response.data,
            source: source
        )
        metrics = response.metrics
    }
}
