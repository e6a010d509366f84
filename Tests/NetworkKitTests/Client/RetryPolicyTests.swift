import Foundation
import IndicatorCore
import IndicatorTesting
import TestSupport
import Testing

@testable import NetworkKit

@Suite struct RetryPolicyTests {
    private static let url = URL(string: "http://example.com")!

    private func status(_ status: Int, retryAfter: String? = nil) -> NetworkError {
        let headers = ResponseHeaders(retryAfter.map { ["Retry-After": $0] } ?? [:])
        return .unacceptableStatus(ResponseFailure(NetworkResponse(url: Self.url, status: status, headers: headers)))
    }

    private func failure(_ code: URLError.Code) -> NetworkError {
        .transport(TransportFailure(url: Self.url, code: code, reason: ""))
    }

    private func delay(
        _ policy: RetryPolicy,
        after attempt: Int = 1,
        of method: HTTPMethod = .get,
        _ error: any Error,
        chance: Double = 0
    ) -> Duration? {
        policy.delay(afterAttempt: attempt, of: method, error: error, chance: chance)
    }

    @Test func eachWaitIsTwiceAsLongUpToTheLongest() {
        let policy = RetryPolicy(maximumAttempts: 9, initialDelay: .seconds(1), maximumDelay: .seconds(5), jitter: 0)
        let waits = (1...9).map { delay(policy, after: $0, status(503)) }
        #expect(waits == [1, 2, 4, 5, 5, 5, 5, 5, nil].map { $0.map { Duration.seconds($0) } })
        #expect(delay(RetryPolicy(maximumAttempts: .max, jitter: 0), after: 1_000_000, status(503)) == .seconds(30))
        #expect(delay(.never, status(503)) == nil)
    }

    @Test func aPartOfEachWaitIsLeftToChance() {
        let policy = RetryPolicy(initialDelay: .seconds(1), jitter: 0.5)
        #expect(delay(policy, status(503), chance: 0) == .seconds(1))
        #expect(delay(policy, status(503), chance: 1) == .milliseconds(500))
    }

    @Test func onlyWhatDoesNoHarmIsSentAgain() {
        for method in [HTTPMethod.get, .head, .put, .delete, .options] {
            #expect(delay(RetryPolicy(), of: method, status(503)) != nil, "\(method)")
        }
        for method in [HTTPMethod.post, .patch, HTTPMethod(rawValue: "get"), HTTPMethod(rawValue: "LOCK")] {
            #expect(delay(RetryPolicy(), of: method, status(503)) == nil, "\(method)")
        }
    }

    @Test func onlyWhatMayPassIsSentAgain() {
        for code in [408, 429, 500, 502, 503, 504] { #expect(delay(RetryPolicy(), status(code)) != nil, "\(code)") }
        for code in [400, 401, 403, 404, 422, 501] { #expect(delay(RetryPolicy(), status(code)) == nil, "\(code)") }
        #expect(delay(RetryPolicy(), failure(.timedOut)) != nil)
        #expect(delay(RetryPolicy(), failure(.cannotConnectToHost)) != nil)
        #expect(delay(RetryPolicy(), failure(.serverCertificateUntrusted)) == nil)
        #expect(delay(RetryPolicy(), NetworkError.tooManyRedirects(Self.url)) == nil)
        #expect(delay(RetryPolicy(), CancellationError()) == nil)
    }

    @Test func theServerMaySayWhen() throws {
        let policy = RetryPolicy(initialDelay: .seconds(1), maximumDelay: .seconds(20), jitter: 0)
        #expect(delay(policy, status(429, retryAfter: "7")) == .seconds(7))
        #expect(delay(policy, status(429, retryAfter: "0")) == .seconds(1))
        #expect(delay(policy, status(429, retryAfter: "21")) == nil)
        #expect(delay(policy, status(429, retryAfter: "99999999999999999999")) == .seconds(1))
        #expect(delay(policy, status(429, retryAfter: "soon")) == .seconds(1))
        #expect(delay(policy, status(503, retryAfter: HTTPDate.format(.now.addingTimeInterval(-60)))) == .seconds(1))
        #expect(delay(policy, status(503, retryAfter: HTTPDate.format(.now.addingTimeInterval(3600)))) == nil)
    }

    // MARK: - The client

    @Test func theClientWaitsByItsClock() async throws {
        let server = try RawServer.closing { _, connection in try connection.respond("503 Service Unavailable") }
        let clock = VirtualClock()
        let policy = RetryPolicy(maximumAttempts: 3, initialDelay: .seconds(10), jitter: 0)
        let client = NetworkClient(retry: policy, clock: clock)
        let work = Task { try await client.send(route(server)) }
        #expect(await eventually { clock.deadlines == [.seconds(10)] })
        #expect(server.requests.count == 1)
        clock.advance(by: .seconds(10))
        #expect(await eventually { clock.deadlines == [.seconds(30)] })
        #expect(server.requests.count == 2)
        clock.advance(by: .seconds(20))
        await #expect(throws: NetworkError.self) { try await work.value }
        #expect(server.requests.count == 3)
    }

    @Test func aRequestCanBeCancelledWhileItWaits() async throws {
        let recorder = NotificationRecorder()
        let server = try RawServer.closing { _, connection in try connection.respond("503 Service Unavailable") }
        let clock = VirtualClock()
        let client = NetworkClient(retry: RetryPolicy(), notificationCenter: recorder.center, clock: clock)
        let work = Task { try await client.send(route(server)) }
        #expect(await eventually { clock.deadlines.count == 1 })
        work.cancel()
        await #expect(throws: CancellationError.self) { try await work.value }
        #expect(server.requests.count == 1)
        #expect(recorder.names == ["Resume", "Complete"])
    }
}
