import NetworkKit
import TestSupport

/// Tests that need a separate process, to measure it, kill it, fill its disk, or change its environment.
@Suite struct ProcessTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    #if THREAD_SANITIZER
    // The sanitizer needs several bytes for each byte of the program.
    private static let factor = 8
    #else
    private static let factor = 1
    #endif

    private func probe(_ arguments: String...) async throws -> (result: String, peak: Int) {
        let result = try await Command.run(try Command.built("test-probe"), ["network"] + arguments)
        #expect(result.status == 0, "\(result.error)")
        let lines = result.output.split(separator: "\n")
        return (String(try #require(lines.first)), try #require(lines.last.flatMap { Int($0) }))
    }

    @Test func `A gigabyte is uploaded in little memory`() async throws {
        let server = try RawServer.closing { request, connection in
            try connection.respond(text: "\(request.bodyCount)")
        }
        let file = try folder.write("", to: "large.bin")
        #expect(truncate(file, 1 << 30) == 0)
        let (result, peak) = try await probe("upload", server.url.absoluteString, file)
        let received = try #require(Int(result))
        #expect(((1 << 30) + 1..<(1 << 30) + 1000).contains(received))
        #expect(peak < 64 * 1024 * Self.factor, "\(peak) kB")
    }

    /// A server that sends zeros.
    private func server(bytes: Int) throws -> RawServer {
        try RawServer.closing { _, connection in
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(bytes)\r\n\r\n")
            let piece = Data(count: 1 << 20)
            for _ in 0..<(bytes >> 20) { try connection.send(piece) }
        }
    }

    @Test func `Two gigabytes are downloaded in little memory`() async throws {
        // As a stream, which uses the same code as a download to a file: that would need a disk of 2 GiB.
        let server = try server(bytes: 2 << 30)
        let (result, peak) = try await probe("stream", server.url.absoluteString, "-")
        #expect(result == "\(2 << 30)")
        // Foundation and its libraries alone use about 35 MB, most of it shared by all processes.
        let small = try await probe("requests", self.server(bytes: 1 << 20).url.absoluteString, "1").peak
        #expect(peak - small < 20 * 1000 * Self.factor, "\(peak) kB, and \(small) kB for a small response")
    }

    @Test(.timeLimit(.minutes(5))) func `The thread of a released client ends`() async throws {
        let server = try RawServer.silent()
        #expect(try await probe("abandon", server.url.absoluteString, "30").result == "ended")
    }

    private func request(by proxy: String) async throws -> Command.Result {
        let probe = [try Command.built("test-probe"), "network", "requests", "http://host.invalid/path", "1"]
        return try await Command.run("env", ["-u", "no_proxy", "-u", "NO_PROXY", "http_proxy=\(proxy)"] + probe)
    }

    @Test func `The proxy of the environment is used`() async throws {
        let proxy = try RawServer.closing { _, connection in try connection.respond(text: "by the proxy") }
        let result = try await request(by: proxy.url.absoluteString)
        #expect(result.output.hasPrefix("1\n"), "\(result.output)\(result.error)")
        #expect(proxy.requests.map(\.target) == ["http://host.invalid/path"])
    }

    @Test(arguments: [
        "http://user:s3cr3t@word@127.0.0.1:9", "http://user:s3cr3t/word@127.0.0.1:9", "http://s3cr3t/@127.0.0.1:9",
        "ftp://user:s3cr3t@127.0.0.1:9", "http://user:s3cr3t@127.0.0.1:port", "http://user:s3cr3t@host.invalid:9",
        "http://user:s3cr3t@127.0.0.1:9", "s3cr3t:s3cr3t:s3cr3t",
    ])
    func `No message contains the password of a proxy, or a part of it`(_ proxy: String) async throws {
        let result = try await request(by: proxy)
        #expect(result.output.hasPrefix("error: http://host.invalid/path: "), "\(result.output)")
        #expect(!result.output.contains("s3cr3t"), "\(result.output)")
    }

    @Test(.needs(.root), arguments: 0...6)
    func `With any limit of threads, downloads end, and later ones succeed`(_ more: Int) async throws {
        let server = try server(bytes: 1 << 20)
        // As that user, with root's access to files.
        let user = "--reuid=\(1_600_000_000 + Int(getpid()) * 16 + more)"
        let options = [user, "--clear-groups", "--inh-caps=+dac_override", "--ambient-caps=+dac_override"]
        let probe = ["timeout", "600", try Command.built("test-probe"), "network", "limited"]
        let result = try await Command.run("setpriv", options + probe + [server.url.absoluteString, "\(more)"])
        #expect(result.output.hasPrefix("10 ended, then 1\n"), "\(more): \(result.output)\(result.error)")
    }
}
