import Foundation
import NetworkKit
import TestSupport
import Testing

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
            if request.target == "/stuck" {
                connection.waitForEnd()
                return false
            }
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

    private func run(
        _ url: URL,
        _ way: String,
        _ environment: [String] = [],
        in folder: TemporaryDirectory
    ) async throws -> Command.Result {
        let probe = try Command.built("test-probe")
        let environment = environment + ["TMPDIR=\(folder.url.path)", "SWIFT_BACKTRACE=enable=no"]
        // One that hangs is killed, and its status is 137.
        let command = ["timeout", "--signal=KILL", "600", probe, "network", "end", url.absoluteString, way]
        return try await Command.run("env", environment + command)
    }

    private func processesEnd(
        _ url: URL,
        _ way: Way,
        _ environment: [String] = [],
        forget: @escaping @Sendable () -> Void
    ) async throws {
        try await withThrowingTaskGroup { group in
            let workers = 4
            for worker in 0..<workers {
                group.addTask {
                    for number in stride(from: worker, to: Self.count, by: workers) {
                        let environment = environment + ["ENDING_NUMBER=\(number)"]
                        let result = try await run(url, way.rawValue, environment, in: TemporaryDirectory())
                        #expect(result.status == (way == .signal ? 128 + 15 : 0), "\(result.error)")
                        forget()
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test(.timeLimit(limit), arguments: Way.allCases)
    func `A process ends while its requests use digest`(_ way: Way) async throws {
        let server = try server()
        try await processesEnd(server.url, way, forget: server.forgetRequests)
    }

    @Test(.timeLimit(limit), arguments: Way.allCases)
    func `A process ends while its requests use a proxy`(_ way: Way) async throws {
        let server = try server()
        let url = try #require(URL(string: "http://host.invalid"))
        try await processesEnd(
            url,
            way,
            ["-u", "no_proxy", "-u", "NO_PROXY", "http_proxy=\(server.url)"],
            forget: server.forgetRequests
        )
    }

    @Test(.needs(.certificates), .timeLimit(limit), arguments: Way.allCases)
    func `A process ends while its requests use TLS`(_ way: Way) async throws {
        let certificates = try await Certificates()
        let script = """
            import http.server, ssl, sys
            class Handler(http.server.BaseHTTPRequestHandler):
                protocol_version = "HTTP/1.1"
                def do_GET(self):
                    self.send_response(200)
                    self.send_header("Content-Length", str(3 << 20))
                    self.end_headers()
                    self.wfile.write(bytes(3 << 20))
                def do_POST(self):
                    self.rfile.read(int(self.headers["Content-Length"]))
                    self.do_GET()
                def log_message(self, *arguments): pass
            class Server(http.server.ThreadingHTTPServer):
                request_queue_size = 100
                def handle_error(self, *arguments): pass
            server = Server(("127.0.0.1", 0), Handler)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(sys.argv[1], sys.argv[2])
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
            print(server.server_port, flush=True)
            server.serve_forever()
            """
        let arguments = ["-c", script, certificates.path("server.pem"), certificates.path("server.key")]
        let server = try Daemon("python3", arguments, package: "python3")
        #expect(await eventually { server.output.hasSuffix("\n") })
        let url = try #require(URL(string: "https://127.0.0.1:\(server.output.dropLast())"))
        try await processesEnd(url, way, ["AUTHORITIES=\(certificates.path("ca.pem"))"]) {}
    }

    @Test("A process ends while its requests use HTTP/2", .needs(.http2), .timeLimit(limit), arguments: Way.allCases)
    func aProcessEndsWhileItsRequestsUseHTTP2(_ way: Way) async throws {
        let server = try await HTTP2Server()
        for name in ["index.html", "0", "1", "2", "3", "large"] {
            try Data(count: 3 << 20).write(to: server.folder.url.appending(path: name))
        }
        try await processesEnd(server.url, way, ["AUTHORITIES=\(server.certificate.path)"], forget: server.forgetLog)
    }

    @Test(.timeLimit(.minutes(5))) func `A process ends although a body blocks the network thread`() async throws {
        let server = try server()
        let folder = try TemporaryDirectory()
        #expect(mkfifo(folder.url.path + "/pipe", 0o600) == 0)
        let result = try await run(server.url, "stuck", in: folder)
        #expect(result.status == 0, "\(result.error)")
        #expect(result.output.hasPrefix("ended\n"))
    }
}
