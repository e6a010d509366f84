import Foundation
import HTTPTypes

extension NetworkClient {
    /// Changes every request of a client before it is sent: the place for tokens, timeouts and header fields.
    ///
    /// Interceptors run in order, and again for each retry, so that they can replace an expired token. The resulting
    /// request is validated like that of a route.
    public struct Interceptor: Sendable {
        let change: @Sendable (inout NetworkRequest) async throws -> Void

        /// Creates an interceptor. The request fails with the error that it throws.
        public init(_ change: @escaping @Sendable (inout NetworkRequest) async throws -> Void) {
            self.change = change
        }

        /// Sends a token as `Authorization: Bearer …` (RFC 6750 §2.1), unless the route sets that field.
        ///
        /// - Parameters:
        ///   - token: the token.
        ///   - hosts: the hosts that the token is sent to; `nil`: every host in a route. Set this when routes use URLs
        ///     from responses. The token is never sent to another origin after a redirect.
        public static func bearerToken(_ token: String, hosts: Set<String>? = nil) -> Self {
            header("Authorization", "Bearer \(token)", hosts: hosts)
        }

        /// Authenticates with a user name and a password (Basic or Digest), unless the route has credentials. The hosts
        /// are those of ``bearerToken(_:hosts:)``.
        public static func credentials(_ credentials: Credentials, hosts: Set<String>? = nil) -> Self {
            Self { request in
                guard request.credentials == nil, request.isMeant(for: hosts) else { return }
                request.credentials = credentials
            }
        }

        /// Sends a header field, unless the route sets it. See ``NetworkRequest/setHeader(_:_:isSensitive:)``. The
        /// hosts are those of ``bearerToken(_:hosts:)``.
        public static func header(
            _ name: String,
            _ value: String,
            isSensitive: Bool? = nil,
            hosts: Set<String>? = nil
        ) -> Self {
            Self { request in
                let isSet = request.headers.contains { $0.name.canonicalName == name.lowercased() }
                if !isSet, request.isMeant(for: hosts) { request.setHeader(name, value, isSensitive: isSensitive) }
            }
        }
    }
}

extension NetworkRequest {
    func isMeant(for hosts: Set<String>?) -> Bool {
        hosts?.contains { $0.canonicalHost == url.origin[1].canonicalHost } ?? true
    }
}
