import Foundation
import NetworkKit
import TestSupport
import Testing

/// Processes that end while libcurl's threads are busy or end.
///
/// OpenSSL releases its memory in `exit`: without the gate, 1 of 10 of these processes crashed.
@Suite struct ExitGateTests {
    private let folder: TemporaryDirectory

    init() throws {
        folder = try TemporaryDirectory()
    }

    enum Way: String, CaseIterable {
        case answered, begin, release, `return`, exit, signal, cancel
        /// An observer blocks for ever.
        case blocked
    }

    /// A server, or proxy, that wants Digest credentials.
    private func server() throws -> RawServer {
        try RawServer { request, connection in
            if request.target == "/stuck" {
                connection.waitForEnd()
                return false
            }
            let challenge = "WWW-Authenticate: Digest realm=\"a\", nonce=\"b\", qop=\"auth\""
            if request.headers["authorization"] == nil {
                try connection.respond("401 Unauthorized", headers: [challenge])
            } else {
                try connection.respond(body: Data(count: request.target.hasSuffix("large") ? 3 << 20 : 100))
            }
            return true
        }
    }

    private func run(_ url: URL, _ way: String, _ environment: [String] = []) async throws -> Command.Result {
        let probe = try Command.built("network-probe")
        let environment = environment + ["TMPDIR=\(folder.url.path)", "SWIFT_BACKTRACE=enable=no"]
        return try await Command.run("env", environment + [probe, "end", url.absoluteString, way])
    }

    private func processesEnd(_ url: URL, _ way: Way, _ environment: [String] = []) async throws {
        try await withThrowingTaskGroup { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<3 {
                        let result = try await run(url, way.rawValue, environment)
                        #expect(result.status == (way == .signal ? 128 + 15 : 0), "\(result.error)")
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test(.timeLimit(.minutes(5)), arguments: Way.allCases)
    func aProcessEndsWhileItsRequestsUseDigest(_ way: Way) async throws {
        let server = try server()
        try await processesEnd(server.url, way)
    }

    @Test(.timeLimit(.minutes(5)), arguments: Way.allCases)
    func aProcessEndsWhileItsRequestsUseAProxy(_ way: Way) async throws {
        let server = try server()
        let url = try #require(URL(string: "http://host.invalid"))
        try await processesEnd(url, way, ["-u", "no_proxy", "-u", "NO_PROXY", "http_proxy=\(server.url)"])
    }

    @Test(.timeLimit(.minutes(5)), arguments: Way.allCases)
    func aProcessEndsWhileItsRequestsUseHTTP2(_ way: Way) async throws {
        let server = try await HTTP2Server()
        for name in ["index.html", "0", "1", "2", "3", "large"] {
            try Data(count: 3 << 20).write(to: server.folder.url.appending(path: name))
        }
        try await processesEnd(server.url, way, ["AUTHORITIES=\(server.certificate.path)"])
    }

    /// The gate waits for it, but not for ever.
    @Test(.timeLimit(.minutes(5))) func aProcessEndsAlthoughABodyBlocksTheNetworkThread() async throws {
        let server = try server()
        #expect(mkfifo(folder.url.path + "/pipe", 0o600) == 0)
        let result = try await run(server.url, "stuck")
        #expect(result.status == 0, "\(result.error)")
        #expect(result.output.hasPrefix("ended\n"))
    }
}
