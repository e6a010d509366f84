import Foundation
import HTTPTypes
import NetworkKit

/// Which of the demo's requests a server supports.
struct ServerFeatures: Sendable, Hashable {
    /// The server cannot be used for a run.
    struct Unusable: Error, CustomStringConvertible {
        var description: String
    }

    /// Responses with a given duration: `/fast`, `/slow`, `/download`, `/upload`.
    var hasTimedAnswers = true
    /// Endpoints of httpbin: `/post`, `/delay`, `/status`, `/redirect`, `/etag`, `/cache`.
    var hasEcho = true
    /// The feeds and icons of a store.
    var hasStore = true

    /// The features of the demo's own server.
    static let all = ServerFeatures()

    /// Probes a server, with requests that no indicator shows.
    ///
    /// - Throws: ``Unusable`` when it cannot be reached or has no feature, or `CancellationError`.
    static func of(_ server: URL) async throws -> ServerFeatures {
        let client = NetworkClient(validation: .all, notificationCenter: NotificationCenter())
        func answer(_ request: Endpoint) async throws -> NetworkResponse {
            do {
                return try await client.send(URLRoute(server, request.with(\.timeout, .seconds(15))))
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
                description: "\(server) supports none of the demo's requests; use a server such as "
                    + "'indicator-demo serve' or httpbin"
            )
        }
        return features
    }

    /// The parts of the run that the server does not support, one sentence each.
    var omissions: [String] {
        var sentences: [String] = []
        if !hasTimedAnswers, !hasEcho { sentences.append("no timed requests: the server has neither /fast nor /delay") }
        if !hasStore { sentences.append("no feeds and no icons: the server has no store") }
        if !hasEcho { sentences.append("no posts: the server has no echo at /post") }
        return sentences
    }
}
