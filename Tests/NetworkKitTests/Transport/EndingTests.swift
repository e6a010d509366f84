import NetworkKit
import TestSupport

/// Processes that end while libcurl's threads are busy or end.
///
/// By default, OpenSSL releases its memory in `exit`: then, 1 of 10 of these processes crashed.
/// `INDICATOR_ENDINGS=10000 Scripts/test --filter EndingTests` ends ten thousand processes for each case.
@Suite struct EndingTests {
    /// How many processes end for each case.
    private static let count =
        Int(ProcessInfo.processInfo.environment["INDICATOR_ENDINGS"] ?? "") ?? (Tier.nightly.isRequired ? 50 : 4)
    private static let limit = TimeLimitTrait.Duration.minutes(max(5, count / 10))

    enum Way: String, CaseIterable {
        case answered, begin, release, `return`, exit, signal, cancel
        /// An observer blocks for ever.
        case blocked
    }

    /// A server, or proxy, that wants Digest credentials.
    private func server() throws -> RawServer {
        try RawServer { request, connection in
            if request.method == "CONNECT" {
                try connection.send("HTTP/1.1 200 Connected\r\n\r\n")
                return true
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

    private func processesEnd(
        _ url: URL,
        _ way: Way,
        _ environment: [String] = [],
        forget: @escaping @Sendable () -> Void = {}
    ) async throws {
        // One that hangs is killed, and its status is 137.
        let command = ["timeout", "--signal=KILL", "600", try Command.built("test-probe"), "network", "end"]
        try await withThrowingTaskGroup { group in
            let workers = 4
            for worker in 0..<workers {
                group.addTask {
                    for number in stride(from: worker, to: Self.count, by: workers) {
                        let folder = try TemporaryDirectory()
                        let own = ["ENDING_NUMBER=\(number)", "TMPDIR=\(folder.path)", "SWIFT_BACKTRACE=enable=no"]
                        let arguments = environment + own + command + [url.absoluteString, way.rawValue]
                        let result = try await Command.run("env", arguments)
                        #expect(result.status == (way == .signal ? 128 + 15 : 0), "\(result.error)")
                        forget()
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test(.timeLimit(limit), arguments: Way.allCases, [false, true])
    func `A process ends while its requests use digest, or a proxy`(_ way: Way, _ usesProxy: Bool) async throws {
        let server = try server()
        let proxy = ["-u", "no_proxy", "-u", "NO_PROXY", "http_proxy=\(server.url)"]
        let url = usesProxy ? try #require(URL(string: "http://host.invalid")) : server.url
        try await processesEnd(url, way, usesProxy ? proxy : [])
    }

    @Test("A process ends while its requests use HTTP/2", .needs(.http2), .timeLimit(limit), arguments: Way.allCases)
    func aProcessEndsWhileItsRequestsUseHTTP2(_ way: Way) async throws {
        let server = try await HTTP2Server()
        for name in ["index.html", "0", "1", "2", "3", "large"] {
            try Data(count: 3 << 20).write(to: server.folder.url.appending(path: name))
        }
        try await processesEnd(server.url, way, ["AUTHORITIES=\(server.authority.path)"], forget: server.forgetLog)
    }
}
