import Foundation
import IndicatorCore
import NetworkKit
import TestSupport
import Testing

@testable import IndicatorCommands
@testable import indicator_demo

@Suite struct RequestClientTests {
    private let observed = NotificationCenter()
    private let recorder = RunRecorder()
    private let indicator: IndicatorManager
    private let client: RequestClient

    init() throws {
        indicator = IndicatorManager(delays: .zero)
        indicator.observe(.indicator, in: observed)
        client = RequestClient(indicator: indicator, observing: observed, recorder: recorder)
    }

    private var steps: [RunRecorder.Step] {
        recorder.moments.compactMap { if case .request(_, let step) = $0.event { step } else { nil } }
    }

    private func slow(_ server: DemoServer) -> URLRoute {
        URLRoute(server.url, .get("slow", query: ["ms": 60_000]))
    }

    @Test(arguments: [RequestClient.Handling.usual, .inSteps])
    func `The indicator counts a request once`(handling: RequestClient.Handling) async throws {
        let server = try await DemoServer()
        let work = Task { try await client.send(slow(server), as: RequestID(row: 3), title: "GET /slow", handling) }
        #expect(await eventually { steps == [.began] && indicator.activityCount == 1 })
        work.cancel()
        await #expect(throws: CancellationError.self) { try await work.value }
        #expect(steps == [.began, .ended])
        // The tracker may be notifying the indicator of a step on another thread.
        #expect(await eventually { indicator.activityCount == 0 })
        await server.stop()
    }

    @Test func `A request is paused and cancelled`() async throws {
        let server = try await DemoServer()
        let work = Task {
            try await client.send(
                slow(server),
                as: RequestID(row: 0),
                title: "GET /slow",
                .suspended(after: .zero, for: .milliseconds(1))
            )
        }
        #expect(await eventually { steps.last == .resumed })
        work.cancel()
        await #expect(throws: CancellationError.self) { try await work.value }
        // The thread that resumed the request may post its end, later.
        #expect(await eventually { steps == [.began, .suspended, .resumed, .ended] && indicator.activityCount == 0 })
        await server.stop()
    }

    @Test func `The indicator shows the steps of a request`() async throws {
        let server = try await DemoServer()
        // More than the sockets' buffers, so that the sender waits for the reader.
        let body = RouteBody.data(Data(count: 32 << 20))
        let route = URLRoute(server.url, .post("upload", body: body).with(\.query, ["ms": 60_000]))
        let work = Task { try await client.send(route, as: RequestID(row: 0), title: "POST /upload", .inSteps) }
        #expect(await eventually { indicator.snapshot.label == "POST /upload: sending" })
        #expect(await eventually { (indicator.snapshot.progress ?? 0) > 0 })
        work.cancel()
        await #expect(throws: CancellationError.self) { try await work.value }
        #expect(await eventually { indicator.activityCount == 0 })
        await server.stop()
    }
}
