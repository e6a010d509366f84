import Foundation
import HTTPTypes
import NetworkKit

/// Requests to httpbin's endpoints: a status, redirects, an entity tag, a freshness lifetime.
enum EchoSteps {
    static func all(_ server: URL) -> [PlannedStep] {
        [status(server), redirect(server), bytes(server), tag(server), kept(server)]
    }

    private static func status(_ server: URL) -> PlannedStep {
        PlannedStep(title: "GET /status/418") { context in
            let request = RouteRequest.get("status/418").with(\.validation, ResponseValidation.none)
            let status = try await context.send(URLRoute(server, request)).status
            try check(status == 418, "expected status 418, got \(status.code)")
        }
    }

    private static func redirect(_ server: URL) -> PlannedStep {
        PlannedStep(title: "GET /redirect/3") { context in
            let url = try await context.send(URLRoute(server, .get("redirect/3"))).url
            try check(url.path().hasSuffix("/get"), "expected a redirect to /get, got \(url)")
        }
    }

    private static func bytes(_ server: URL) -> PlannedStep {
        PlannedStep(title: "GET /bytes/1024") { context in
            let count = try await context.send(URLRoute(server, .get("bytes/1024"))).data.count
            try check(count == 1024, "expected 1024 bytes, got \(count)")
        }
    }

    private static func tag(_ server: URL) -> PlannedStep {
        PlannedStep(title: "GET /etag/demo, twice") { context in
            let route = URLRoute(server, .get("etag/demo"))
            let first = try await context.send(route)
            let second = try await context.send(route)
            try check(
                second.source == .revalidatedCache,
                "expected status 304 for an unchanged entity tag"
            )
            try check(second.data == first.data, "the cached response differs from the server's")
        }
    }

    private static func kept(_ server: URL) -> PlannedStep {
        PlannedStep(title: "GET /cache/60, twice") { context in
            let route = URLRoute(server, .get("cache/60"))
            let first = try await context.send(route)
            let second = try await context.send(route)
            try check(second.source == .cache, "a response that is fresh for 60 seconds was loaded again")
            try check(second.data == first.data, "the cached response differs from the server's")
        }
    }
}
