import Foundation
import HTTPTypes
import IndicatorThreads

extension NetworkClient.Interceptor {
    /// Sends a token as `Authorization: Bearer …` (RFC 6750 §2.1), and replaces it when a server rejects it.
    ///
    /// After status 401 the token is refreshed once for all requests that were sent with it, of any method, and each of
    /// them is sent once more. Requests that begin meanwhile wait for the new token. A validation that accepts status
    /// 401 prevents the refresh, as does a route that sets `Authorization`. Requests that `refresh` sends with the same
    /// interceptor have no token, and do not wait. If it uses the same client, capture that weakly.
    ///
    /// - Parameters:
    ///   - token: the first token; `nil`: the first request refreshes it.
    ///   - hosts: those of ``bearerToken(_:hosts:)``.
    ///   - refresh: returns a new token for the rejected one, or for `nil`. At most one call runs at a time. Requests
    ///     wait for it without a time limit of their own.
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

/// A token for all requests, and its refresh: at most one at a time.
private final class TokenRefresher: Sendable {
    private typealias Waiter = AsyncThrowingStream<String, any Error>.Continuation

    private struct State {
        var token: String?
        /// The requests that wait for the refresh in progress; `nil` while there is none.
        var waiters: [Waiter]?
    }

    private let state: Locked<State>
    private let refresh: @Sendable (String?) async throws -> String
    /// Whose refreshes the current task runs in.
    @TaskLocal private static var callers: Set<ObjectIdentifier> = []

    init(_ token: String?, _ refresh: @escaping @Sendable (String?) async throws -> String) {
        state = Locked(State(token: token))
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
