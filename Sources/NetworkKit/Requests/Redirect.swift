import Foundation
import HTTPTypes

extension NetworkRequest {
    /// The request that follows a redirect (RFC 9110 §15.4), as `curl -L` sends it, and whether it has the same body;
    /// `nil` when the response is not a redirect, or none is followed.
    func redirected(by head: ResponseHead) throws(NetworkError) -> (request: NetworkRequest, keepsBody: Bool)? {
        guard followsRedirects, head.isRedirect, let location = head.location else { return nil }
        let target = URL(string: location, relativeTo: url)?.absoluteString
        var parts = target.flatMap { URLComponents(string: $0) } ?? URLComponents()
        // The server must not choose the credentials.
        (parts.user, parts.password, parts.fragment) = (nil, nil, nil)
        guard let next = parts.url, (try? next.requireHTTP()) != nil else {
            throw .invalidRedirect(url, location: String(location.prefix(200)))
        }
        var copy = self
        copy.url = next
        if next.origin != url.origin {
            copy.credentials = nil
            copy.setHeader("Host", nil)
            for field in headers where isSensitive(field.name) { copy.setHeader(field.name.rawName, nil) }
        }
        let isMoved = [301, 302].contains(head.status.code)
        guard isMoved && method == .post || head.status == .seeOther && method != .head else { return (copy, true) }
        copy.method = .get
        for field in headers where field.name.canonicalName.hasPrefix("content-") {
            copy.setHeader(field.name.rawName, nil)
        }
        return (copy, false)
    }
}

extension ResponseHead {
    /// The first `Location`, whose bytes the server gets back, also those that are not UTF-8.
    fileprivate var location: String? {
        headers[fields: .location].first?.withUnsafeBytesOfValue { bytes in
            String(validating: bytes, as: UTF8.self)
                ?? bytes.reduce(into: "") { $0 += $1 < 0x80 ? String(UnicodeScalar($1)) : "%" + String($1, radix: 16) }
        }
    }
}

extension URL {
    /// Scheme, host and port (RFC 6454 §4).
    var origin: [String] {
        let scheme = scheme?.lowercased() ?? ""
        // Without percent encodings, which libcurl decodes.
        let host = host(percentEncoded: false) ?? ""
        return [scheme, host.lowercased(), String(port ?? (scheme == "https" ? 443 : 80))]
    }
}

extension String {
    /// The name of a host as settings for hosts are compared: in lower case, an international one encoded, without the
    /// brackets of an IPv6 address and the dot at the end.
    var canonicalHost: String {
        let name = drop { $0 == "[" }.prefix { $0 != "]" }.lowercased()
        guard !name.contains(":") else { return name }
        var parts = URLComponents()
        parts.host = name
        let encoded = parts.encodedHost ?? name
        return encoded.hasSuffix(".") ? String(encoded.dropLast()) : encoded
    }
}
