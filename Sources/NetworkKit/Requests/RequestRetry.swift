import CIndicatorCurl
import Foundation
public import HTTPTypes

/// When a failed request is sent again. Only idempotent methods are retried (RFC 9110 §9.2.2).
public struct RequestRetry: Sendable {
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

    /// Creates a policy.
    public init(
        maximumAttempts: Int = 3,
        initialDelay: Duration = .milliseconds(500),
        maximumDelay: Duration = .seconds(30),
        jitter: Double = 0.5
    ) {
        (self.maximumAttempts, self.initialDelay) = (maximumAttempts, initialDelay)
        (self.maximumDelay, self.jitter) = (maximumDelay, jitter)
    }

    /// No retries: the default.
    public static var never: Self { Self(maximumAttempts: 1) }

    /// The delay before the next attempt; `nil` when there is none. The first attempt is 1; `chance` is 0…1.
    func delay(
        afterAttempt attempt: Int,
        of method: HTTPRequest.Method,
        error: any Error,
        chance: Double = .random(in: 0...1)
    ) -> Duration? {
        guard attempt < maximumAttempts, method.isIdempotent else { return nil }
        var delay = min(initialDelay * (1 << min(attempt - 1, 30)), maximumDelay)
        delay = delay * (1 - min(max(jitter, 0), 1) * chance)
        switch error as? NetworkError {
        case .transport(let failure)? where failures.contains(failure.kind): return delay
        case .unacceptableStatus(let failure)? where statuses.contains(failure.status):
            let asked = failure.headers[.retryAfter].flatMap { Self.retryAfter($0) } ?? .zero
            return asked > maximumDelay ? nil : max(asked, delay)
        default: return nil
        }
    }

    /// Reads `Retry-After` (RFC 9110 §10.2.3): seconds, or a date.
    private static func retryAfter(_ text: String) -> Duration? {
        if let seconds = HTTPDate.seconds(text.trimmed) { return .seconds(seconds) }
        return HTTPDate.parse(text).map { .seconds(max(0, $0.timeIntervalSinceNow)) }
    }
}

extension HTTPRequest.Method {
    /// Whether sending the request twice has the same effect as sending it once (RFC 9110 §9.2.2).
    var isIdempotent: Bool { isSafe || self == .put || self == .delete }

    /// Whether the request only reads (RFC 9110 §9.2.1).
    var isSafe: Bool { [.get, .head, .options, .trace].contains(self) }
}

/// Dates and seconds in header fields (RFC 9110 §5.6.7, RFC 9111 §1.2.2).
enum HTTPDate {
    /// Reads a date in one of the three formats, not by `DateFormatter`, which on Linux crashes on some texts.
    static func parse(_ text: String) -> Date? {
        let seconds = curl_getdate(text, nil)
        return seconds == -1 ? nil : Date(timeIntervalSince1970: Double(seconds))
    }

    /// Reads a number of seconds; one that is too large is 2³¹.
    static func seconds(_ text: String) -> Double? {
        let isNumber = !text.isEmpty && text.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
        return isNumber ? Double(text).map { min($0, 2_147_483_648) } : nil
    }
}
