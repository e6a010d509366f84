import TestSupport

@testable import NetworkKit

/// Downloads that continue the part of an earlier attempt, of an earlier call, or of another process.
@Suite struct ResumptionTests {
    private static let body = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 / 3) })
    private static let names = (part: ".file.bin.part", record: ".file.bin.part.json")

    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private var target: URL { folder.url.appending(path: "file.bin") }

    private func count(_ name: String) -> Int {
        (try? FileManager.default.attributesOfItem(atPath: folder.appending(name))[.size] as? NSNumber)?.intValue ?? -1
    }

    private func ranges(_ server: RawServer) -> [String?] { server.requests.map { $0.headers["range"] } }

    // MARK: - What the server answers

    /// Sends words: a status, `LENGTH` or a `range/LENGTH`, a tag other than `"x"`, and the body.
    private static func send(_ answer: Substring, _ connection: RawConnection) throws {
        var (tag, body) = ("\"x\"", "")
        var fields = ["Connection: close", "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT"]
        let words = answer.split(separator: " ")
        for word in words.dropFirst() {
            switch word.split(separator: "=").first {
            case "length": fields.append("Content-Length: \(word.dropFirst("length=".count))")
            case "tag": tag = String(word.dropFirst("tag=".count))
            case _ where word.contains("/"): fields.append("Content-Range: bytes \(word)")
            default: body = String(word)
            }
        }
        let lines = ["HTTP/1.1 \(words[0]) Status"] + fields + ["ETag: \(tag)", "", body]
        try connection.send(lines.joined(separator: "\r\n"))
    }

    /// Downloads, with retries or by more calls, from a server that gives answers, which `|` separates, and then a
    /// whole one. Returns where the requested ranges began.
    private func download(_ answers: String, acrossRuns: Bool) async throws -> String {
        let answers = (answers + "|200 length=10 0123456789").split(separator: "|")
        let count = Counter()
        let server = try RawServer.closing { _, connection in
            try Self.send(answers[min(count.next(), answers.count) - 1], connection)
        }
        let last = Locked(TransferProgress())
        let retry = RequestRetry(maximumAttempts: acrossRuns ? 1 : 5, initialDelay: .milliseconds(1))
        for _ in 0..<(acrossRuns ? 5 : 1) where !FileManager.default.fileExists(atPath: target.path) {
            _ = await thrown {
                try await NetworkClient(retry: retry).download(route(server), to: target, acrossRuns: acrossRuns) {
                    progress in last.withLock { $0 = progress }
                }
            }
        }
        #expect(try folder.names() == ["file.bin"])
        #expect(try folder.read("file.bin") == "0123456789")
        #expect(last.withLock { ($0.bytesReceived, $0.bytesToReceive) } == (10, 10))
        #expect(server.requests.allSatisfy { $0.headers["if-range"] == ($0.headers["range"] == nil ? nil : "\"x\"") })
        return server.requests.map { $0.headers["range"]?.dropFirst("bytes=".count) ?? "all" }.joined(separator: " ")
    }

    /// The first answer has four of ten bytes.
    @Test(
        arguments: [
            ("The rest", "206 4-9/10 length=6 456789", "all 4-"),
            ("A whole body: some servers ignore the range", "200 length=10 0123456789", "all 4-"),
            ("Another body", "200 length=10 tag=\"y\" 0123456789", "all 4-"),
            ("Less than the rest", "206 4-5/10 length=2 45|206 6-7/10 67|206 8-9/10 length=2 89", "all 4- 6- 8-"),
            ("Less than announced", "206 4-9/10 length=9223372036854775807 45|206 6-9/10 length=4 6789", "all 4- 6-"),
            // From here on, it cannot be used.
            ("The same tag with another length", "200 length=6 456789", "all 4- all"),
            ("The same tag without a length", "200 456789", "all 4- 6-"),
            ("Nothing is left", "416 */4", "all 4- all"),
            ("No range", "206 456789", "all 4- all"),
            ("A range of an unknown length", "206 4-9/* 456789", "all 4- all"),
            ("A range that begins elsewhere", "206 5-9/10 56789", "all 4- all"),
            ("A range that ends before it begins", "206 4-1/10 456789", "all 4- all"),
            ("A range that is no number", "206 4-x/10 456789", "all 4- all"),
            ("A range beyond the end", "206 4-9/5 456789", "all 4- all"),
            ("A range of another length", "206 4-5/6 45", "all 4- all"),
            ("More than the range", "206 4-9/10 456789more", "all 4- all"),
            ("Another range than the body", "206 4-5/10 456789", "all 4- all"),
            ("A range of another length than the body", "206 4-5/10 length=100 45ZZ", "all 4- all"),
            ("A part with another tag", "206 4-9/10 tag=\"y\" new789", "all 4- all"),
            ("A part with a weak tag", "206 4-9/10 tag=W/\"x\" new789", "all 4- all"),
            ("A part without a tag", "206 4-9/10 tag= 456789", "all 4- all"),
        ],
        [false, true]
    )
    func `A part is continued with the rest of the same content only`(
        _ row: (answer: String, words: String, ranges: String),
        acrossRuns: Bool
    ) async throws {
        let ranges = try await download("200 length=10 0123|\(row.words)", acrossRuns: acrossRuns)
        #expect(ranges == row.ranges, "\(row.answer)")
    }

    /// Nor is one with a date only.
    @Test(arguments: ["W/\"x\"", "", "x", "\""], [false, true])
    func `A part without a strong tag is not continued`(tag: String, acrossRuns: Bool) async throws {
        let ranges = try await download("200 length=10 tag=\(tag) 0123", acrossRuns: acrossRuns)
        #expect(ranges == "all all")
    }

    // MARK: - Later calls

    /// A server whose first answer stops in the middle: it breaks off, or waits for the end of the connection.
    private func server(waits: Bool = false) throws -> RawServer {
        let count = Counter()
        return try RawServer.closing { request, connection in
            if count.next() > 1 { return try connection.respond(to: request, body: Self.body) }
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\nETag: \"x\"\r\n\r\n")
            try connection.send(Self.body.prefix(60_000))
            if waits { connection.waitForEnd() }
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

    /// A call that ends with the whole file, after it has continued the part or begun again.
    private func complete(
        _ server: RawServer,
        _ request: Endpoint = .get(""),
        isContinued: Bool = true,
        location: SourceLocation = #_sourceLocation
    ) async throws {
        let response = try await NetworkClient().download(route(server, request), to: target, acrossRuns: true)
        #expect(response.status == (isContinued ? 206 : 200), sourceLocation: location)
        let tags = server.requests.map { $0.headers["if-range"] }
        #expect(tags == [nil, isContinued ? "\"x\"" : nil], sourceLocation: location)
        #expect(try Data(contentsOf: target) == Self.body, sourceLocation: location)
    }

    /// Another process that downloads the file.
    private func probe(downloading server: RawServer) throws -> Daemon {
        try Daemon([try Command.built("test-probe"), "network", "download", server.url.absoluteString, target.path])
    }

    @Test(arguments: ["fails", "is cancelled", "is killed"])
    func `The part of a call that has ended is continued`(how: String) async throws {
        let server = try server(waits: how != "fails")
        switch how {
        case "fails": try await leavePart(server)
        case "is killed":
            let probe = try probe(downloading: server)
            #expect(await eventually { count(Self.names.part) == 60_000 })
            await probe.end(SIGKILL)
        default:
            let work = Task { try await NetworkClient().download(route(server), to: target, acrossRuns: true) }
            #expect(await eventually { count(Self.names.part) == 60_000 })
            work.cancel()
            await #expect(throws: CancellationError.self) { try await work.value }
        }
        #expect(try folder.names() == [Self.names.part, Self.names.record])
        #expect(try [folder.mode(Self.names.part), folder.mode(Self.names.record)] == [0o600, 0o600])
        try await complete(server)
        #expect(try folder.names() == ["file.bin"])
        // Then it is as a file that any other program creates.
        try folder.write("", to: "other")
        #expect(try folder.mode("file.bin") == folder.mode("other"))
    }

    @Test(.needs(.mounts))
    func `The part on a full disk is continued when there is space`() async throws {
        let server = try RawServer.closing { request, connection in
            try connection.respond(to: request, body: Data(count: 4 << 20))
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

    @Test(arguments: [
        Endpoint.get("other"), .get("", query: ["a": 1]), .get("", headers: [.acceptLanguage: "de"]),
        .get("", headers: [.range: "bytes=0-"]), .post("", body: .none),
        Endpoint(.get, "", body: .data(Data("a".utf8), contentType: "a/b")),
    ])
    func `The part of another request is not continued`(request: Endpoint) async throws {
        let server = try server()
        try await leavePart(server)
        try await complete(server, request, isContinued: false)
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
            #expect(try folder.read("file.bin") == "second")
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
        #expect(try folder.read("file.bin") == "whole")
    }
}
