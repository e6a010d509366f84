import TestSupport

@testable import NetworkKit

/// Downloads that continue the part of an earlier call, or of another process.
@Suite struct ResumptionTests {
    private static let body = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 / 3) })
    private static let names = (part: ".file.bin.part", record: ".file.bin.part.json")

    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private var target: URL { folder.url.appending(path: "file.bin") }

    private func count(_ name: String) -> Int {
        (try? FileManager.default.attributesOfItem(atPath: folder.appending(name))[.size] as? NSNumber)?.intValue ?? -1
    }

    /// A server whose first answer stops in the middle: it breaks off, or waits for the end of the connection. The
    /// others are complete; they follow `If-Range`.
    private func server(
        waits: Bool = false,
        later: String? = nil,
        part: (@Sendable (Int) -> (fields: [String], body: Data))? = nil
    ) throws -> RawServer {
        let count = Counter()
        let tag = "ETag: \"x\""
        return try RawServer.closing { request, connection in
            let isFirst = count.next() == 1
            if isFirst {
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\(tag)\r\n\r\n")
                try connection.send(Self.body.prefix(60_000))
                return waits ? connection.waitForEnd() : ()
            }
            let current = later ?? tag
            guard let start = request.headers["range"].flatMap({ Int($0.dropFirst("bytes=".count).dropLast()) }),
                part != nil || current.hasSuffix(": \(request.headers["if-range"] ?? "-")")
            else {
                return try connection.respond(headers: [current], body: Self.body)
            }
            let whole = ["Content-Range: bytes \(start)-99999/100000", current]
            let rest = part?(start) ?? (fields: whole, body: Self.body.dropFirst(start))
            try connection.respond("206 Partial Content", headers: rest.fields, body: rest.body)
        }
    }

    /// A call that ends in the middle.
    private func leavePart(_ server: RawServer, _ request: Endpoint = .get("")) async throws {
        await #expect(throws: NetworkError.self) {
            try await NetworkClient().download(route(server, request), to: target, acrossRuns: true)
        }
        #expect(try folder.names() == [Self.names.part, Self.names.record])
        #expect(count(Self.names.part) == 60_000)
    }

    private func ranges(_ server: RawServer) -> [String?] { server.requests.map { $0.headers["range"] } }

    /// A call that ends with the whole file, after it has continued the part or begun again.
    @discardableResult
    private func complete(
        _ server: RawServer,
        isContinued: Bool = true,
        onProgress: (@Sendable (TransferProgress) -> Void)? = nil,
        location: SourceLocation = #_sourceLocation
    ) async throws -> Int {
        let response = try await NetworkClient()
            .download(route(server), to: target, acrossRuns: true, onProgress: onProgress)
        #expect(ranges(server) == [nil, isContinued ? "bytes=60000-" : nil], sourceLocation: location)
        #expect(try Data(contentsOf: target) == Self.body, sourceLocation: location)
        return response.status.code
    }

    /// Another process that downloads the file.
    private func probe(downloading server: RawServer) throws -> Daemon {
        try Daemon([try Command.built("test-probe"), "network", "download", server.url.absoluteString, target.path])
    }

    // MARK: - Continued

    @Test func `A later call continues the part`() async throws {
        let server = try server()
        try await leavePart(server)
        #expect(try [folder.mode(Self.names.part), folder.mode(Self.names.record)] == [0o600, 0o600])
        let reported = Locked<[TransferProgress]>([])
        let status = try await complete(server) { progress in reported.withLock { $0.append(progress) } }
        #expect(status == 206)
        #expect(try folder.names() == ["file.bin"])
        #expect(reported.withLock { $0.allSatisfy { $0.bytesReceived == 0 || $0.bytesReceived >= 60_000 } })
        #expect(reported.withLock { $0.last?.bytesReceived } == 100_000)
    }

    @Test func `The part of a killed process is continued`() async throws {
        let server = try server(waits: true)
        let probe = try probe(downloading: server)
        #expect(await eventually { count(Self.names.part) == 60_000 })
        await probe.end(SIGKILL)
        #expect(try folder.names() == [Self.names.part, Self.names.record])
        try await complete(server)
        #expect(try folder.names() == ["file.bin"])
    }

    @Test(.needs(.mounts))
    func `The part on a full disk is continued when there is space`() async throws {
        let server = try RawServer.closing { request, connection in
            let start = request.headers["range"].flatMap { Int($0.dropFirst("bytes=".count).dropLast()) } ?? 0
            let fields = ["ETag: \"x\"", "Content-Range: bytes \(start)-\((4 << 20) - 1)/\(4 << 20)"]
            let status = start == 0 ? "200 OK" : "206 Partial Content"
            try connection.respond(status, headers: fields, body: Data(count: (4 << 20) - start))
        }
        let probe = try Command.built("test-probe")
        let download = "\(probe) network download \(server.url) \(target.path)"
        let script = "\(download) && mount -o remount,size=8m \(folder.path) && \(download)"
        let result = try await SmallDisk.run(["sh", "-c", script], size: "1m", over: folder.path)
        let lines = result.output.split(separator: "\n")
        #expect(lines.first?.contains("No space left on device; left: [\"\(Self.names.part)\"") == true, "\(lines)")
        #expect(lines.dropFirst(2).first == "\(4 << 20)", "\(lines)\(result.error)")
        #expect(ranges(server).count == 2 && ranges(server).last??.hasPrefix("bytes=") == true)
    }

    @Test func `A cancelled download is continued`() async throws {
        let server = try server(waits: true)
        let target = target
        let work = Task { try await NetworkClient().download(route(server), to: target, acrossRuns: true) }
        #expect(await eventually { count(Self.names.part) == 60_000 })
        work.cancel()
        await #expect(throws: CancellationError.self) { try await work.value }
        #expect(try folder.names() == [Self.names.part, Self.names.record])
        try await complete(server)
    }

    // MARK: - Begun again

    @Test func `A changed file begins again`() async throws {
        let server = try server(later: "ETag: \"y\"")
        try await leavePart(server)
        #expect(try await complete(server) == 200)
        #expect(try folder.names() == ["file.bin"])
    }

    /// It ignores the range, and sends the rest, or a rest without a length.
    @Test(arguments: [true, false])
    func `The same tag with another length is not the content`(_ hasLength: Bool) async throws {
        let count = Counter()
        let server = try RawServer.closing { request, connection in
            let tag = "ETag: \"x\""
            switch (count.next(), hasLength) {
            case (1, _):
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\(tag)\r\n\r\n")
                try connection.send(Self.body.prefix(60_000))
            case (2, true): try connection.respond(headers: [tag], body: Self.body.dropFirst(60_000))
            case (2, false):
                try connection.send(Data("HTTP/1.0 200 OK\r\n\(tag)\r\n\r\n".utf8) + Self.body.dropFirst(60_000))
            default: try connection.respond(headers: [tag], body: Self.body)
            }
        }
        try await leavePart(server)
        let retry = RequestRetry(maximumAttempts: 2, initialDelay: .milliseconds(1))
        _ = try await NetworkClient(retry: retry).download(route(server), to: target, acrossRuns: true)
        #expect(try Data(contentsOf: target) == Self.body)
        #expect(ranges(server).prefix(2) == [nil, "bytes=60000-"])
    }

    @Test(arguments: [
        Endpoint.get("other"), .get("", query: ["a": 1]), .get("", headers: [.acceptLanguage: "de"]),
        .get("", headers: [.range: "bytes=0-"]), .post("", body: .none),
        Endpoint(.get, "", body: .data(Data("a".utf8), contentType: "a/b")),
    ])
    func `The part of another request is not continued`(request: Endpoint) async throws {
        let server = try server()
        try await leavePart(server)
        let response = try? await NetworkClient().download(route(server, request), to: target, acrossRuns: true)
        #expect(server.requests.last?.headers["if-range"] == nil)
        #expect(response?.status != 206)
        if response != nil { #expect(try Data(contentsOf: target) == Self.body) }
    }

    /// A strong tag belongs to one resource.
    @Test func `The part of another resource after a redirect is not continued`() async throws {
        let answers = Locked(["/a", "/b", "/b"])
        let server = try server()
        let front = try RawServer.closing { _, connection in
            let location = answers.withLock { $0.removeFirst() }
            try connection.respond("302 Found", headers: ["Location: \(server.url)\(location)?signature=1"])
        }
        try await leavePart(front)
        _ = try await NetworkClient().download(route(front), to: target, acrossRuns: true)
        #expect(server.requests.map(\.target) == ["/a?signature=1", "/b?signature=1", "/b?signature=1"])
        #expect(ranges(server) == [nil, "bytes=60000-", nil])
        #expect(try Data(contentsOf: target) == Self.body)
    }

    // MARK: - Other users and processes

    /// What another user, or another program, may have put in the place of the part or its record.
    @Test(arguments: [
        "link", "second name", "fifo", "folder", "readable", "linked record", "readable record", "no record",
        // Killed before the file was moved into place. A request for nothing would be an error.
        "complete",
    ])
    func `A foreign or a complete part is not continued`(kind: String) async throws {
        let server = try server()
        try await leavePart(server)
        let (part, record, other) = (
            folder.appending(Self.names.part), folder.appending(Self.names.record), folder.appending("other")
        )
        switch kind {
        case "link", "linked record":
            let name = kind == "link" ? part : record
            #expect(rename(name, other) == 0 && symlink(other, name) == 0)
        case "second name": #expect(link(part, other) == 0)
        case "fifo": #expect(unlink(part) == 0 && mkfifo(part, 0o600) == 0)
        case "folder": #expect(unlink(part) == 0 && mkdir(part, 0o700) == 0)
        case "readable": #expect(chmod(part, 0o644) == 0)
        case "complete": try Self.body.write(to: URL(filePath: part))
        case "readable record": #expect(chmod(record, 0o644) == 0)
        default: #expect(unlink(record) == 0)
        }
        let old = FileManager.default.contents(atPath: other)
        try await complete(server, isContinued: false)
        #expect(FileManager.default.contents(atPath: other) == old)
    }

    @Test func `The record contains no secret`() async throws {
        let server = try server()
        try await leavePart(server, .get("path-s3cret", query: ["token": "s3cret"]))
        let record = try folder.read(Self.names.record)
        #expect(!record.contains("s3cret") && !record.contains("127.0.0.1"))
    }

    /// Each writes a file of its own. Neither waits.
    @Test func `Two processes that download the same file do not disturb each other`() async throws {
        let mayEnd = Flag()
        let first = try RawServer.closing { _, connection in
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\nETag: \"x\"\r\n\r\n")
            try connection.send(Self.body.prefix(60_000))
            mayEnd.wait()
            try connection.send(Self.body.dropFirst(60_000))
        }
        let probe = try probe(downloading: first)
        #expect(await eventually { count(Self.names.part) == 60_000 })
        let second = try RawServer.closing { _, connection in try connection.respond(text: "second") }
        for acrossRuns in [true, false] {
            _ = try await NetworkClient().download(route(second), to: target, acrossRuns: acrossRuns)
            #expect(try String(contentsOf: target, encoding: .utf8) == "second")
            #expect(try folder.names() == [Self.names.part, Self.names.record, "file.bin"])
        }
        mayEnd.raise()
        #expect(await eventually { probe.status == 0 })
        #expect(try Data(contentsOf: target) == Self.body)
        #expect(try folder.names() == ["file.bin"])
    }

    /// Also while the thread of the last write has a reference.
    @Test func `A part that has ended is not locked`() throws {
        let first = try #require(PartialFile(partOf: target))
        let content = DownloadContent(tag: "x", length: 9, request: "", location: folder.url)
        try first.restart(content)
        try first.write(Data("half".utf8))
        #expect(PartialFile(partOf: target) == nil)
        first.end()
        let second = try #require(PartialFile(partOf: target))
        #expect(second.count == 4)
        try second.restart(nil)
        try second.write(Data("whole".utf8))
        try second.moveIntoPlace()
        // What has been moved into place is not a part.
        #expect(PartialFile(partOf: target)?.count == 0)
        withExtendedLifetime((first, second)) {}
        #expect(try String(contentsOf: target, encoding: .utf8) == "whole")
    }
}
