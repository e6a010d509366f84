public import Foundation
// So that an app names a route's headers without a second package.
@_exported public import HTTPTypes

/// An endpoint of a web service: the request of a route, relative to its base URL.
public struct Endpoint: Sendable, CustomStringConvertible {
    /// The method.
    public var method: HTTPRequest.Method
    /// The path, which is appended to the base URL's.
    public var path: RoutePath
    /// The query.
    public var query: RouteParameters
    /// Whether the elements of an array in the query are named `c[]=1&c[]=2`, as PHP and Rails read it, not `c=1&c=2`.
    /// Default yes.
    public var usesBrackets = true
    /// The header fields. They replace those of the body with the same name. For one whose value is a secret though its
    /// name does not say so, see ``NetworkClient/Interceptor/header(_:_:isSensitive:hosts:)``.
    public var headers: HTTPFields
    /// The body.
    public var body: RouteBody
    /// The credentials; `nil`: those of the URL or an interceptor.
    public var credentials: Credentials?
    /// The time without any transfer after which the request fails; `nil`: no limit. Default 60 seconds. The wait for
    /// other requests to the same host does not count.
    public var timeout: Duration? = .seconds(60)
    /// The maximum duration of an attempt, including redirects and the wait for other requests; `nil`, the default: no
    /// limit.
    public var timeLimit: Duration?
    /// How the request uses the response cache. By default it follows RFC 9111.
    public var cachePolicy: CachePolicy = .useProtocolCachePolicy
    /// Whether redirects are followed. Otherwise a redirect is the response, and its status, from 300 to 399, is
    /// accepted. Default yes.
    public var followsRedirects = true
    /// Which responses are errors; `nil`: the client's validation, which by default accepts the statuses 200 to 299.
    public var validation: ResponseValidation?
    /// When the request is sent again after a failure; `nil`: the client's policy, by default never.
    public var retry: RequestRetry?
    /// A short text for the indicator; `nil`: method and path.
    public var label: String?

    /// Method and path, without secrets.
    public var description: String { "\(method.rawValue) /\(path.encoded)" }

    /// Creates a request.
    public init(
        _ method: HTTPRequest.Method,
        _ path: RoutePath,
        query: RouteParameters = .none,
        headers: HTTPFields = [:],
        body: RouteBody = .none
    ) {
        (self.method, self.path, self.query, self.headers, self.body) = (method, path, query, headers, body)
    }

    /// Creates a GET request.
    public static func get(_ path: RoutePath, query: RouteParameters = .none, headers: HTTPFields = [:]) -> Self {
        Self(.get, path, query: query, headers: headers)
    }

    /// Creates a HEAD request.
    public static func head(_ path: RoutePath, query: RouteParameters = .none, headers: HTTPFields = [:]) -> Self {
        Self(.head, path, query: query, headers: headers)
    }

    /// Creates a DELETE request.
    public static func delete(_ path: RoutePath, query: RouteParameters = .none, headers: HTTPFields = [:]) -> Self {
        Self(.delete, path, query: query, headers: headers)
    }

    /// Creates a POST request.
    public static func post(_ path: RoutePath, body: RouteBody = .none, headers: HTTPFields = [:]) -> Self {
        Self(.post, path, headers: headers, body: body)
    }

    /// Creates a PUT request.
    public static func put(_ path: RoutePath, body: RouteBody, headers: HTTPFields = [:]) -> Self {
        Self(.put, path, headers: headers, body: body)
    }

    /// Creates a PATCH request.
    public static func patch(_ path: RoutePath, body: RouteBody, headers: HTTPFields = [:]) -> Self {
        Self(.patch, path, headers: headers, body: body)
    }

    /// A copy with another value of a property: `.get("feed").with(\.timeout, .seconds(5))`.
    public func with<Value>(_ property: WritableKeyPath<Self, Value>, _ value: Value) -> Self {
        var copy = self
        copy[keyPath: property] = value
        return copy
    }
}

extension Endpoint {
    func url(relativeTo base: URL) throws -> URL {
        try base.requireHTTP()
        if let segment = path.encoded.split(separator: "/").first(where: { $0 == "." || $0 == ".." }) {
            let problem = "has the segment '\(segment)', which servers remove; check its values"
            throw NetworkError.invalidRequest("the path '\(path.encoded)' \(problem)")
        }
        // Not by URLComponents, which take several times as long.
        let whole = base.absoluteString.utf8.prefix { $0 != UInt8(ascii: "#") }
        let queryStart = whole.firstIndex(of: UInt8(ascii: "?")) ?? whole.endIndex
        var (text, suffix) = (String(Substring(whole[..<queryStart])), String(Substring(whole[queryStart...])))
        if !path.encoded.isEmpty {
            if !text.hasSuffix("/") { text += "/" }
            text += path.encoded.first == "/" ? path.encoded.dropFirst() : path.encoded[...]
        }
        let query = try query.encoded(usesBrackets: usesBrackets)
        if !query.isEmpty { suffix += (suffix.isEmpty ? "?" : suffix == "?" ? "" : "&") + query }
        guard let url = URL(string: text + suffix) else {
            let problem = "and the path '\(path.encoded)' do not form a URL"
            throw NetworkError.invalidRequest("the base '\(base.withoutSecrets)' \(problem)")
        }
        return url
    }

    /// The request with the content type of the body, but without the body.
    func networkRequest(to url: URL, _ body: PreparedBody?, accepting types: [String]?) -> NetworkRequest {
        var request = NetworkRequest(url: url, method: method)
        request.credentials = credentials
        request.timeout = timeout
        request.timeLimit = timeLimit
        request.cachePolicy = cachePolicy
        request.followsRedirects = followsRedirects
        if let type = body?.contentType { request.setHeader("Content-Type", type) }
        if let types { request.setHeader("Accept", types.joined(separator: ", ")) }
        for field in headers { request.setHeader(field.name.rawName, headers[field.name]) }
        return request
    }
}

/// How a request uses the cache. The names are those of Foundation's `URLRequest.CachePolicy`.
public enum CachePolicy: Sendable {
    /// Follows RFC 9111.
    case useProtocolCachePolicy
    /// Always loads the response from the server, and stores it.
    case reloadIgnoringLocalCacheData
    /// Revalidates a stored response, even if it is fresh.
    case reloadRevalidatingCacheData
    /// Uses a stored response, however old. A response from the server is stored even if it has no freshness
    /// lifetime.
    case returnCacheDataElseLoad
    /// Uses a stored response, however old. Without one the request fails.
    case returnCacheDataDontLoad
}

/// Which responses are errors.
public struct ResponseValidation: Sendable {
    /// The accepted statuses; `nil`: all.
    package var statuses: Range<Int>?
    /// The accepted content types, such as `application/json` or `image/*`; `nil`: all. They are sent as `Accept`.
    /// A response without a body needs no content type.
    package var contentTypes: [String]?

    /// Creates a validation. The default accepts every status from 200 to 299.
    public init(statuses: Range<Int>? = 200..<300, contentTypes: [String]? = nil) {
        self.statuses = statuses
        self.contentTypes = contentTypes
    }

    /// Accepts every response.
    public static var all: Self { Self(statuses: nil) }

    /// Accepts the statuses 200 to 299 with one of these content types.
    public static func contentTypes(_ types: String...) -> Self { Self(contentTypes: types) }
}

extension ResponseValidation {
    func check(_ response: NetworkResponse) throws(NetworkError) {
        if let statuses, !statuses.contains(response.status.code) {
            throw .unacceptableStatus(response)
        }
        guard let contentTypes, !response.data.isEmpty else { return }
        let type = ContentType(response.headers[.contentType])
        if !contentTypes.contains(where: { type?.matches($0) ?? false }) {
            throw .unacceptableContentType(response, accepted: contentTypes)
        }
    }
}

/// The path of a route, relative to its base URL, written as a string literal: `.get("users/\(name)/posts")`.
///
/// The literal is the structure of the path. An interpolated value is percent-encoded, so it cannot add a segment, a
/// query or a fragment. A `%` in the literal is a percent sign, too. A segment `.` or `..` is an error, because servers
/// remove it, even an encoded one.
public struct RoutePath: ExpressibleByStringInterpolation, Hashable, Sendable {
    /// The path, percent-encoded.
    package let encoded: String

    /// The characters of a path that are not encoded in the literal (RFC 3986 §3.3).
    fileprivate static let separators = "/:@!$&'()*+,;="

    /// Creates a path from a literal.
    public init(stringLiteral value: String) { encoded = value.percentEncoded(keeping: Self.separators) }

    /// Creates a path from a literal with values.
    public init(stringInterpolation: StringInterpolation) { encoded = stringInterpolation.encoded }

    /// Builds a path from a literal with values.
    public struct StringInterpolation: StringInterpolationProtocol {
        var encoded = ""

        /// Creates an empty path.
        public init(literalCapacity: Int, interpolationCount: Int) {}

        /// Adds a part of the literal.
        public mutating func appendLiteral(_ literal: String) {
            encoded += literal.percentEncoded(keeping: RoutePath.separators)
        }

        /// Adds a value.
        public mutating func appendInterpolation(_ value: some LosslessStringConvertible) {
            encoded += value.description.percentEncoded()
        }
    }
}

/// An endpoint of a web service with its parameters, usually a case of an enum: see <doc:SendingRequests>.
public protocol RequestRoute: Sendable {
    /// The URL that the route's path is appended to. Its query is kept; its fragment is not sent.
    var baseURL: URL { get }
    /// The request.
    var request: Endpoint { get }
}

/// A route made of a URL and a request, where a type of its own is not worthwhile.
public struct URLRoute: RequestRoute {
    /// The URL that the request's path is appended to.
    public var baseURL: URL
    /// The request.
    public var request: Endpoint

    /// Creates a route: by default a GET of the URL itself.
    public init(_ baseURL: URL, _ request: Endpoint = .get("")) {
        self.baseURL = baseURL
        self.request = request
    }
}

extension RequestRoute {
    /// The base URL with path and query. Throws ``NetworkError/invalidRequest(_:)``, or the error of the encoding.
    public func url() throws -> URL { try request.url(relativeTo: baseURL) }
}
