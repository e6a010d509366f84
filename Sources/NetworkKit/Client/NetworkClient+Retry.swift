import Foundation
public import HTTPTypes

extension NetworkClient {
    /// When a request that failed is sent again: only if its method is idempotent (RFC 9110 §9.2.2).
    public struct Retry: Sendable {
        /// A request that is about to be sent again.
        public struct Attempt: Sendable {
            /// Which repetition it is, from 1.
            public var number: Int
            /// How many there are at most.
            public var count: Int
            /// How long the client waits before it.
            public var delay: Duration
            /// Why it is needed.
            public var error: any Error
        }

        /// How often a request is sent at most, the first time included.
        public var maximumAttempts: Int
        /// How long to wait before the second attempt; each further wait is twice as long.
        public var initialDelay: Duration
        /// The longest wait. A server that asks for a longer one with `Retry-After` is not asked again.
        public var maximumDelay: Duration
        /// The part of each wait that is left to chance, 0…1, so that many clients do not come back at once.
        public var jitter: Double
        /// The statuses that are worth another attempt.
        public var statuses: Set<HTTPResponse.Status> = [408, 429, 500, 502, 503, 504]
        /// The failures without a whole response that are worth another attempt.
        public var failures: Set<TransportFailure.Kind> = [
            .timedOut, .cannotFindHost, .cannotConnect, .connectionLost, .incompleteBody,
        ]
        /// Called before each wait, on one of Swift's threads. The indicator's label says "retry 2 of 4" by itself.
        public var onRetry: @Sendable (Attempt) -> Void = { _ in }

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
        func delay(
            afterAttempt attempt: Int,
            of method: HTTPRequest.Method,
            error: any Error,
            chance: Double
        ) -> Duration? {
            guard attempt < maximumAttempts, method.isIdempotent else { return nil }
            var wait = min(initialDelay * (1 << min(attempt - 1, 30)), maximumDelay)
            wait = wait * (1 - min(max(jitter, 0), 1) * chance)
            switch error as? NetworkError {
            case .transport(let failure)? where failures.contains(failure.kind):
                return wait
            case .unacceptableStatus(let failure)? where statuses.contains(failure.status):
                guard let text = failure.headers[.retryAfter], let asked = Self.retryAfter(text) else { return wait }
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
}

extension HTTPRequest.Method {
    /// Whether sending the same request twice has the effect of sending it once (RFC 9110 §9.2.2): only such requests
    /// are retried.
    var isIdempotent: Bool { isSafe || self == .put || self == .delete }

    /// Whether the request only reads (RFC 9110 §9.2.1).
    var isSafe: Bool { [.get, .head, .options, .trace].contains(self) }
}
