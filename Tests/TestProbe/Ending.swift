import Foundation
import NetworkKit

/// Ends the process while libcurl's threads are busy, or about to end.
///
/// The way is `answered` (one request, whose client is released), or one in which requests, uploads and downloads
/// are going on: `release` (their client, when `main` returns), `return` from `main`, `exit` on another
/// thread, `signal`, `cancel` (all requests), `begin` (the first requests), `blocked` (by observers).
enum Ending {
    /// Until the end of the process: otherwise, the client is released before.
    nonisolated(unsafe) private static var kept: [NetworkClient] = []

    static func end(_ url: URL, _ way: String) async throws {
        let client = NetworkClient(options: NetworkProbe.options)
        let credentials = Credentials(user: "user", password: "secret")
        func route(_ request: Endpoint) -> URLRoute { URLRoute(url, request.with(\.credentials, credentials)) }
        if way != "begin" { _ = try await client.send(route(.get(""))) }
        guard way != "answered" else { return }
        let file = FileManager.default.temporaryDirectory.appending(path: "\(getpid())")
        let download = Task { _ = try? await client.download(route(.get("large")), to: file) }
        let tasks = (0..<8).map { number in
            let upload = Endpoint.post("echo", body: .data(Data(count: 1 << 20)))
            return client.start(route(number < 4 ? .get("\(number)") : upload)) { _ in
                if way == "blocked" { sleep(3600) }
            }
        }
        // Not always in the same state.
        usleep(UInt32(ProcessInfo.processInfo.environment["ENDING_NUMBER"].flatMap { Int($0) } ?? 0) * 701 % 3000)
        if way != "release" { kept.append(client) }
        switch way {
        case "exit": Thread.detachNewThread { exit(0) }
        case "signal": kill(getpid(), SIGTERM)
        case "cancel":
            download.cancel()
            for task in tasks { task.cancel() }
        default: break
        }
        // Another thread may be the one to get the signal.
        if ["exit", "signal"].contains(way) { try await Task.sleep(for: .seconds(3600)) }
    }
}
