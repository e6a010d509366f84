import Foundation
import HTTPTypes

extension NetworkClient {
    /// Changes every request of a client before it is sent: the one place for tokens, timeouts and header fields.
    ///
    /// Interceptors are applied in their order, anew for each attempt of a request that is retried, so that a token
    /// that has expired can be replaced. What they make of a request is checked like what a route says.
    public struct Interceptor: Sendable {
        let change: @Sendable (inout NetworkRequest) async throws -> Void

        /// Makes an interceptor of your own. What it throws is what the request fails with.
        public init(_ change: @escaping @Sendable (inout NetworkRequest) async throws -> Void) {
            self.change = change
        }

        /// Sends a token as `Authorization: Bearer …` (RFC 6750 §2.1), unless the route sets that field.
        ///
        /// - Parameters:
        ///   - token: the token.
        ///   - hosts: the hosts that it is meant for; `nil`: any that a route names. Give them when routes take URLs
        ///     out of responses. A redirect to another host, port or scheme never takes the token along.
        public static func bearerToken(_ token: String, hosts: Set<String>? = nil) -> Self {
            bearerToken(hosts: hosts) { token }
        }

        /// Sends a token that is asked for at each request.
        ///
        /// - Parameters:
        ///   - hosts: the hosts that it is meant for; `nil`: any that a route names.
        ///   - token: gives the token; `nil` to send none.
        public static func bearerToken(
            hosts: Set<String>? = nil,
            _ token: @escaping @Sendable () async throws -> String?
        ) -> Self {
            Self { request in
                guard request.headers[.authorization] == nil, request.isMeant(for: hosts) else { return }
                if let token = try await token() { request.setHeader("Authorization", "Bearer \(token)") }
            }
        }

        /// Answers the servers that ask for a name and a password (Basic or Digest), unless the route has credentials.
        ///
        /// - Parameters:
        ///   - credentials: the name and the password.
        ///   - hosts: the hosts that they are meant for; `nil`: any that a route names. A redirect to another host,
        ///     port or scheme never takes them along.
        public static func credentials(_ credentials: Credentials, hosts: Set<String>? = nil) -> Self {
            Self { request in
                guard request.credentials == nil, request.isMeant(for: hosts) else { return }
                request.credentials = credentials
            }
        }

        /// Sends a header field, unless the route sets it.
        ///
        /// - Parameters:
        ///   - name: the field's name.
        ///   - value: its value.
        ///   - isSensitive: whether the value is a secret; see ``NetworkRequest/setHeader(_:_:isSensitive:)``.
        public static func header(_ name: String, _ value: String, isSensitive: Bool = false) -> Self {
            Self { request in
                guard !request.headers.contains(where: { $0.name.canonicalName == name.lowercased() }) else { return }
                request.setHeader(name, value, isSensitive: isSensitive)
            }
        }

        /// Sets the timeout of all requests, in seconds, whatever their routes say.
        public static func timeout(_ seconds: Double) -> Self {
            Self { $0.timeout = seconds }
        }
    }
}

extension NetworkRequest {
    fileprivate func isMeant(for hosts: Set<String>?) -> Bool {
        hosts?.contains(url.host()?.lowercased() ?? "") ?? true
    }
}
