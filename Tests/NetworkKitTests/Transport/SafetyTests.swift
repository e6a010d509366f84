import NetworkKit
import TestSupport

/// What libcurl does by default, and must not.
@Suite struct SafetyTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    /// Runs the probe, and kills it if it hangs.
    private func probe(_ arguments: [String]) throws -> [String] {
        ["timeout", "--signal=KILL", "120", try Command.built("test-probe"), "network"] + arguments
    }

    /// The look-up never ends.
    @Test(.needs("cc", package: "gcc"), .timeLimit(.minutes(5)))
    func `A look-up that hangs delays no other request, and not the end`() async throws {
        let server = try RawServer.closing { _, connection in try connection.respond(text: "hello") }
        let source = """
            #define _GNU_SOURCE
            #include <dlfcn.h>
            #include <netdb.h>
            #include <string.h>
            #include <unistd.h>
            int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                            struct addrinfo **list) {
                if (name && !strcmp(name, "hang.example")) for (;;) pause();
                int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
                *(void **)&next = dlsym(RTLD_NEXT, "getaddrinfo");
                return next(name, service, hints, list);
            }
            """
        let (file, library) = (try folder.write(source, to: "before.c"), folder.appending("before.so"))
        let made = try await Command.run("cc", ["-shared", "-fPIC", "-o", library, file, "-ldl"], package: "gcc")
        #expect(made.status == 0, "\(made.error)")
        let lookUp = try probe(["lookup", server.url.absoluteString, "http://hang.example"])
        let result = try await Command.run("env", ["LD_PRELOAD=\(library)"] + lookUp)
        #expect(result.output.hasPrefix("timeLimitExceeded, then 5 bytes\n"), "\(result.output)\(result.error)")
    }

    /// libcurl looks for authorities in a file and in a folder: here, the server's is in the folder.
    @Test(
        .needs(.certificates),
        .needs(.mounts),
        .timeLimit(.minutes(5)),
        arguments: ["system", "other", "host", "proxy"]
    )
    func `Other authorities replace the system's`(_ trusted: String) async throws {
        let server = try await TLSServer(
            serving: """
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok")
                connection.close()
                """
        )
        var environment = ["-u", "no_proxy", "-u", "NO_PROXY"]
        if trusted != "system" { environment.append("AUTHORITIES=\(server.certificates.path("other.pem"))") }
        if trusted == "proxy" { environment.append("http_proxy=\(server.url)") }
        if trusted == "host" { environment.append("TRUSTING=\(try #require(server.url.host()))") }
        let target = trusted == "proxy" ? "http://host.invalid" : server.url.absoluteString
        let script = """
            cp "$0/other.pem" /etc/ssl/certs/ca-certificates.crt && cp "$0/ca.pem" /etc/ssl/certs &&
                openssl rehash /etc/ssl/certs && exec env "$@"
            """
        let command = ["sh", "-c", script, server.certificates.folder.path] + environment
        let requests = try probe(["requests", target, "1"])
        let result = try await SmallDisk.run(command + requests, size: "1m", over: "/etc/ssl/certs")
        // With the system's, it shows that the server's is among them.
        let answer = trusted == "system" ? "1\n" : "SSL certificate problem"
        #expect(result.output.contains(answer), "\(result.output)\(result.error)")
    }

    /// The server has read a part of the request on a connection that is used again, and closes it.
    @Test(arguments: [HTTPRequest.Method.post, .patch], [0, 5_000])
    func `A request that is not idempotent is sent once`(_ method: HTTPRequest.Method, _ size: Int) async throws {
        for point in 0..<20 {
            let heads = Counter()
            let server = try RawServer { _, connection in
                try connection.respond(text: "first")
                // Another request on the same connection, if it does not come on a new one.
                var part = [UInt8](repeating: 0, count: 1 + point * 250)  // fewer than it sends
                let flags = size == 0 ? 0 : Int32(MSG_WAITALL)
                if recv(connection.descriptor, &part, part.count, flags) > 0 { _ = heads.next() }
                return false
            }
            let client = NetworkClient(retry: .init(maximumAttempts: 3, initialDelay: .milliseconds(1)))
            _ = try await client.send(route(server))
            let body = size == 0 ? RouteBody.none : .data(Data(count: size))
            let error = await thrown { try await client.send(route(server, Endpoint(method, "", body: body))) }
            let count = heads.current + server.requests.count { $0.method == method.rawValue }
            #expect(count <= 1, "point \(point): \(error as Any)")
        }
    }

    @Test(.needs("python3", package: "python3"), .timeLimit(.minutes(5)))
    func `The maximum size is enforced where bytes arrive`() async throws {
        let script = "import base64, gzip; print(base64.b64encode(gzip.compress(bytes(1 << 28))).decode())"
        let bomb = try #require(Data(base64Encoded: await Command.python(script).trimmingCharacters(in: .newlines)))
        let server = try RawServer.closing { _, connection in
            try connection.respond(headers: ["Content-Encoding: gzip"], body: bomb)
        }
        let task = NetworkClient(options: .init { $0.maximumBodySize = 1 << 20 }).start(route(server))
        let error = await thrown { try await task.response }
        if case .responseTooLarge(_, 1 << 20)? = error as? NetworkError {} else { Issue.record("\(error as Any)") }
        #expect(task.progress.bytesReceived <= 1 << 20)
    }

    @Test(.timeLimit(.minutes(5))) func `Streams that are not read keep no request from beginning`() async throws {
        let server = try RawServer.keeping { request, connection in
            try connection.respond(body: Data(count: request.target == "/large" ? 16 << 20 : 5))
        }
        let client = NetworkClient()
        var streams: [ResponseStream] = []
        for _ in 0..<6 { streams.append(try await client.bytes(route(server, .get("large")))) }
        #expect(try await client.send(route(server)).data.count == 5)
        for stream in streams {
            var count = 0
            for try await piece in stream { count += piece.count }
            #expect(count == 16 << 20)
        }
    }
}
