public import Foundation
public import HTTPTypes

/// A request without its body, as an interceptor can change it.
public struct NetworkRequest: Sendable {
    /// The URL. User name and password of a route's URL are moved to ``credentials``.
    public var url: URL
    /// The method.
    public var method: HTTPRequest.Method
    /// The header fields. Change them with ``setHeader(_:_:isSensitive:)``.
    public private(set) var headers = HTTPFields()
    /// The credentials.
    public var credentials: Credentials?
    /// As in ``Endpoint/timeout``.
    public var timeout: Duration? = .seconds(60)
    /// As in ``Endpoint/timeLimit``.
    public var timeLimit: Duration?
    /// How the request uses the response cache.
    public var cachePolicy = CachePolicy.useProtocolCachePolicy
    /// What the caller has said about fields.
    private var sensitivity: [HTTPField.Name: Bool] = [:]
    private var problem: NetworkError?
    /// Whether a redirect is followed.
    var followsRedirects = true
    /// When the attempt fails if it has not ended.
    private(set) var deadline: ContinuousClock.Instant?
    /// The first byte of the requested range, if a download continues.
    var start: Int64 = 0
    /// Replaces the token that was sent.
    var refresh: (@Sendable () async throws -> Void)?

    init(url: URL, method: HTTPRequest.Method) {
        self.url = url
        self.method = method
    }

    /// Sets a header field; `nil` removes it. An invalid name or value is an error of the request (RFC 9110 §5.1 and
    /// §5.5).
    ///
    /// `isSensitive` is whether the value is a secret; `nil`: each one, except of fields that HTTP defines for content,
    /// conditions, preferences and caching, or that identify a request for tracing. A secret is not sent to another
    /// origin and not included in descriptions, and the cache uses the response only for requests with the same secret.
    /// `Authorization`, `Proxy-Authorization` and `Cookie` are always secrets.
    public mutating func setHeader(_ name: String, _ value: String?, isSensitive: Bool? = nil) {
        guard let fieldName = HTTPField.Name(name) else {
            problem = .invalidRequest("'\(name)' is not the name of a header field (RFC 9110 §5.1)")
            return
        }
        guard !Self.ownNames.contains(fieldName) else {
            problem = .invalidRequest("the header field '\(name)' is set by the client itself")
            return
        }
        let value = value?.trimmed
        if let value, !HTTPField.isValidValue(value) {
            problem = .invalidRequest("the header field '\(name)' contains a control character (RFC 9110 §5.5)")
            return
        }
        headers[fieldName] = value
        if fieldName == .authorization { refresh = nil }
        if let isSensitive { sensitivity[fieldName] = isSensitive }
    }

    /// The length of the body: a wrong one would allow request smuggling. libcurl may repeat a request with `Expect`.
    private static let ownNames: Set<HTTPField.Name> = [.contentLength, .transferEncoding, .expect]

    /// Names of header fields, also of responses, whose values are no secrets. For any other, a server could have one.
    private static let plainNames = Set(
        """
        accept accept-charset accept-encoding accept-language accept-ranges age allow alt-svc cache-control connection
        content-disposition content-encoding content-language content-length content-location content-md5 content-range
        content-type date etag expect expires if-match if-modified-since if-none-match if-range if-unmodified-since
        last-modified max-forwards pragma prefer priority range retry-after server strict-transport-security te trailer
        traceparent tracestate transfer-encoding upgrade upgrade-insecure-requests user-agent vary via www-authenticate
        x-b3-sampled x-b3-spanid x-b3-traceid x-correlation-id x-request-id x-requested-with
        """.split(whereSeparator: \.isWhitespace)
    )

    func isSensitive(_ name: HTTPField.Name) -> Bool {
        if [.authorization, .proxyAuthorization, .cookie].contains(name) { return true }
        return sensitivity[name] ?? !Self.plainNames.contains(name.canonicalName[...])
    }

    /// Whether a compressed body is decompressed: not one whose encoding or range the route has asked for.
    var decodesBody: Bool { headers[.acceptEncoding] == nil && headers[.range] == nil }

    /// Validates the request after the interceptors, begins its time limit, and moves the URL's credentials to
    /// ``credentials``.
    func checked() throws(NetworkError) -> Self {
        if let problem { throw problem }
        var copy = self
        try url.requireHTTP()
        // Otherwise, nothing has to be moved, and URLComponents take long.
        if url.baseURL != nil || url.absoluteString.utf8.contains(where: { "@#".utf8.contains($0) }),
            var parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
        {
            if let user = parts.user {
                copy.credentials = credentials ?? Credentials(user: user, password: parts.password ?? "")
            }
            (parts.user, parts.password, parts.fragment) = (nil, nil, nil)
            copy.url = parts.url ?? url
        }
        // libcurl would end them at a NUL, and Digest would send a line break as it is.
        if let used = copy.credentials, (used.user + used.password).utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
            throw .invalidRequest("the user name or the password contains a control character (RFC 7617 §2)")
        }
        copy.timeout = timeout.map { min($0, .seconds(1_000_000_000)) }
        copy.deadline = timeLimit.map { .now + min($0, .seconds(1_000_000_000)) }
        for case let (name, limit?) in [("timeout", timeout), ("time limit", timeLimit)] where limit <= .zero {
            throw .invalidRequest("the \(name) must be positive, not \(limit)")
        }
        return copy
    }
}

extension HTTPFields {
    /// The first value of a field that may have one only, also of a list (RFC 9111 §4.2.1).
    func first(_ name: HTTPField.Name) -> String? {
        let value = self[fields: name].first?.value
        // A date has a comma.
        return name == .age ? value?.split(separator: ",").first?.trimmed : value
    }
}

/// A user name and a password, sent to the origin of the request only.
public struct Credentials: Sendable {
    let user: String
    let password: String
    let isBasic: Bool

    /// Creates credentials.
    ///
    /// With `isBasic`, they are sent with the first request as `Basic` (RFC 7617), also without TLS: then, everyone on
    /// the way can read the password. By default `Digest` (RFC 7616) or, only over TLS, `Basic` is used, the best that
    /// the server supports, which costs an additional request.
    public init(user: String, password: String, isBasic: Bool = false) {
        (self.user, self.password, self.isBasic) = (user, password, isBasic)
    }
}

extension Credentials: CustomReflectable {
    /// The user name only.
    public var customMirror: Mirror { Mirror(self, children: ["user": user], displayStyle: .struct) }
}

extension NetworkRequest: CustomStringConvertible, CustomReflectable {
    /// Method and URL, without secrets.
    public var description: String { "\(method.rawValue) \(url.withoutSecrets)" }
    /// The description only.
    public var customMirror: Mirror { Mirror(self, children: ["request": description]) }
}

extension URL {
    /// Throws unless it is an http or https URL with a host.
    func requireHTTP() throws(NetworkError) {
        guard ["http", "https"].contains(scheme?.lowercased()), host()?.isEmpty == false else {
            throw .invalidRequest("'\(withoutSecrets)' is not an http or https URL with a host")
        }
    }
}
