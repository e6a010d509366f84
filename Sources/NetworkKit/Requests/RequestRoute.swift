public import Foundation

/// An endpoint of a web service with its parameters, usually a case of an enum.
///
/// ```swift
/// enum Store: RequestRoute {
///     case topFree(limit: Int)
///     case createPost(title: String, body: String)
///
///     var baseURL: URL { URL(string: "https://example.com/api")! }
///
///     var request: RouteRequest {
///         switch self {
///         case .topFree(let limit): .get("us/rss/topfreeapplications/limit=\(limit)/json")
///         case .createPost(let title, let body):
///             .post("post", body: .json(["title": .string(title), "body": .string(body)]))
///         }
///     }
/// }
/// ```
public protocol RequestRoute: Sendable {
    /// The URL that the route's path is appended to. Its query is kept; its fragment is not sent.
    var baseURL: URL { get }
    /// The request.
    var request: RouteRequest { get }
}

/// A route made of a URL and a request, where a type of its own is not worthwhile.
public struct URLRoute: RequestRoute {
    /// The URL that the request's path is appended to.
    public var baseURL: URL
    /// The request.
    public var request: RouteRequest

    /// Creates a route: by default a GET of the URL itself.
    ///
    /// - Parameters:
    ///   - baseURL: the URL that the request's path is appended to.
    ///   - request: the request.
    ///   - label: a short text for the indicator; by default the request's.
    public init(_ baseURL: URL, _ request: RouteRequest = .get(""), label: String? = nil) {
        self.baseURL = baseURL
        self.request = request
        if let label { self.request.label = label }
    }
}

extension RequestRoute {
    /// The route's URL: the base URL with path and query.
    ///
    /// - Throws: ``NetworkError/invalidRequest(_:)`` when the base URL is not an `http` or `https` URL with a host, or
    ///   a path segment is `.` or `..`; or the error of the parameters' encoding.
    public func url() throws -> URL {
        try request.url(relativeTo: baseURL)
    }
}
