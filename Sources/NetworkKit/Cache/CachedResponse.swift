import Foundation
import HTTPTypes

/// A stored response, with the metadata that its freshness is computed from (RFC 9111 §4.2).
struct CachedResponse: Sendable, Equatable, Codable {
    var status: Int
    var headers: HTTPFields
    /// The request fields that `Vary` names.
    var vary: Set<String>
    /// The keyed hash of the request's credentials, sensitive fields, and those fields.
    var identity: UInt64
    var requestTime: Date
    var responseTime: Date
    /// Not encoded with the rest.
    var body = Data()

    private enum CodingKeys: CodingKey { case status, headers, vary, identity, requestTime, responseTime }

    /// The approximate size in memory.
    var cost: Int {
        body.count + headers.reduce(256) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count + 16 }
    }

    var control: CacheControl { CacheControl(headers[.cacheControl]) }

    /// How old the response is (RFC 9111 §4.2.3).
    func age(at now: Date) -> Double {
        let date = headers.first(.date).flatMap { HTTPDate.parse($0) } ?? responseTime
        let apparent = max(0, responseTime.timeIntervalSince(date))
        let ageValue = headers.first(.age).map { HTTPDate.seconds($0) ?? 0 } ?? 0
        let corrected = ageValue + responseTime.timeIntervalSince(requestTime)
        // A clock that was set back does not make a response younger.
        return max(apparent, corrected) + max(0, now.timeIntervalSince(responseTime))
    }

    /// The freshness lifetime in seconds (RFC 9111 §4.2.1). If the server does not specify it: a tenth of the time
    /// since the last modification, at most a day, but at least the cache's default (§4.2.2).
    func freshness(default defaultFreshness: Double) -> Double {
        if let maxAge = control.maxAge { return maxAge }
        let date = headers.first(.date).flatMap { HTTPDate.parse($0) } ?? responseTime
        if let expires = headers.first(.expires) {
            return HTTPDate.parse(expires).map { max(0, $0.timeIntervalSince(date)) } ?? 0
        }
        let modified = headers.first(.lastModified).flatMap { HTTPDate.parse($0) }
        return max(defaultFreshness, modified.map { min(86_400, date.timeIntervalSince($0) / 10) } ?? 0)
    }

    /// Whether the response may be used without asking the server.
    func isFresh(for request: CacheControl, default defaultFreshness: Double, at now: Date) -> Bool {
        guard !control.noCache, !request.noCache else { return false }
        let age = age(at: now)
        if let maxAge = request.maxAge, age > maxAge { return false }
        return freshness(default: defaultFreshness) > age
    }

    var hasValidator: Bool { headers[.eTag] != nil || headers[.lastModified] != nil }

    /// The response with the header fields of a 304 (RFC 9111 §3.2), except those that describe the body; `nil` if the
    /// 304 is of something else (§4.3.4): the target of a redirect, or content with another tag and the same date.
    func updated(with response: ResponseHead, requestTime: Date, responseTime: Date) -> Self? {
        let tags = [headers, response.headers].compactMap { $0[.eTag]?.trimmingPrefix("W/") }
        // A head has no more than 5,000 fields, but each 304 may add other ones.
        guard !response.isRedirected, Set(tags).count <= 1, headers.count + response.headers.count <= 5000
        else { return nil }
        var copy = self
        let kept = [.contentLength, .contentEncoding, .contentRange, .transferEncoding, .setCookie] as [HTTPField.Name]
        let new = response.headers.filter { !kept.contains($0.name) }
        // The stored `Age` belongs to the old response.
        let replaced = Set(new.map(\.name) + [.age])
        copy.headers = HTTPFields(headers.filter { !replaced.contains($0.name) } + new)
        (copy.requestTime, copy.responseTime) = (requestTime, responseTime)
        return copy
    }
}

extension CachedResponse {
    /// The settings of the cache and the client.
    struct Rules: Sendable {
        var hash: KeyedHash
        var defaultFreshness: Double
        /// Whether requests may have cookies that are not in their fields.
        var keepsCookies = false
        /// The file of the client's certificate.
        var certificate: String?
    }

    /// Creates the entry for a response; `nil` when it must not be stored (RFC 9111 §3).
    init?(
        _ response: (head: ResponseHead, data: Data),
        to request: NetworkRequest,
        _ rules: Rules,
        requestTime: Date,
        responseTime: Date
    ) {
        let head = response.head
        let varying = (head.headers[.vary] ?? "").lowercased().split(separator: ",")
        let names = Set(varying.map(\.trimmed))
        guard [200, 203, 204, 404, 410].contains(head.status), !head.isRedirected, head.announcesEnd,
            !CacheControl(head.headers[.cacheControl]).noStore, !names.contains("*"),
            head.headers[.setCookie] == nil,
            // Another one to a request with cookies may be only for that user.
            !rules.keepsCookies || CacheControl(head.headers[.cacheControl]).isPublic && !names.contains("cookie")
        else { return nil }
        self.init(
            status: head.status.code,
            headers: head.headers,
            vary: names,
            identity: request.identity(names, rules),
            requestTime: requestTime,
            responseTime: responseTime,
            body: response.data
        )
        // An entry that could never be used is not stored.
        let isAskedFor = [.returnCacheDataElseLoad, .returnCacheDataDontLoad].contains(request.cachePolicy)
        guard hasValidator || isAskedFor || freshness(default: rules.defaultFreshness) > 0 else { return nil }
    }

    /// Whether the request has the same credentials and the same values of the fields that `Vary` names (RFC 9111
    /// §4.1).
    func matches(_ request: NetworkRequest, _ rules: Rules) -> Bool {
        identity == request.identity(vary, rules)
            && !(rules.keepsCookies && vary.contains("cookie"))
    }

    func answers(_ request: NetworkRequest, _ control: CacheControl, _ rules: Rules, at now: Date) -> Bool {
        switch request.cachePolicy {
        case .returnCacheDataElseLoad, .returnCacheDataDontLoad: true
        case .reloadRevalidatingCacheData: false
        default: isFresh(for: control, default: rules.defaultFreshness, at: now)
        }
    }
}

extension NetworkRequest {
    /// The key of the response in the cache; `nil` when it must not be stored.
    var cacheKey: String? {
        guard method == .get else { return nil }
        let own: [HTTPField.Name] = [
            .acceptEncoding, .range, .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince, .ifRange,
        ]
        return own.allSatisfy { headers[$0] == nil } ? url.absoluteString : nil
    }

    /// The conditional request that revalidates a stored response (RFC 9111 §4.3.1).
    func conditional(on kept: CachedResponse) -> NetworkRequest {
        var copy = self
        if let tag = kept.headers[.eTag] { copy.setHeader("If-None-Match", tag) }
        if let date = kept.headers[.lastModified] { copy.setHeader("If-Modified-Since", date) }
        return copy
    }

    /// The keyed hash of everything that identifies the user, and of the fields that `Vary` names.
    fileprivate func identity(_ vary: Set<String>, _ rules: CachedResponse.Rules) -> UInt64 {
        var parts = credentials.map { ["\($0.user)\u{0}\($0.password)"] } ?? [""]
        // A missing field differs from an empty one.
        for field in headers.sorted(by: { $0.name.canonicalName < $1.name.canonicalName })
        where isSensitive(field.name) || vary.contains(field.name.canonicalName) {
            parts.append("\(field.name.canonicalName)\u{0}\(field.value)")
        }
        if let certificate = rules.certificate { parts.append("certificate\u{0}\(certificate)") }
        return rules.hash(parts.joined(separator: "\u{1}"))
    }
}

/// The directives of `Cache-Control` (RFC 9111 §5.2), of a request or a response. A comma within quotation marks
/// separates them, too: it is only between names of fields, which are not names of directives (RFC 9111 §5.2.2).
struct CacheControl: Sendable {
    private(set) var noStore = false
    private(set) var noCache = false
    private(set) var isPublic = false
    /// The first of duplicates. An invalid value counts as 0: the response is stale (RFC 9111 §4.2.1).
    private(set) var maxAge: Double?

    init(_ field: String?) {
        for directive in (field ?? "").lowercased().split(separator: ",") {
            let pair = directive.split(separator: "=", maxSplits: 1).map {
                $0.trimmingCharacters(in: [" ", "\t", "\""])
            }
            switch pair.first {
            case "no-store": noStore = true
            case "no-cache": noCache = true
            case "public": isPublic = true
            case "max-age": maxAge = maxAge ?? HTTPDate.seconds(pair.last ?? "") ?? 0
            default: break
            }
        }
    }
}
