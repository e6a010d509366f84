import FlyingFox
import FlyingSocks
import Foundation
import IndicatorCore
import IndicatorThreads
import IndicatorTracking
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite struct HTTPBodyTrackingTests {
    private final class Subscriber: Sendable {}

    /// A server tracks the body of a real request while it arrives.
    @Test func theBodyOfARequestIsTracked() async throws {
        let tracker = ActivityTracker<Int>()
        let recorded = Locked<[ActivityStatus<Int>]>([])
        let subscriber = Subscriber()
        tracker.subscribe(subscriber) { status in
            if let status { recorded.withLock { $0.append(status) } }
        }
        // The default limit of 15 seconds is too short for a busy machine.
        let server = try HTTPServer(address: .inet(ip4: "127.0.0.1", port: 0), timeout: 600, logger: .disabled)
        await server.appendRoute("POST /") { request in
            let received = Locked(0)
            let body = request.bodySequence.trackActivity(in: tracker, initialValue: 0) { chunk in
                received.withLock { count in
                    count += chunk.count
                    return count
                }
            }
            for try await chunk in body where chunk.isEmpty { Issue.record("An empty chunk arrived.") }
            return HTTPResponse(statusCode: .ok, body: Data("\(received.withLock { $0 })".utf8))
        }
        let running = Task { try await server.run() }
        defer { running.cancel() }
        try await server.waitUntilListening(timeout: 60)
        guard case .ip4(_, port: let port)? = await server.listeningAddress else {
            Issue.record("The server has no address.")
            return
        }
        var request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:\(port)/")))
        request.httpMethod = "POST"
        let (answer, _) = try await URLSession.shared.upload(for: request, from: Data(repeating: 7, count: 20_000))
        #expect(String(decoding: answer, as: UTF8.self) == "20000")
        let statuses = recorded.withLock { $0 }
        #expect(statuses.first == ActivityStatus(isLoading: false))
        #expect(statuses.dropFirst().first == ActivityStatus(isLoading: true, associatedValue: 0))
        #expect(statuses.suffix(2).map(\.associatedValue) == [20_000, nil])
    }
}
