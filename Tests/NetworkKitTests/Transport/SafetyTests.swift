import NetworkKit
import TestSupport

/// What libcurl does by default, and must not.
@Suite struct SafetyTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    // MARK: - Another C library

    /// Runs the probe with functions in front of those of the C library. One that hangs is killed.
    private func probe(_ source: String, _ environment: [String], _ arguments: [String]) async throws -> String {
        let (source, library) = (try folder.write(source, to: "before.c"), folder.appending("before.so"))
        let made = try await Command.run("cc", ["-shared", "-fPIC", "-o", library, source, "-ldl"], package: "gcc")
        #expect(made.status == 0, "\(made.error)")
        let command = ["timeout", "--signal=KILL", "120", try Command.built("test-probe"), "network"]
        let result = try await Command.run("env", environment + ["LD_PRELOAD=\(library)"] + command + arguments)
        return result.output + result.error
    }

    /// Its look-up never ends.
    @Test(.needs("cc", package: "gcc"), .timeLimit(.minutes(5)))
    func `A look up that hangs delays no other request and not the end`() async throws {
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
        let output = try await probe(source, [], ["lookup", server.url.absoluteString, "http://hang.example"])
        #expect(output.hasPrefix("timeLimitExceeded, then 5 bytes\n"), "\(output)")
    }

    /// libcurl looks for authorities in a file and in a folder.
    @Test(
        .needs(.certificates + ["cc": "gcc"]),
        .timeLimit(.minutes(5)),
        arguments: ["system", "other", "host", "proxy"]
    )
    func `Other authorities replace the systems`(_ trusted: String) async throws {
        let address = try LoopbackAddress()
        let certificates = try await Certificates(address: address.host)
        let system = folder.url.appending(path: "system")
        try FileManager.default.createDirectory(at: system, withIntermediateDirectories: true)
        let authority = system.appending(path: "ca.pem").path
        try FileManager.default.copyItem(atPath: certificates.path("ca.pem"), toPath: authority)
        try FileManager.default.copyItem(
            atPath: certificates.path("other.pem"),
            toPath: system.appending(path: "ca-certificates.crt").path
        )
        #expect(try await Command.run("openssl", ["rehash", system.path]).status == 0)
        let files = ["-cert", certificates.path("server.pem"), "-key", certificates.path("server.key")]
        let server = try Daemon(["openssl", "s_server", "-accept", "\(address.host):\(address.port)", "-www"] + files)
        #expect(await server.prints("ACCEPT"))
        let source = """
            #define _GNU_SOURCE
            #include <dlfcn.h>
            #include <stdio.h>
            #include <stdlib.h>
            #include <string.h>
            #include <sys/stat.h>
            static const char *moved(const char *path, char *buffer) {
                const char *start = "/etc/ssl/certs/";
                if (strncmp(path, start, strlen(start))) return path;
                snprintf(buffer, 4096, "%s/%s", getenv("SYSTEM"), path + strlen(start));
                return buffer;
            }
            FILE *fopen64(const char *path, const char *mode) {
                char buffer[4096];
                FILE *(*next)(const char *, const char *);
                *(void **)&next = dlsym(RTLD_NEXT, "fopen64");
                return next(moved(path, buffer), mode);
            }
            FILE *fopen(const char *path, const char *mode) { return fopen64(path, mode); }
            #define MOVED(function, type) \\
                int function(const char *path, struct type *result) { \\
                    char buffer[4096]; \\
                    int (*next)(const char *, struct type *); \\
                    *(void **)&next = dlsym(RTLD_NEXT, #function); \\
                    return next(moved(path, buffer), result); \\
                }
            MOVED(stat, stat)
            MOVED(stat64, stat64)
            MOVED(lstat, stat)
            MOVED(lstat64, stat64)
            """
        let url = "https://\(address.host):\(address.port)"
        var environment = ["-u", "no_proxy", "-u", "NO_PROXY", "SYSTEM=\(system.path)"]
        if trusted != "system" { environment.append("AUTHORITIES=\(certificates.path("other.pem"))") }
        if trusted == "proxy" { environment.append("http_proxy=\(url)") }
        if trusted == "host" { environment.append("TRUSTING=\(address.host)") }
        let target = trusted == "proxy" ? "http://host.invalid" : url
        let output = try await probe(source, environment, ["requests", target, "1"])
        if trusted == "system" {
            // The trick works.
            #expect(output.hasPrefix("1\n"), "\(output)")
        } else {
            #expect(output.contains("SSL certificate problem"), "\(output)")
        }
    }

    // MARK: - Repeated requests

    /// The server has read a part of the request on a connection that is used again, and closes it.
    @Test(arguments: [HTTPRequest.Method.post, .patch], [0, 5_000])
    func `A request that is not idempotent is sent once`(_ method: HTTPRequest.Method, _ size: Int) async throws {
        for point in 0..<20 {
            let heads = Locked(0)
            let server = try RawServer { request, connection in
                try connection.respond(text: "first")
                // Another request on the same connection, or a new one.
                var read = 0
                let limit = 1 + point * 300
                var buffer = [UInt8](repeating: 0, count: 300)
                while read < limit {
                    let count = recv(connection.descriptor, &buffer, min(buffer.count, limit - read), 0)
                    guard count > 0 else { break }
                    if read == 0 { heads.withLock { $0 += 1 } }
                    read += count
                    if size == 0, point > 0 { break }
                }
                return false
            }
            let client = NetworkClient(retry: .init(maximumAttempts: 3, initialDelay: .milliseconds(1)))
            _ = try await client.send(route(server))
            let body = size == 0 ? RouteBody.none : .data(Data(count: size))
            let error = await thrown { try await client.send(route(server, Endpoint(method, "", body: body))) }
            let count = heads.withLock { $0 } + server.requests.count { $0.method == method.rawValue }
            #expect(count <= 1, "point \(point): \(error as Any)")
        }
    }

    // MARK: - Compressed bodies

    /// A server that sends a quarter of a gigabyte of zeros, compressed.
    private func bombServer() async throws -> RawServer {
        let script = """
            import base64, zlib
            coder = zlib.compressobj(9, zlib.DEFLATED, 31)
            pieces = [coder.compress(bytes(1 << 20)) for _ in range(256)]
            print(base64.b64encode(b"".join(pieces) + coder.flush()).decode())
            """
        let bomb = try #require(Data(base64Encoded: await Python.run(script).trimmingCharacters(in: .newlines)))
        return try RawServer.closing { _, connection in
            try connection.respond(headers: ["Content-Encoding: gzip"], body: bomb)
        }
    }

    @Test(.needs("python3", package: "python3"), .timeLimit(.minutes(5)))
    func `A body that grows a thousand times is read in pieces`() async throws {
        let server = try await bombServer()
        var count = 0
        var pieces = 0
        for try await piece in try await NetworkClient().bytes(route(server)) {
            count += piece.count
            pieces += 1
            // A slow reader: each piece that it takes continues the transfer, and the next one pauses it again.
            if pieces < 200 { try await Task.sleep(for: .milliseconds(5)) }
        }
        #expect(count == 256 << 20)
    }

    @Test(.needs("python3", package: "python3"), .timeLimit(.minutes(5)))
    func `The maximum size is enforced where bytes arrive`() async throws {
        let server = try await bombServer()
        let task = NetworkClient(options: .init { $0.maximumBodySize = 1 << 20 }).start(route(server))
        let error = await thrown { try await task.response }
        if case .responseTooLarge(_, 1 << 20)? = error as? NetworkError {} else { Issue.record("\(error as Any)") }
        #expect(task.progress.bytesReceived <= 1 << 20)
    }

    // MARK: - Streams that are not read

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
