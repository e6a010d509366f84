import Foundation
import FoundationNetworking

extension CachedResponse {
    /// The response as it is kept; `nil` when it must not be (RFC 9111 §3).
    init?(_ response: TransportResponse, to request: URLRequest, requestTime: Date, responseTime: Date) {
        let control = CacheControl(response.headers["Cache-Control"])
        let vary = response.headers["Vary"]
        guard let url = request.url, [200, 203, 204, 404, 410].contains(response.status), !response.isRedirected,
            !control.noStore, vary?.contains("*") != true, response.isKnownToBeWhole
        else { return nil }
        var fields = ["authorization": request.value(forHTTPHeaderField: "Authorization") ?? ""]
        for name in (vary ?? "").split(separator: ",") {
            let name = name.trimmingCharacters(in: .whitespaces).lowercased()
            fields[name] = request.value(forHTTPHeaderField: name) ?? ""
        }
        self.init(
            metadata: Metadata(
                url: URL(string: url.cacheKey) ?? url,
                status: response.status,
                headers: response.headers,
                vary: fields,
                requestTime: requestTime,
                responseTime: responseTime
            ),
            body: response.data
        )
        // What could never be used again is not kept.
        guard hasValidator || freshness > 0 else { return nil }
    }

    /// Whether the response was given to a request with the same fields, as far as they matter (RFC 9111 §4.1).
    func matches(_ request: URLRequest) -> Bool {
        metadata.vary.allSatisfy { (request.value(forHTTPHeaderField: $0.key) ?? "") == $0.value }
    }

    func answers(_ request: URLRequest, _ control: CacheControl, at now: Date) -> Bool {
        switch request.cachePolicy {
        case .returnCacheDataElseLoad, .returnCacheDataDontLoad: true
        case .reloadRevalidatingCacheData: false
        default: isFresh(for: control, at: now)
        }
    }
}

extension NetworkResponse {
    init(_ response: CachedResponse, source: Source) {
        self.init(
            url: response.metadata.url,
            status: response.metadata.status,
            headers: response.metadata.headers,
            data: response.body,
            source: source
        )
    }
}

extension TransportResponse {
    /// Whether the end of the body is known to be its end: it has the announced length, or came in chunks, of which the last says so.
    /// A body that ends with the connection may have been cut. (Of a compressed body the session itself checks the length.)
    var isKnownToBeWhole: Bool {
        if headers["Transfer-Encoding"]?.lowercased().contains("chunked") == true { return true }
        if status == 204 { return true }
        guard let length = headers["Content-Length"].flatMap(Int.init) else { return false }
        let isDecoded = headers["Content-Encoding"].map { $0.lowercased() != "identity" } ?? false
        return isDecoded || length == data.count
    }
}

extension URLRequest {
    /// What a response to the request is kept under; `nil` when none is.
    var cacheKey: String? {
        guard httpMethod == "GET", cachePolicy != .reloadIgnoringLocalAndRemoteCacheData else { return nil }
        let own = ["Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range"]
        guard own.allSatisfy({ value(forHTTPHeaderField: $0) == nil }) else { return nil }
        return url?.cacheKey
    }

    /// Whether the request, when it succeeds, makes what is kept of its URL out of date (RFC 9111 §4.4).
    var removesWhatIsKept: Bool { !HTTPMethod(rawValue: httpMethod ?? "GET").isSafe }

    /// The request that asks whether a response still holds (RFC 9111 §4.3.1).
    func conditional(on kept: CachedResponse?) -> URLRequest {
        var copy = self
        if let tag = kept?.metadata.headers["ETag"] { copy.setValue(tag, forHTTPHeaderField: "If-None-Match") }
        if let date = kept?.metadata.headers["Last-Modified"] {
            copy.setValue(date, forHTTPHeaderField: "If-Modified-Since")
        }
        return copy
    }
}

extension URLRequest.CachePolicy {
    var mayUseKept: Bool {
        switch self {
        case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData: false
        default: true
        }
    }
}

extension URL {
    /// The URL without its fragment, which is not sent.
    var cacheKey: String {
        guard var components = URLComponents(url: self, resolvingAgainstBaseURL: true), components.fragment != nil
        else {
            return absoluteURL.absoluteString
        }
        components.fragment = nil
        return components.string ?? absoluteString
    }
}
