public import Foundation

/// When a request that failed is sent again: only if its method is idempotent (RFC 9110 §9.2.2).
public struct RetryPolicy: Sendable {
    /// How often a request is sent at most, the first time included.
    public var maximumAttempts: Int
    /// How long to wait before the second attempt; each further wait is twice as long.
    public var initialDelay: Duration
    /// The longest wait. A server that asks for a longer one with `Retry-After` is not asked again.
    public var maximumDelay: Duration
    /// The part of each wait that is left to chance, 0…1, so that many clients do not come back at once.
    public var jitter: Double
    /// The statuses that are worth another attempt.
    public var statuses: Set<Int> = [408, 429, 500, 502, 503, 504]
    /// The failures without a response that are worth another attempt.
    public var failures: Set<URLError.Code> = [
        .timedOut, .cannotConnectToHost, .networkConnectionLost, .cannotFindHost, .dnsLookupFailed,
        .notConnectedToInternet,
    ]

    /// Makes a policy.
    public init(
        maximumAttempts: Int = 3,
        initialDelay: Duration = .milliseconds(500),
        maximumDelay: Duration = .seconds(30),
        jitter: Double = 0.5
    ) {
        self.maximumAttempts = maximumAttempts
        self.initialDelay = initialDelay
        self.maximumDelay = maximumDelay
        self.jitter = jitter
    }

    /// Every request is sent once: the default.
    public static var never: Self { Self(maximumAttempts: 1) }

    /// How long to wait before sending a request again; `nil`: it is not.
    ///
    /// - Parameters:
    ///   - attempt: which attempt failed, from 1.
    ///   - method: the request's method.
    ///   - error: how it failed.
    ///   - chance: a number of 0…1.
    func delay(afterAttempt attempt: Int, of method: HTTPMethod, error: any Error, chance: Double) -> Duration? {
        guard attempt < maximumAttempts, method.isIdempotent else { return nil }
        var wait = min(initialDelay * (1 << min(attempt - 1, 30)), maximumDelay)
        wait = wait * (1 - min(max(jitter, 0), 1) * chance)
        switch error as? NetworkError {
        case .transport(let failure)? where failures.contains(failure.code):
            return wait
        case .unacceptableStatus(let failure)? where statuses.contains(failure.status):
            guard let text = failure.headers["Retry-After"], let asked = Self.retryAfter(text) else { return wait }
            return asked > maximumDelay ? nil : max(asked, wait)
        default:
            return nil
        }
    }

    /// Reads `Retry-After` (RFC 9110 §10.2.3): seconds, or a date.
    private static func retryAfter(_ text: String) -> Duration? {
        if let seconds = Int(text.trimmingCharacters(in: .whitespaces)), seconds >= 0 {
            return .seconds(min(seconds, 1 << 40))
        }
        return HTTPDate.parse(text).map { .seconds(max(0, $0.timeIntervalSinceNow)) }
    }
}
