import Foundation
import NetworkKit

/// A request whose response takes a given time.
struct TimedRequest: Sendable {
    /// The request to the demo's own server.
    var own: Endpoint
    /// The same to httpbin, which has other paths.
    var httpbin: Endpoint
    var expected = RequestOutcome.answered(200)
    /// The delay after the beginning, or after the end of the previous request.
    var delay: Duration
    var handling = RequestClient.Handling.usual

    /// A response after a number of milliseconds.
    private static func slow(_ time: Int, after delay: Int, _ handling: RequestClient.Handling = .usual) -> Self {
        Self(
            own: .get("slow", query: ["ms": JSON(time)]),
            httpbin: .get("delay/\(Double(time) / 1000)"),
            delay: .milliseconds(delay),
            handling: handling
        )
    }

    /// A body that is sent slowly, for a number of milliseconds.
    private static func download(_ time: Int, after delay: Int, _ handling: RequestClient.Handling) -> Self {
        let query: RouteParameters = ["duration": JSON(Double(time) / 1000), "numbytes": 40, "delay": 0]
        return Self(
            own: .get("download", query: ["ms": JSON(time)]),
            httpbin: .get("drip", query: query),
            delay: .milliseconds(delay),
            handling: handling
        )
    }

    /// Three scenes that take about nine seconds.
    private static let chains: [[TimedRequest]] = [
        // Too short to show: all of these end before the start delay.
        [Self(own: .get("fast"), httpbin: .get("get"), delay: .zero)],
        [Self(own: .get("fast"), httpbin: .get("get"), delay: .milliseconds(150))],
        [Self(own: .get("missing"), httpbin: .get("status/404"), expected: .answered(404), delay: .milliseconds(300))],
        [Self(own: .get(""), httpbin: .get(""), expected: .refused, delay: .milliseconds(450))],
        // Two with a gap that is shorter than the completion delay: the indicator stays.
        [download(2400, after: 1300, .inSteps), slow(900, after: 100, .inSteps)],
        // Overlapping requests with different outcomes: the indicator is shown once.
        [
            Self(
                own: .post("upload", body: .data(Data(count: 8 << 20))).with(\.query, ["ms": 1800]),
                // A smaller body, because it is echoed.
                httpbin: .post("post", body: .data(Data(repeating: UInt8(ascii: "."), count: 256 << 10))),
                delay: .milliseconds(5400),
                handling: .inSteps
            )
        ],
        [slow(1600, after: 5800)],
        [download(1600, after: 6000, .suspended(after: .milliseconds(600), for: .milliseconds(500)))],
        [slow(9000, after: 6600, .cancelled(after: .milliseconds(900)))],
    ]

    /// The steps of all requests.
    static func chains(server: URL, features: ServerFeatures) -> [[PlannedStep]] {
        chains.map { chain in chain.map { $0.step(server: server, isOwn: features.hasTimedAnswers) } }
    }

    private func step(server: URL, isOwn: Bool) -> PlannedStep {
        let request = (isOwn ? own : httpbin).with(\.validation, .all)
        let title = expected == .refused ? "GET closed port" : "\(request.method.rawValue) /\(request.path.encoded)"
        return PlannedStep(title: title, delay: delay) { context in
            // Nothing listens on the port of tcpmux.
            let url = expected == .refused ? URL(string: "http://127.0.0.1:1") ?? server : server
            let route = URLRoute(url, request.with(\.label, title))
            _ = try? await context.send(route, handling)
            let outcome = context.outcomes.last
            // On a busy machine, the response may arrive before the cancellation.
            var isExpected = outcome == expected
            if case .cancelled = handling { isExpected = isExpected || outcome == .cancelled }
            try check(isExpected, "expected \(expected.text)")
        }
    }
}
