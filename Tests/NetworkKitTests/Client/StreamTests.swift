import NetworkKit
import TestSupport

/// Bodies that are read piece by piece, or written to files.
@Suite struct StreamTests {
    private let recorder = NotificationRecorder()
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func client(attempts: Int = 1) -> NetworkClient {
        let retry = RequestRetry(maximumAttempts: attempts, initialDelay: .milliseconds(1))
        return NetworkClient(retry: retry, notificationCenter: recorder.center)
    }

    // MARK: - Pieces

    @Test func `A body is read in pieces`() async throws {
        let first = Flag()
        let server = try RawServer.closing { _, connection in
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\nX-A: b\r\n\r\nhello")
            first.wait()
            try connection.send("world")
        }
        let stream = try await client().bytes(route(server))
        #expect(stream.status == 200)
        var pieces: [Data] = []
        for try await piece in stream {
            first.raise()
            pieces.append(piece)
        }
        #expect(pieces == [Data("hello".utf8), Data("world".utf8)])
        #expect(await eventually { recorder.names == ["Resume", "Complete"] })
    }

    @Test(.timeLimit(.minutes(5)))
    func `The second of two readers gets an error and the first reads on`() async throws {
        let server = try RawServer.silent(after: "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n")
        let client = client()
        let stream = try await client.bytes(route(server))
        await withTaskGroup(of: (any Error)?.self) { group in
            for _ in 0..<2 { group.addTask { await thrown { for try await _ in stream {} } } }
            #expect(await group.next() is NetworkError)
            #expect(recorder.names == ["Resume"])
            client.cancelAllRequests()
            #expect(await group.next() is CancellationError)
        }
    }

    @Test func `A slow reader blocks the sender`() async throws {
        let sent = Locked(0)
        let server = try RawServer.closing { _, connection in
            try connection.send("HTTP/1.1 200 OK\r\n\r\n")
            for _ in 0..<1000 {
                try connection.send(Data(count: 1 << 20))
                sent.withLock { $0 += 1 << 20 }
            }
        }
        var stream: ResponseStream? = try await client().bytes(route(server))
        var iterator = stream?.makeAsyncIterator()
        _ = try await iterator?.next()
        // The sockets and the buffer hold some megabytes, and no more.
        var last = -1
        let isBlocked = await eventually {
            defer { last = sent.withLock { $0 } }
            return last > 0 && last == sent.withLock { $0 }
        }
        #expect(isBlocked)
        #expect(sent.withLock { $0 } < 100 << 20)
        #expect(recorder.names == ["Resume"])
        // Releasing the stream ends the request.
        iterator = nil
        stream = nil
        #expect(await eventually { recorder.names == ["Resume", "Complete"] })
    }

    // MARK: - Files

    private var target: URL { folder.url.appending(path: "file.bin") }

    @Test func `A download replaces the file when it is complete`() async throws {
        try Data("old".utf8).write(to: target)
        let old = Locked<Data?>(nil)
        let path = target
        let body = Data((0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 / 7) })
        let server = try RawServer.closing { _, connection in
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
            try connection.send(body.prefix(500_000))
            old.withLock { $0 = try? Data(contentsOf: path) }
            try connection.send(body.dropFirst(500_000))
        }
        let response = try await client().download(route(server), to: target)
        #expect(response.status == 200)
        #expect(try Data(contentsOf: target) == body)
        #expect(old.withLock { $0 } == Data("old".utf8))
        #expect(try folder.names() == ["file.bin"])
        #expect(await eventually { recorder.names == ["Resume", "Complete"] })
    }

    /// A server that supports ranges and breaks off each answer without a range in the middle.
    private func breakingServer(validator: String = "ETag: \"x\"", ignoresRanges: Bool = false) throws -> RawServer {
        let body = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 / 3) })
        return try RawServer.closing { request, connection in
            if let range = request.headers["range"], let tag = request.headers["if-range"], !ignoresRanges,
                validator.hasSuffix(": \(tag)")
            {
                let start = Int(range.dropFirst("bytes=".count).dropLast()) ?? 0
                return try connection.respond(
                    "206 Partial Content",
                    headers: ["Content-Range: bytes \(start)-99999/100000", validator],
                    body: body.dropFirst(start)
                )
            }
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\(validator)\r\n\r\n")
            try connection.send(request.headers["range"] == nil ? body.prefix(60_000) : body)
        }
    }

    @Test func `A download can be a member of a group`() async throws {
        let server = try breakingServer()
        let backend = InMemoryBackend(delivery: BackendDelivery(includesHidden: true))
        let indicator = IndicatorManager(backends: [backend])
        let seen = Locked<ActivityDetails?>(nil)
        try await indicator.withActivity("Downloading", total: 2) { group in
            let (first, second) = (Endpoint.get("").with(\.label, "a"), Endpoint.get("").with(\.label, "b"))
            _ = try await client(attempts: 3).download(route(server, first), to: target, in: group) { progress in
                guard progress.bytesReceived == 100_000 else { return }
                seen.withLock { $0 = indicator.snapshot.activities.last }
            }
            await #expect(throws: NetworkError.self) {
                try await client().download(route(server, second), to: target, in: group)
            }
        }
        let member = try #require(seen.withLock { $0 })
        #expect(member.label == "a, retry 1 of 2")
        #expect((member.depth, member.total, member.unit) == (1, 100_000, .bytes))
        await indicator.shutdown()
        let finished = backend.finished
        #expect(finished.map(\.label) == ["a, retry 1 of 2", "b", "Downloading"])
        #expect(finished.first?.outcome == .succeeded)
        if case .failed? = finished.dropFirst().first?.outcome {} else { Issue.record("\(finished)") }
        // It posts no notifications.
        #expect(recorder.names == [])
    }

    @Test(arguments: [false, true]) func `A retried download resumes`(ignoresRanges: Bool) async throws {
        let server = try breakingServer(ignoresRanges: ignoresRanges)
        let reported = Locked<[TransferProgress]>([])
        _ = try await client(attempts: 3).download(route(server), to: target) { progress in
            reported.withLock { $0.append(progress) }
        }
        #expect(try Data(contentsOf: target) == Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 / 3) }))
        #expect(server.requests.map { $0.headers["range"] } == [nil, "bytes=60000-"])
        let progress = reported.withLock { $0 }
        #expect(progress.last?.bytesReceived == 100_000)
        #expect(progress.allSatisfy { [nil, 100_000].contains($0.bytesToReceive) })
        // It decreases only when the second attempt begins.
        let received = progress.map(\.bytesReceived)
        #expect(zip(received, received.dropFirst()).filter { $0 > $1 }.count <= 1)
        #expect(try folder.names() == ["file.bin"])
    }

    /// Whoever locks the file stops its writer.
    @Test func `Other users cannot open a file before it is complete`() async throws {
        let mayEnd = Flag()
        let server = try RawServer.closing { _, connection in
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
            mayEnd.wait()
            try connection.send("world")
        }
        let download = Task { try await client().download(route(server), to: target, acrossRuns: true) }
        #expect(await eventually { (try? folder.names().count) == 1 })
        #expect(try folder.mode(folder.names()[0]) == 0o600)
        mayEnd.raise()
        _ = try await download.value
        // As a file that any other program creates.
        try Data().write(to: folder.url.appending(path: "other"))
        #expect(try folder.mode(target.lastPathComponent) == folder.mode("other"))
    }

    /// Answers that are not the requested range, or contradict themselves.
    @Test(arguments: [
        ("*/4", ""), ("", "456789"), ("4-9/*", "456789"), ("4-1/10", "456789"), ("4-x/10", "456789"),
        ("4-9/5", "456789"), ("4-9/10", "456789more"), ("4-5/10", "456789"), ("4-5/6", "45"),
        ("4-5/10\r\nContent-Length: 100", "45ZZ"), ("4-9/10\r\nETag: \"y\"", "new789"),
        ("4-9/10\r\nETag: W/\"x\"", "new789"), ("4-9/10\r\nETag:", "456789"),
    ])
    func `A range that cannot be used is requested from the start`(range: String, body: String) async throws {
        let count = Counter()
        let server = try RawServer.closing { request, connection in
            let isFirst = count.next() == 1
            if request.headers["range"] != nil {
                // Until the connection is closed.
                let status = body.isEmpty ? "416 Range Not Satisfiable" : "206 Partial Content"
                let field = range.isEmpty ? "" : "Content-Range: bytes \(range)\r\n"
                let tag = range.contains("ETag") ? "" : "ETag: \"x\"\r\n"
                try connection.send("HTTP/1.1 \(status)\r\n\(field)\(tag)\r\n\(body)")
            } else {
                let text = isFirst ? "0123" : "0123456789"
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\nETag: \"x\"\r\n\r\n\(text)")
            }
        }
        _ = try await client(attempts: 3).download(route(server), to: target)
        #expect(server.requests.map { $0.headers["range"] } == [nil, "bytes=4-", nil])
        #expect(try String(contentsOf: target, encoding: .utf8) == "0123456789")
    }

    /// The second one promises more than it sends.
    @Test(arguments: [("4-5", 2), ("4-9", Int64.max)])
    func `A range that is shorter than requested is continued`(range: String, length: Int64) async throws {
        let server = try RawServer.closing { request, connection in
            let tag = "ETag: \"x\"\r\n"
            func send(_ range: String, _ text: String) throws {
                let fields = ["Content-Range: bytes \(range)/10", "ETag: \"x\""]
                try connection.respond("206 Partial Content", headers: fields, body: Data(text.utf8))
            }
            switch request.headers["if-range"] == "\"x\"" ? request.headers["range"] : nil {
            case "bytes=4-":
                let fields = "Content-Range: bytes \(range)/10\r\nContent-Length: \(length)\r\n\(tag)"
                try connection.send("HTTP/1.1 206 Partial Content\r\n\(fields)\r\n45")
            case "bytes=6-": try send("6-7", "67")
            case "bytes=8-": try send("8-9", "89")
            default: try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\(tag)\r\n0123")
            }
        }
        let reported = Locked<[Int64?]>([])
        _ = try await client(attempts: 4).download(route(server), to: target) { progress in
            reported.withLock { $0.append(progress.bytesToReceive) }
        }
        #expect(try String(contentsOf: target, encoding: .utf8) == "0123456789")
        #expect(reported.withLock { $0.allSatisfy { [nil, 10, length == 2 ? 6 : .max, 8].contains($0) } })
        #expect(reported.withLock { $0.last } == 10)
    }

    @Test(arguments: ["ETag: W/\"x\"", "ETag:", "ETag: x", "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT"])
    func `A download without a strong tag is not resumed`(validator: String) async throws {
        let server = try breakingServer(validator: validator)
        await #expect(throws: NetworkError.self) {
            try await client(attempts: 2).download(route(server), to: target)
        }
        #expect(server.requests.map { $0.headers["range"] } == [nil, nil])
        #expect(try folder.names().isEmpty)
    }

    @Test func `A cancelled download leaves nothing`() async throws {
        let server = try RawServer.silent(after: "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello")
        let hasReceived = Flag()
        let work = Task {
            try await client().download(route(server), to: target) { progress in
                if progress.bytesReceived > 0 { hasReceived.raise() }
            }
        }
        #expect(await eventually { hasReceived.isRaised })
        work.cancel()
        await #expect(throws: CancellationError.self) { try await work.value }
        #expect(try folder.names().isEmpty)
    }

    @Test func `A file that cannot be written is an error`() async throws {
        let server = try RawServer.closing { _, connection in try connection.respond(body: Data(count: 1 << 20)) }
        try FileManager.default.createDirectory(at: target, withIntermediateDirectories: true)
        for (name, message) in [("no/such/file", "No such file"), ("file.bin", "cannot be written")] {
            let file = folder.url.appending(path: name)
            let error = await thrown { try await client().download(route(server), to: file) }
            #expect("\(error as Any)".contains(message))
        }
        #expect(try folder.names() == ["file.bin"])
        #expect(await eventually { recorder.names == ["Resume", "Complete", "Resume", "Complete"] })
    }

    /// As `curl -o` does.
    @Test(arguments: [0o600, 0o640, 0o755])
    func `A download keeps the mode of the file and follows a link`(_ mode: Int) async throws {
        let server = try RawServer.closing { _, connection in try connection.respond(text: "new") }
        let link = folder.url.appending(path: "current/link")
        let inner = folder.url.appending(path: "folder/inner")
        try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: true)
        // The folder of the link is one, too: `..` is that of where it leads.
        #expect(symlink("folder/inner", folder.appending("current")) == 0 && symlink("../real", link.path) == 0)
        // The link leads to no file yet.
        for acrossRuns in [false, true] {
            _ = try await client().download(route(server), to: link, acrossRuns: acrossRuns)
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link.path) == "../real")
            #expect(try folder.read("folder/real") == "new")
            if acrossRuns { #expect(try folder.mode("folder/real") == mode) }
            #expect(chmod(folder.appending("folder/real"), mode_t(mode)) == 0)
        }
        #expect(try folder.names() == ["current", "folder"])
    }

    @Test(arguments: ["fifo", "/dev/null", "folder"])
    func `What is no regular file is refused before the request`(_ kind: String) async throws {
        let server = try RawServer.closing { _, connection in try connection.respond(text: "new") }
        let path = kind.hasPrefix("/") ? kind : target.path
        if kind == "fifo" { #expect(mkfifo(path, 0o600) == 0) }
        if kind == "folder" { #expect(mkdir(path, 0o700) == 0) }
        let error = await thrown { try await client().download(route(server), to: URL(filePath: path)) }
        #expect("\(error as Any)".contains("not a regular file"))
        #expect(server.requests.isEmpty)
    }

    @Test(arguments: [String(repeating: "漢", count: 85), "e" + String(repeating: "\u{301}", count: 127)])
    func `A long name is no problem`(name: String) async throws {
        let server = try RawServer.closing { _, connection in try connection.respond(text: "whole") }
        _ = try await client().download(route(server), to: folder.url.appending(path: name))
        #expect(try folder.names() == [name])
    }
}
