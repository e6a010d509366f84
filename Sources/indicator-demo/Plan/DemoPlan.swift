import Foundation
import HTTPTypes
import NetworkKit

/// A step of a run: a row of its timeline.
struct PlannedStep: Sendable {
    /// The title for the user.
    var title: String
    /// The delay after the beginning of the act, or after the end of the previous step.
    var delay = Duration.zero
    /// Makes the requests, and throws when a response is not as expected.
    var perform: @Sendable (StepContext) async throws -> Void
}

/// The plan of a run: acts, one after the other.
struct DemoPlan: Sendable {
    /// Steps that run concurrently.
    struct Act: Sendable {
        /// Concurrent sequences of steps.
        var chains: [[PlannedStep]]
    }

    /// The acts.
    var acts: [Act]

    /// Plans a run.
    ///
    /// - Parameters:
    ///   - server: where the requests go.
    ///   - features: the features of that server. Steps that need others are left out.
    init(server: URL, features: ServerFeatures) {
        acts = []
        if features.hasTimedAnswers || features.hasEcho {
            acts.append(Act(chains: TimedRequest.chains(server: server, features: features)))
        }
        let visit = StoreVisit()
        if features.hasStore {
            // Concurrently.
            acts.append(Act(chains: [[visit.freeFeed(server)], [visit.paidFeed(server)]]))
            acts.append(Act(chains: [[visit.icons, visit.iconsAgain]]))
        }
        if features.hasEcho {
            acts.append(Act(chains: [[visit.post(server), visit.upload(server)] + PlannedStep.echoes(server)]))
        }
    }

    /// The steps in the order of their rows.
    var steps: [PlannedStep] { acts.flatMap { $0.chains.joined() } }
}

extension PlannedStep {
    /// Requests to httpbin's endpoints: a status, redirects, an entity tag, a freshness lifetime.
    static func echoes(_ server: URL) -> [PlannedStep] {
        [
            PlannedStep(title: "GET /status/418") { context in
                let request = Endpoint.get("status/418").with(\.validation, .all)
                let status = try await context.send(URLRoute(server, request)).status
                try check(status == 418, "expected status 418, got \(status.code)")
            },
            PlannedStep(title: "GET /redirect/3") { context in
                let url = try await context.send(URLRoute(server, .get("redirect/3"))).url
                try check(url.path().hasSuffix("/get"), "expected a redirect to /get, got \(url)")
            },
            PlannedStep(title: "GET /bytes/1024") { context in
                let count = try await context.send(URLRoute(server, .get("bytes/1024"))).data.count
                try check(count == 1024, "expected 1024 bytes, got \(count)")
            },
            twice("etag/demo", server, .revalidatedCache, "expected status 304 for an unchanged entity tag"),
            twice("cache/60", server, .cache, "a response that is fresh for 60 seconds was loaded again"),
        ]
    }

    private static func twice(_ path: RoutePath, _ server: URL, _ source: NetworkResponse.Source, _ problem: String)
        -> PlannedStep
    {
        PlannedStep(title: "GET /\(path.encoded), twice") { context in
            let route = URLRoute(server, .get(path))
            let first = try await context.send(route)
            let second = try await context.send(route)
            try check(second.source == source, problem)
            try check(second.data == first.data, "the cached response differs from the server's")
        }
    }
}
