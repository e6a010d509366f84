import Foundation
import HTTPTypes
import IndicatorCore

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

        /// Sends a token as `Authorization: Bearer …` (RFC 6750 §2.1), and replaces it when a server rejects it.
        ///
        /// After status 401 the token is refreshed once for all requests that were sent with it, of any method. Each of
        /// them is sent once more; what begins meanwhile waits for the new token. A validation that accepts status 401
        /// prevents the refresh, as does a route that sets `Authorization`. Requests that `refresh` sends with the same
        /// interceptor have no token, and do not wait. If it uses the same client, capture that weakly.
        ///
        /// - Parameters:
        ///   - token: the first token; `nil`: the first request refreshes it.
        ///   - hosts: those of ``bearerToken(_:hosts:)``.
        ///   - refresh: returns a new token for the rejected one, or for `nil`. At most one call runs at a time.
        ///     Requests wait for it without a time limit of their own.
        public static func refreshedToken(
            _ token: String? = nil,
            hosts: Set<String>? = nil,
            refresh: @escaping @Sendable (_ rejected: String?) async throws -> String
        ) -> Self {
            let refresher = TokenRefresher(token, refresh)
            return Self { request in
                guard request.headers[.authorization] == nil, request.isMeant(for: hosts), !refresher.isCaller else {
                    return
                }
                let token = try await refresher.token()
                request.setHeader("Authorization", "Bearer \(token)")
                request.refresh = { _ = try await refresher.token(insteadOf: token) }
            }
        }
    }
}

extension NetworkRequest {
    func isMeant(for hosts: Set<String>?) -> Bool {
        hosts?.contains { $0.canonicalHost == url.origin[1].canonicalHost } ?? true
    }
}

/// A token for all requests, and its refresh: at most one at a time.
private final class TokenRefresher: Sendable {
    private typealias Waiter = AsyncThrowingStream<String, any Error>.Continuation

    /// The token, and the requests that wait for the refresh in progress; `nil` while there is none.
    private let state: Locked<(token: String?, waiters: [Waiter]?)>
    private let refresh: @Sendable (String?) async throws -> String
    /// Whose refreshes the current task runs in.
    @TaskLocal private static var callers: Set<ObjectIdentifier> = []

    init(_ token: String?, _ refresh: @escaping @Sendable (String?) async throws -> String) {
        state = Locked((token, nil))
        self.refresh = refresh
    }

    /// Whether the current task runs in the refresh, and would wait for itself.
    var isCaller: Bool { Self.callers.contains(ObjectIdentifier(self)) }

    /// The token. Waits for the refresh in progress; starts one if there is no token, or it is the rejected one.
    /// Cancelling ends the wait, but not the refresh, for which others may wait.
    func token(insteadOf rejected: String? = nil) async throws -> String {
        let (tokens, waiter) = AsyncThrowingStream<String, any Error>.makeStream()
        let (token, mustStart) = state.withLock { state -> (String?, Bool) in
            if state.waiters == nil, let token = state.token, token != rejected { return (token, false) }
            let mustStart = state.waiters == nil
            if mustStart { state.waiters = [] }
            state.waiters?.append(waiter)
            return (nil, mustStart)
        }
        if let token { return token }
        if mustStart { start(insteadOf: rejected) }
        for try await token in tokens { return token }
        throw CancellationError()
    }

    private func start(insteadOf rejected: String?) {
        let work = Task {
            try await Self.$callers.withValue(Self.callers.union([ObjectIdentifier(self)])) {
                try await refresh(rejected)
            }
        }
        Task {
            let result = await work.result
            let waiters = state.withLock { state in
                if case .success(let token) = result { state.token = token }
                return state.waiters.take() ?? []
            }
            for waiter in waiters { waiter.yield(with: result) }
        }
    }
}
