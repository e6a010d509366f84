import Foundation
import HTTPTypes
import NetworkKit

/// A request whose response takes a given time.
struct TimedRequest: Sendable {
    /// A response of both the demo's server and httpbin, at different paths.
    enum Answer: Sendable, Hashable {
        /// Immediate.
        case fast
        /// Status 404.
        case missing
        /// After a number of milliseconds.
        case slow(Int)
        /// A body that is sent slowly, for a number of milliseconds.
        case download(Int)
        /// The same at another path.
        case stream(Int)
        /// After reading the request's body for a number of milliseconds.
        case upload(Int)
        /// None: the port is closed.
        case closedPort
    }

    var answer: Answer
    /// The delay after the beginning, or after the end of the previous request.
    var delay: Duration
    var announcement = RequestClient.Announcement.notifications
    var interference = RequestClient.Interference.nothing

    /// Three scenes that take about nine seconds.
    private static let chains: [[TimedRequest]] = [
        // Too short to show: all of these end before the start delay.
        [Self(answer: .fast, delay: .zero)],
        [Self(answer: .fast, delay: .milliseconds(150))],
        [Self(answer: .missing, delay: .milliseconds(300))],
        [Self(answer: .closedPort, delay: .milliseconds(450))],
        // Two with a gap that is shorter than the completion delay: the indicator stays.
        [
            Self(answer: .download(2400), delay: .milliseconds(1300), announcement: .steps),
            Self(answer: .slow(900), delay: .milliseconds(100), announcement: .steps),
        ],
        // Overlapping requests with different outcomes: the indicator is shown once.
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

    /// The steps of all requests.
    static func chains(server: URL, features: ServerFeatures) -> [[PlannedStep]] {
        let closedPort = ClosedPort()
        return chains.map { chain in
            chain.map { $0.step(server: server, isOwn: features.hasTimedAnswers, closedPort: closedPort) }
        }
    }

    private func step(server: URL, isOwn: Bool, closedPort: ClosedPort?) -> PlannedStep {
        let request = (isOwn ? ownRequest : httpbinRequest).with(\.validation, ResponseValidation.none)
        let title = answer == .closedPort ? "GET closed port" : "\(request.method.rawValue) /\(request.path.encoded)"
        return PlannedStep(title: title, delay: delay) { context in
            var url = server
            if answer == .closedPort {
                guard let port = closedPort?.number, let closed = URL(string: "http://127.0.0.1:\(port)/") else {
                    throw CheckFailure(description: "could not reserve a closed port")
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
        // On a busy machine, the response may arrive before the cancellation.
        if case .cancelled = interference { expected.append(.cancelled) }
        guard !expected.contains(outcome), !Task.isCancelled else { return }
        throw CheckFailure(description: "expected \(expected[0].text)")
    }

    private var ownRequest: RouteRequest {
        switch answer {
        case .fast: .get("fast")
        case .missing: .get("missing")
        case .slow(let time): .get("slow", query: ["ms": JSON(time)])
        case .download(let time): .get("download", query: ["ms": JSON(time)])
        case .stream(let time): .get("stream", query: ["ms": JSON(time)])
        case .upload(let time):
            .post("upload", body: .data(Data(count: 8 << 20))).with(\.query, ["ms": JSON(time)])
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
        // A smaller body, because it is echoed.
        case .upload: .post("post", body: .data(Data(repeating: UInt8(ascii: "."), count: 256 << 10)))
        case .closedPort: .get("")
        }
    }
}

/// A port of this machine that refuses connections. It is bound, so that no other process can listen on it.
final class ClosedPort: Sendable {
    private let descriptor: Int32
    /// The port.
    let number: UInt16

    /// Binds a port; `nil` when that fails.
    init?() {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(descriptor, pointer, length) == 0 && getsockname(descriptor, pointer, &length) == 0
            }
        }
        number = UInt16(bigEndian: address.sin_port)
        guard isBound else { return nil }
    }

    // Also runs when `init` returns `nil`.
    deinit {
        if descriptor >= 0 { close(descriptor) }
    }
}
