import Foundation
import HTTPTypes
import NetworkKit

/// What a server can answer of what the demo asks for.
struct ServerFeatures: Sendable, Hashable {
    /// The server cannot be used for a run.
    struct Unusable: Error, CustomStringConvertible {
        var description: String
    }

    /// Answers that take as long as asked: `/fast`, `/slow`, `/download`, `/stream`, `/upload`.
    var hasTimedAnswers = true
    /// What httpbin has: `/post`, `/delay`, `/status`, `/redirect`, `/etag`, `/cache`.
    var hasEcho = true
    /// A store's feeds, with icons.
    var hasStore = true

    /// What the demo's own server has.
    static let all = ServerFeatures()

    /// Asks a server, with requests that no indicator hears of.
    ///
    /// - Throws: ``Unusable`` when it cannot be reached or has none of all this; `CancellationError`.
    static func of(_ server: URL) async throws -> ServerFeatures {
        let client = NetworkClient(validation: .none, notificationCenter: NotificationCenter())
        func answer(_ request: RouteRequest) async throws -> NetworkResponse {
            do {
                return try await client.send(URLRoute(server, request.with(\.timeout, 15)))
            } catch let error as NetworkError {
                throw Unusable(description: "the server cannot be used: \(error)")
            }
        }
        let fast = try await answer(.get("fast"))
        let echo = try await answer(.get("get", query: ["probe": "indicator"]))
        let feed = try await answer(Store.topFree(limit: 1, server: server).request)
        let features = ServerFeatures(
            hasTimedAnswers: fast.status == 200 && (try? fast.string()) == "fast\n",
            hasEcho: echo.status == 200 && (try? echo.json())?.args.probe.string == "indicator",
            hasStore: feed.status == 200 && (try? feed.decode(StoreFeed.self)) != nil
        )
        guard features.hasTimedAnswers || features.hasEcho || features.hasStore else {
            throw Unusable(
                description: "\(server) answers nothing that the demo asks for; it must be a server such as "
                    + "'indicator-demo serve' or httpbin"
            )
        }
        return features
    }

    /// What is left out of a run because the server does not have it, a sentence each.
    var omissions: [String] {
        var sentences: [String] = []
        if !hasTimedAnswers, !hasEcho { sentences.append("no timed requests: the server has neither /fast nor /delay") }
        if !hasStore { sentences.append("no feeds and no icons: the server has no store") }
        if !hasEcho { sentences.append("nothing is posted: the server has no echo at /post") }
        return sentences
    }
}
