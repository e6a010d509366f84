public import HTTPTypes

/// When a failed request is sent again. Only idempotent methods are retried (RFC 9110 §9.2.2), and requests of all
/// methods that were not sent because the name of the host could not be resolved.
public struct RequestRetry: Sendable {
    /// A request that is about to be sent again.
    public struct Attempt: Sendable {
        /// The number of the retry, from 1.
        public var number: Int
        /// The maximum number of retries.
        public var count: Int
        /// The delay before the retry.
        public var delay: Duration
        /// The error of the previous attempt.
        public var error: any Error
    }

    /// The maximum number of attempts, including the first.
    public var maximumAttempts: Int
    /// The delay before the second attempt. Each further delay is twice as long.
    public var initialDelay: Duration
    /// The longest delay. If `Retry-After` demands a longer one, the request is not retried.
    public var maximumDelay: Duration
    /// The random part of each delay, 0…1, so that many clients do not retry simultaneously.
    public var jitter: Double
    /// The statuses that are retried.
    public var statuses: Set<HTTPResponse.Status> = [408, 429, 500, 502, 503, 504]
    /// The transport failures that are retried.
    public var failures: Set<TransportFailure.Kind> = [
        .timedOut, .cannotFindHost, .cannotConnect, .connectionLost, .incompleteBody,
    ]
    /// Called before each delay, which begins when it returns. The indicator's label shows "retry 2 of 4" without
    /// it.
    public var onRetry: @Sendable (Attempt) async -> Void = { _ in }

    /// Creates a policy.
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

    /// No retries: the default.
    public static var never: Self { Self(maximumAttempts: 1) }

    /// Waits for the network: repeats only requests that were not sent because the name of the host, or of the
    /// proxy, could not be resolved, as without a network. This includes misspelled names.
    ///
    /// - Parameters:
    ///   - maximumAttempts: the maximum number of attempts, including the first. The default takes about ten
    ///     minutes.
    ///   - maximumDelay: the longest delay between attempts.
    public static func whileOffline(maximumAttempts: Int = 30, maximumDelay: Duration = .seconds(30)) -> Self {
        var policy = Self(maximumAttempts: maximumAttempts, maximumDelay: maximumDelay)
        (policy.statuses, policy.failures) = ([], [.cannotFindHost])
        return policy
    }
}

extension HTTPRequest.Method {
    /// Whether sending the request twice has the same effect as sending it once (RFC 9110 §9.2.2).
    var isIdempotent: Bool { isSafe || self == .put || self == .delete }

    /// Whether the request only reads (RFC 9110 §9.2.1).
    var isSafe: Bool { [.get, .head, .options, .trace].contains(self) }
}
