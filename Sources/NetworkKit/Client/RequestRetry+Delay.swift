import Foundation
import HTTPTypes

extension RequestRetry {
    /// The delay before the next attempt; `nil` when there is none.
    ///
    /// - Parameters:
    ///   - attempt: the number of the failed attempt, from 1.
    ///   - method: the request's method.
    ///   - error: why it failed.
    ///   - isUnsent: whether no server received anything of it.
    ///   - chance: a random number, 0…1.
    func delay(
        afterAttempt attempt: Int,
        of method: HTTPRequest.Method,
        error: any Error,
        isUnsent: Bool = false,
        chance: Double
    ) -> Duration? {
        guard attempt < maximumAttempts, method.isIdempotent || isUnsent else { return nil }
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
