import Foundation
import HTTPTypes
import IndicatorThreads

extension NetworkClient.Interceptor {
    /// Sends a token as `Authorization: Bearer …` (RFC 6750 §2.1), and replaces it when a server rejects it.
    ///
    /// After status 401 the token is refreshed once for all requests that were sent with it, of any method, and each of
    /// them is sent once more. Requests that begin meanwhile wait for the new token. A request fails with the error of
    /// the refresh, or with the server's response if the new token is rejected, too; the next request then refreshes
    /// again. A validation that accepts status 401 prevents the refresh, as does a route that sets `Authorization`.
    ///
    /// Requests that `refresh` sends with the same interceptor are sent without a token, and do not wait. If it uses
    /// the same client, capture that weakly.
    ///
    /// - Parameters:
    ///   - token: the first token; `nil`: the first request refreshes it.
    ///   - hosts: the hosts that the token is sent to; `nil`: every host in a route. It is never sent to another origin
    ///     after a redirect.
    ///   - account: identifies the user for the cache: a response that was cached with one token is used with those
    ///     that replace it. `nil`: the first token, so that a later run of the app does not find the responses.
    ///   - timeLimit: how long requests wait for the refresh, which is then cancelled. Default 60 s.
    ///   - clock: measures that time.
    ///   - refresh: returns a new token for the rejected one, or for `nil`. At most one call runs at a time, unless it
    ///     ignores its cancellation.
    public static func refreshedToken(
        _ token: String? = nil,
        hosts: Set<String>? = nil,
        account: String? = nil,
        timeLimit: Duration = .seconds(60),
        clock: any Clock<Duration> = ContinuousClock(),
        refresh: @escaping @Sendable (_ rejected: String?) async throws -> String
    ) -> Self {
        let refresher = TokenRefresher(token, timeLimit: timeLimit, clock: clock, refresh)
        return Self { request in
            guard request.headers[.authorization] == nil, request.isMeant(for: hosts), !refresher.isCaller else {
                return
            }
            let token = try await refresher.token(for: request.url)
            request.setHeader("Authorization", "Bearer \(token)")
            request.account = account ?? refresher.firstToken
            request.refresh = { url in _ = try await refresher.token(for: url, insteadOf: token) }
        }
    }
}

/// A token for all requests, and its refresh: at most one at a time.
private final class TokenRefresher: Sendable {
    private typealias Waiter = CheckedContinuation<String, any Error>

    private struct State {
        var token: String? { didSet { firstToken = firstToken ?? token } }
        var firstToken: String?
        /// The number of the refresh in progress.
        var refresh: Int?
        var waiters: [Int: Waiter] = [:]
        var nextNumber = 0

        mutating func number() -> Int {
            nextNumber += 1
            return nextNumber
        }
    }

    private let state: Locked<State>
    private let timeLimit: Duration
    private let clock: any Clock<Duration>
    private let refresh: @Sendable (String?) async throws -> String
    /// Whose refreshes the current task runs in.
    @TaskLocal private static var callers: Set<ObjectIdentifier> = []

    init(
        _ token: String?,
        timeLimit: Duration,
        clock: any Clock<Duration>,
        _ refresh: @escaping @Sendable (String?) async throws -> String
    ) {
        state = Locked(State(token: token, firstToken: token))
        self.timeLimit = timeLimit
        self.clock = clock
        self.refresh = refresh
    }

    /// The first token, which stands for the user.
    var firstToken: String? { state.withLock { $0.firstToken } }

    /// Whether the current task runs in the refresh, and would wait for itself.
    var isCaller: Bool { Self.callers.contains(ObjectIdentifier(self)) }

    /// The token. Waits for the refresh in progress; starts one if there is no token, or it is the rejected one.
    ///
    /// Cancelling the Swift task ends the wait, but not the refresh, for which others may wait.
    func token(for url: URL, insteadOf rejected: String? = nil) async throws -> String {
        let id = state.withLock { $0.number() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let (result, refresh) = state.withLock { state -> (Result<String, any Error>?, Int?) in
                    if Task.isCancelled { return (.failure(CancellationError()), nil) }
                    if state.refresh == nil, let token = state.token, token != rejected {
                        return (.success(token), nil)
                    }
                    state.waiters[id] = continuation
                    guard state.refresh == nil else { return (nil, nil) }
                    state.refresh = state.number()
                    return (nil, state.refresh)
                }
                if let result { continuation.resume(with: result) }
                if let refresh { start(refresh, of: rejected, for: url) }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.resume(throwing: CancellationError())
        }
    }

    private func start(_ number: Int, of rejected: String?, for url: URL) {
        let work = Task {
            try await Self.$callers.withValue(Self.callers.union([ObjectIdentifier(self)])) {
                try await refresh(rejected)
            }
        }
        let timer = Task {
            try await clock.sleep(for: timeLimit)
            let reason = "the token was not refreshed within \(timeLimit)"
            end(number, .failure(.transport(.init(url: url, kind: .timeLimitExceeded, reason: reason)) as NetworkError))
            work.cancel()
        }
        Task {
            let result = await work.result
            timer.cancel()
            end(number, result)
        }
    }

    /// Resumes all waiting requests, unless the refresh has ended already.
    private func end(_ number: Int, _ result: Result<String, any Error>) {
        let waiters = state.withLock { state -> [Waiter] in
            guard state.refresh == number else { return [] }
            state.refresh = nil
            if case .success(let token) = result { state.token = token }
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume(with: result) }
    }
}
