import Foundation

/// A response that is kept, with what is needed to know how long it holds (RFC 9111 §4.2).
struct CachedResponse: Sendable, Equatable {
    struct Metadata: Sendable, Equatable, Codable {
        var url: URL
        var status: Int
        var headers: ResponseHeaders
        /// The fields of the request that `Vary` names, and what they were.
        var vary: [String: String]
        var requestTime: Date
        var responseTime: Date
    }

    var metadata: Metadata
    var body: Data

    /// What the entry counts for: its body, and what its description takes, roughly.
    var cost: Int {
        body.count + metadata.headers.all.reduce(256) { $0 + $1.key.utf8.count + $1.value.utf8.count + 16 }
    }

    var control: CacheControl { CacheControl(metadata.headers["Cache-Control"]) }

    /// How old the response is (RFC 9111 §4.2.3).
    func age(at now: Date) -> Double {
        let date = metadata.headers["Date"].flatMap(HTTPDate.parse) ?? metadata.responseTime
        let apparent = max(0, metadata.responseTime.timeIntervalSince(date))
        let said = metadata.headers["Age"].flatMap(Double.init).map { max(0, $0) } ?? 0
        let corrected = said + metadata.responseTime.timeIntervalSince(metadata.requestTime)
        // A clock that was put back makes no response younger.
        return max(apparent, corrected) + max(0, now.timeIntervalSince(metadata.responseTime))
    }

    /// How long the response holds (RFC 9111 §4.2.1). Without a word of the server a tenth of the time since it was last modified,
    /// at most a day (§4.2.2).
    var freshness: Double {
        let headers = metadata.headers
        if let maxAge = control.maxAge { return maxAge }
        let date = headers["Date"].flatMap(HTTPDate.parse) ?? metadata.responseTime
        if let expires = headers["Expires"] {
            return HTTPDate.parse(expires).map { max(0, $0.timeIntervalSince(date)) } ?? 0
        }
        guard let modified = headers["Last-Modified"].flatMap(HTTPDate.parse) else { return 0 }
        return min(86_400, max(0, date.timeIntervalSince(modified) / 10))
    }

    /// Whether the response may be used without asking the server.
    func isFresh(for request: CacheControl, at now: Date) -> Bool {
        guard !control.noCache, !request.noCache else { return false }
        let age = age(at: now)
        if let maxAge = request.maxAge, age > maxAge { return false }
        let remaining = freshness - age - (request.minFresh ?? 0)
        if remaining > 0 { return true }
        guard let maxStale = request.maxStale, !control.mustRevalidate else { return false }
        return -remaining <= maxStale
    }

    var hasValidator: Bool { metadata.headers["ETag"] != nil || metadata.headers["Last-Modified"] != nil }

    /// The response with what a 304 says anew (RFC 9111 §3.2): all fields but those that describe the body that was not sent.
    func updated(with response: TransportResponse, requestTime: Date, responseTime: Date) -> Self {
        var copy = self
        // The stored age counts from the old response.
        copy.metadata.headers["Age"] = nil
        for (name, value) in response.headers.all
        where !["content-length", "content-encoding", "content-range", "transfer-encoding"].contains(name) {
            copy.metadata.headers[name] = value
        }
        copy.metadata.requestTime = requestTime
        copy.metadata.responseTime = responseTime
        return copy
    }
}
