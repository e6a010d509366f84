import FlyingFox
import FlyingSocks
import Foundation
import IndicatorCore
import IndicatorThreads
import IndicatorTracking
import TestSupport
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite struct HTTPBodyTrackingTests {
    /// A server tracks the body of a real request while it arrives.
    @Test func `The body of a request is tracked`() async throws {
        let tracker = ActivityTracker<Int>()
        let recorded = Locked<[ActivityStatus<Int>]>([])
        let statuses = tracker.statuses
        let recording = Task { for await status in statuses { recorded.withLock { $0.append(status) } } }
        defer { recording.cancel() }
        // The default limit of 15 seconds is too short for a busy machine.
        let server = try HTTPServer(address: .inet(ip4: "127.0.0.1", port: 0), timeout: 600, logger: .disabled)
        await server.appendRoute("POST /") { request in
            let received = Locked(0)
            let body = request.bodySequence.tracked(in: tracker, initialValue: 0) { chunk in
                received.withLock { count in
                    count += chunk.count
                    return count
                }
            }
            for try await chunk in body {
                if chunk.isEmpty { Issue.record("An empty chunk arrived.") }
                #expect(tracker.status.associatedValue == received.withLock { $0 })
            }
            #expect(!tracker.status.isLoading)
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
        // The latest status wins: the others may be skipped.
        #expect(await eventually { recorded.withLock { $0.last } == ActivityStatus(isLoading: false) })
    }
}
