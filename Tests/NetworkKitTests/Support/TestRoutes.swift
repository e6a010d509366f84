import Foundation
import NetworkKit

/// A route for any request.
func route(_ server: RawServer, _ request: RouteRequest = .get("")) -> URLRoute {
    URLRoute(server.url, request)
}

/// The error that an asynchronous function throws, or `nil`.
func thrown(_ body: () async throws -> Void) async -> (any Error)? {
    do {
        try await body()
        return nil
    } catch {
        return error
    }
}

/// A temporary folder, removed when the value is deallocated.
final class TestFolder: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "network-kit-tests-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }
}
