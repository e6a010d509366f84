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

    @Test(.timeLimit(.minutes(5)))
    func `The second of two readers gets an error, and the first reads on`() async throws {
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
        await expectEventually {
            defer { last = sent.withLock { $0 } }
            return last > 0 && last == sent.withLock { $0 }
        }
        #expect(sent.withLock { $0 } < 100 << 20)
        #expect(recorder.names == ["Resume"])
        // Releasing the stream ends the request.
        iterator = nil
        stream = nil
        #expect(await eventually { recorder.names == ["Resume", "Complete"] })
    }

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

    @Test func `A download can be a member of a group`() async throws {
        let server = try RawServer.closing { request, connection in
            let body = Data("0123456789".utf8)
            if request.headers["range"] != nil { return try connection.respond(to: request, body: body) }
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\nETag: \"x\"\r\n\r\n0123")
        }
        let backend = InMemoryBackend(delivery: BackendDelivery(includesHidden: true))
        let indicator = IndicatorManager(backends: [backend])
        let seen = Locked<ActivityDetails?>(nil)
        try await indicator.withActivity("Downloading", total: 2) { group in
            let (first, second) = (Endpoint.get("").with(\.label, "a"), Endpoint.get("").with(\.label, "b"))
            _ = try await client(attempts: 3).download(route(server, first), to: target, in: group) { progress in
                if progress.bytesReceived < 10 { return }
                seen.withLock { $0 = indicator.snapshot.activities.last }
            }
            await #expect(throws: NetworkError.self) {
                try await client().download(route(server, second), to: target, in: group)
            }
        }
        let member = try #require(seen.withLock { $0 })
        #expect(member.label == "a, retry 1 of 2")
        #expect((member.depth, member.total, member.unit) == (1, 10, .bytes))
        await indicator.shutdown()
        let finished = backend.finished
        #expect(finished.map(\.label) == ["a, retry 1 of 2", "b", "Downloading"])
        #expect(finished.first?.outcome == .succeeded)
        if case .failed? = finished.dropFirst().first?.outcome {} else { Issue.record("\(finished)") }
        // It posts no notifications.
        #expect(recorder.names == [])
    }

    /// As `curl -o` does.
    @Test(arguments: [0o600, 0o640, 0o755])
    func `A download keeps the mode of the file, and follows a link`(_ mode: Int) async throws {
        let server = try RawServer.closing { _, connection in try connection.respond(text: "new") }
        let link = folder.url.appending(path: "current/link")
        let inner = folder.url.appending(path: "folder/inner")
        try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: true)
        // The folder of the link is one, too: `..` is that of where it leads.
        #expect(symlink("folder/inner", folder.appending("current")) == 0 && symlink("../real", link.path) == 0)
        try folder.write("", to: "other")
        // The link leads to no file yet.
        for acrossRuns in [false, true] {
            _ = try await client().download(route(server), to: link, acrossRuns: acrossRuns)
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link.path) == "../real")
            #expect(try folder.read("folder/real") == "new")
            // At first, that of a file that any other program creates.
            #expect(try folder.mode("folder/real") == (acrossRuns ? mode : folder.mode("other")))
            #expect(chmod(folder.appending("folder/real"), mode_t(mode)) == 0)
        }
        #expect(try folder.names() == ["current", "folder", "other"])
    }

    @Test(arguments: [
        ("fifo", "not a regular file"), ("/dev/null", "not a regular file"), ("folder", "not a regular file"),
        ("no/such/file", "No such file"),
    ])
    func `What cannot be replaced is refused before the request`(_ name: String, _ message: String) async throws {
        let server = try RawServer.closing { _, connection in try connection.respond(text: "new") }
        #expect(mkfifo(folder.appending("fifo"), 0o600) == 0 && mkdir(folder.appending("folder"), 0o700) == 0)
        let file = name.hasPrefix("/") ? URL(filePath: name) : folder.url.appending(path: name)
        let error = await thrown { try await client().download(route(server), to: file) }
        #expect("\(error as Any)".contains(message))
        #expect(server.requests.isEmpty)
        #expect(try folder.names() == ["fifo", "folder"])
        #expect(await eventually { recorder.names == ["Resume", "Complete"] })
    }

    @Test(arguments: [String(repeating: "漢", count: 85), "e" + String(repeating: "\u{301}", count: 127)])
    func `A long name is no problem`(name: String) async throws {
        let server = try RawServer.closing { _, connection in try connection.respond(text: "whole") }
        _ = try await client().download(route(server), to: folder.url.appending(path: name))
        #expect(try folder.names() == [name])
    }
}
