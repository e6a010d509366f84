import Foundation
public import FoundationNetworking

/// Changes every request of a client before it is sent: the one place for tokens, timeouts and header fields.
///
/// Interceptors are applied in their order, anew for each attempt of a request that is retried, so that a token that has run out
/// can be replaced.
public struct RequestInterceptor: Sendable {
    private let change: @Sendable (inout URLRequest) async throws -> Void

    /// Makes an interceptor of your own. What it throws is what the request fails with.
    public init(_ change: @escaping @Sendable (inout URLRequest) async throws -> Void) {
        self.change = change
    }

    /// Sends a token as `Authorization: Bearer …` (RFC 6750 §2.1), unless the route sets that field.
    ///
    /// - Parameters:
    ///   - token: the token.
    ///   - hosts: the hosts that it is meant for; `nil`: any that a route names. Give them when routes take URLs out of responses.
    ///     A redirect to another host, port or scheme never takes the token along.
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
            guard request.value(forHTTPHeaderField: "Authorization") == nil else { return }
            if let hosts, !hosts.contains(request.url?.host()?.lowercased() ?? "") { return }
            guard let token = try await token() else { return }
            request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
        }
    }

    /// Sends a header field, unless the route sets it.
    public static func header(_ name: String, _ value: String) -> Self {
        Self { request in
            if request.value(forHTTPHeaderField: name) == nil { request.setValue(value, forHTTPHeaderField: name) }
        }
    }

    /// Sets the timeout of all requests, in seconds, whatever their routes say.
    public static func timeout(_ seconds: Double) -> Self {
        Self { $0.timeoutInterval = seconds }
    }

    func apply(to request: inout URLRequest) async throws {
        try await change(&request)
    }
}
