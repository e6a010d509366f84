import Foundation
import HTTPTypes
import NetworkKit

/// A request whose answer takes a time that the demo sets.
struct TimedRequest: Sendable {
    /// An answer that the demo's own server and httpbin both have, at paths of their own.
    enum Answer: Sendable, Hashable {
        /// At once.
        case fast
        /// That there is nothing.
        case missing
        /// After so many milliseconds.
        case slow(Int)
        /// Little by little for so many milliseconds.
        case download(Int)
        /// The same by another name.
        case stream(Int)
        /// After a body that is read for so many milliseconds.
        case upload(Int)
        /// None: nobody listens there.
        case closedPort
    }

    var answer: Answer
    /// How long after the beginning, or after the request before it ended.
    var delay: Duration
    var announcement = RequestRelay.Announcement.notifications
    var interference = RequestClient.Interference.nothing

    /// Three acts of a play that takes about nine seconds.
    private static let chains: [[TimedRequest]] = [
        // Too short to show: all of these are over before the start delay is.
        [Self(answer: .fast, delay: .zero)],
        [Self(answer: .fast, delay: .milliseconds(150))],
        [Self(answer: .missing, delay: .milliseconds(300))],
        [Self(answer: .closedPort, delay: .milliseconds(450))],
        // A long one, and after a gap that is shorter than the completion delay another: the indicator stays.
        [
            Self(answer: .download(2400), delay: .milliseconds(1300), announcement: .steps),
            Self(answer: .slow(900), delay: .milliseconds(100), announcement: .steps),
        ],
        // Overlapping: the indicator is shown once, whatever becomes of each.
        [Self(answer: .upload(1800), delay: .milliseconds(5400), announcement: .steps)],
        [Self(answer: .slow(1600), delay: .milliseconds(5800))],
        [
            Self(
                answer: .stream(1600),
                delay: .milliseconds(6000),
                interference: .suspended(after: .milliseconds(600), for: .milliseconds(500))
            )
        ],
        [
            Self(
                answer: .slow(5000),
                delay: .milliseconds(6600),
                interference: .cancelled(after: .milliseconds(900))
            )
        ],
    ]

    /// The steps of all of them.
    static func chains(server: URL, features: ServerFeatures) -> [[PlannedStep]] {
        let closedPort = ClosedPort()
        return chains.map { chain in
            chain.map { $0.step(server: server, isOwn: features.hasTimedAnswers, closedPort: closedPort) }
        }
    }

    private func step(server: URL, isOwn: Bool, closedPort: ClosedPort?) -> PlannedStep {
        let request = (isOwn ? ownRequest : httpbinRequest).with(\.validation, NetworkResponse.Validation.none)
        let title = answer == .closedPort ? "GET closed port" : "\(request.method.rawValue) /\(request.path.encoded)"
        return PlannedStep(title: title, delay: delay) { context in
            var url = server
            if answer == .closedPort {
                guard let port = closedPort?.number, let closed = URL(string: "http://127.0.0.1:\(port)/") else {
                    throw CheckFailure(description: "the system has no port to spare")
                }
                url = closed
            }
            let route = URLRoute(url, request.with(\.label, title))
            let result: Result<NetworkResponse, any Error>
            do {
                result = .success(
                    try await context.send(route, announcement: announcement, interference: interference)
                )
            } catch {
                result = .failure(error)
            }
            try check(RequestOutcome(result), isOwn: isOwn)
        }
    }

    private func check(_ outcome: RequestOutcome, isOwn: Bool) throws(CheckFailure) {
        var expected: [RequestOutcome] =
            switch answer {
            case .missing: [.answered(404)]
            case .closedPort: [.refused]
            case .upload: [.answered(isOwn ? 201 : 200)]
            case .fast, .slow, .download, .stream: [.answered(200)]
            }
        // An answer may be quicker than a machine that is busy is with cancelling.
        if case .cancelled = interference { expected.append(.cancelled) }
        guard !expected.contains(outcome), !Task.isCancelled else { return }
        throw CheckFailure(description: "the answer should have been: \(expected[0].text)")
    }

    private var ownRequest: RouteRequest {
        switch answer {
        case .fast: .get("fast")
        case .missing: .get("missing")
        case .slow(let time): .get("slow", query: ["ms": JSON(time)])
        case .download(let time): .get("download", query: ["ms": JSON(time)])
        case .stream(let time): .get("stream", query: ["ms": JSON(time)])
        case .upload(let time):
            .post("upload", body: .data(Data(count: 8 << 20)), query: ["ms": JSON(time)])
        case .closedPort: .get("")
        }
    }

    private var httpbinRequest: RouteRequest {
        switch answer {
        case .fast: .get("get")
        case .missing: .get("status/404")
        case .slow(let time): .get("delay/\(Double(time) / 1000)")
        case .download(let time), .stream(let time):
            .get("drip", query: ["duration": JSON(Double(time) / 1000), "numbytes": 40, "delay": 0])
        // It is echoed, so there is less of it.
        case .upload: .post("post", body: .data(Data(repeating: UInt8(ascii: "."), count: 256 << 10)))
        case .closedPort: .get("")
        }
    }
}
