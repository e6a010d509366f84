import Foundation
import HTTPTypes
import NetworkKit

/// Requests whose answers httpbin sets: a status, redirects, a tag, a time to keep.
enum EchoSteps {
    static func all(_ server: URL) -> [PlannedStep] {
        [status(server), redirect(server), bytes(server), tag(server), kept(server)]
    }

    private static func status(_ server: URL) -> PlannedStep {
        PlannedStep(title: "GET /status/418") { context in
            let request = RouteRequest.get("status/418").with(\.validation, NetworkResponse.Validation.none)
            let status = try await context.send(URLRoute(server, request)).status
            try check(status == 418, "the status should have been 418")
        }
    }

    private static func redirect(_ server: URL) -> PlannedStep {
        PlannedStep(title: "GET /redirect/3") { context in
            let url = try await context.send(URLRoute(server, .get("redirect/3"))).url
            try check(url.path().hasSuffix("/get"), "the redirects led to \(url), not to /get")
        }
    }

    private static func bytes(_ server: URL) -> PlannedStep {
        PlannedStep(title: "GET /bytes/1024") { context in
            let count = try await context.send(URLRoute(server, .get("bytes/1024"))).data.count
            try check(count == 1024, "1024 bytes were asked for, and \(count) came")
        }
    }

    private static func tag(_ server: URL) -> PlannedStep {
        PlannedStep(title: "GET /etag/demo, twice") { context in
            let route = URLRoute(server, .get("etag/demo"))
            let first = try await context.send(route)
            let second = try await context.send(route)
            try check(
                second.source == .revalidatedCache,
                "the server should have said that what has the tag is unchanged"
            )
            try check(second.data == first.data, "the cache gave something else than the server had")
        }
    }

    private static func kept(_ server: URL) -> PlannedStep {
        PlannedStep(title: "GET /cache/60, twice") { context in
            let route = URLRoute(server, .get("cache/60"))
            let first = try await context.send(route)
            let second = try await context.send(route)
            try check(second.source == .cache, "what may be kept for 60 seconds was sent again")
            try check(second.data == first.data, "the cache gave something else than the server had")
        }
    }
}
