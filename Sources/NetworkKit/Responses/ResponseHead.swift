import Foundation
import HTTPTypes

/// The head of a response: everything before its body.
struct ResponseHead: Sendable {
    var url: URL
    var status: HTTPResponse.Status
    var headers: HTTPFields
    /// Whether a complete body can be distinguished from a truncated one: it has a length, or is framed.
    var announcesEnd = false
    /// Whether libcurl added cookies to the request.
    var usedCookies = false
    var isRedirected = false

    /// Whether a complete body can be distinguished from a truncated one with HTTP/1.
    var hasEnd: Bool {
        if status.code == 204 || status.code == 304 { return true }
        if headers[.transferEncoding]?.lowercased().contains("chunked") == true { return true }
        return headers[.contentLength].flatMap { Int($0) } != nil
    }

    /// Whether the response is a redirect (RFC 9110 §15.4) to another URL.
    var isRedirect: Bool {
        [300, 301, 302, 303, 307, 308].contains(status.code) && headers[.location] != nil
    }

    /// The length of the body in bytes; `nil` when it is unknown, for example because the body is compressed.
    var bodyCount: Int64? {
        guard headers[.contentEncoding].map({ $0.lowercased() == "identity" }) ?? true else { return nil }
        return headers[.contentLength].flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
    }
}

extension NetworkResponse {
    init(_ head: ResponseHead, _ data: Data) {
        self.init(url: head.url, status: head.status, headers: head.headers, data: data)
    }
}
