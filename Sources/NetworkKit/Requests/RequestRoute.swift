public import Foundation

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
