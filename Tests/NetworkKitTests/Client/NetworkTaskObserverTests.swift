import NetworkKit
import TestSupport

/// What observers do to requests: they cancel them, or block.
@Suite struct NetworkTaskObserverTests {
    enum Kind: CaseIterable {
        case send, bytes, download, start
    }

    private let folder: TemporaryDirectory
    private let center = NotificationCenter()
    private let client: NetworkClient

    init() throws {
        folder = try TemporaryDirectory()
        client = NetworkClient(options: .init { $0.maximumConnectionsPerHost = 100 }, notificationCenter: center)
    }

    /// Makes a request, and reads the whole response.
    private func request(
        _ kind: Kind,
        _ route: URLRoute,
        onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws {
        switch kind {
        case .send: _ = try await client.send(route, onProgress: onProgress)
        case .bytes: for try await _ in try await client.bytes(route, onProgress: onProgress) {}
        case .download:
            let file = folder.url.appending(path: UUID().uuidString)
            _ = try await client.download(route, to: file, onProgress: onProgress)
        case .start: _ = try await client.start(route, onProgress: onProgress).response
        }
    }

    /// Calls a function with each request that begins.
    private func observe(_ body: @escaping @Sendable (NetworkTask) -> Void) {
        _ = center.addObserver(forName: .indicatorTaskDidResume, object: nil, queue: nil) { notification in
            if let task = notification.object as? NetworkTask { body(task) }
        }
    }

    @Test(.timeLimit(.minutes(5)), arguments: Kind.allCases)
    func `An observer can cancel a request when it begins`(_ kind: Kind) async throws {
        let server = try RawServer.silent()
        let recorder = NotificationRecorder(center)
        observe { $0.cancel() }
        await #expect(throws: CancellationError.self) { try await request(kind, route(server)) }
        #expect(recorder.names == ["Resume", "Complete"])
        #expect(try folder.names() == [])
    }

    /// An indicator that observes requests showed a refused one, and one with status 404, as done.
    @Test(.timeLimit(.minutes(5)), arguments: Kind.allCases)
    func `The completion has the outcome`(_ kind: Kind) async throws {
        let server = try RawServer.closing { request, connection in
            let status = request.target == "/missing" ? "404 Not Found" : "200 OK"
            try connection.send("HTTP/1.1 \(status)\r\nContent-Length: 4\r\n\r\nbody")
        }
        let outcomes = Locked<[ActivityOutcome?]>([])
        _ = center.addObserver(forName: .indicatorTaskDidComplete, object: nil, queue: nil) { notification in
            let outcome = notification.userInfo?[TaskNotifications.outcomeKey] as? ActivityOutcome
            outcomes.withLock { $0.append(outcome) }
        }
        // The page of an error is not what was requested, so it is no amount of work.
        let received = Locked<Int64>(0)
        let count: @Sendable (TransferProgress) -> Void = { progress in
            received.withLock { $0 = max($0, progress.bytesReceived) }
        }
        await #expect(throws: NetworkError.self) {
            try await request(kind, route(server, .get("missing")), onProgress: count)
        }
        #expect(received.withLock(\.self) == 0)
        try await request(kind, route(server), onProgress: count)
        #expect(received.withLock(\.self) == 4)
        let refusing = URLRoute(try #require(URL(string: "http://127.0.0.1:1/")), .get(""))
        await #expect(throws: NetworkError.self) { try await request(kind, refusing) }
        let all = outcomes.withLock { $0 }
        let failures = all.map { outcome in if case .failed(let text)? = outcome { !text.isEmpty } else { false } }
        #expect(failures == [true, false, true] && all[1] == .succeeded, "\(all)")
    }

    @Test(.timeLimit(.minutes(5)), arguments: Kind.allCases, [false, true])
    func `A task of an observer can be cancelled also while it is suspended`(_ kind: Kind, _ hasHead: Bool) async throws
    {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbeginning"
        let server = try RawServer.silent(after: hasHead ? head : "")
        let recorder = NotificationRecorder(center)
        let task = Locked<NetworkTask?>(nil)
        observe { resumed in task.withLock { $0 = resumed } }
        let work = Task { try await request(kind, route(server)) }
        #expect(await eventually { server.requests.count == 1 })
        let resumed = try #require(task.withLock { $0 })
        if hasHead {
            #expect(await eventually { resumed.progress.bytesReceived == 9 })
            resumed.suspend()
        }
        resumed.cancel()
        await #expect(throws: CancellationError.self) { try await work.value }
        #expect(recorder.names == (hasHead ? ["Resume", "Suspend", "Complete"] : ["Resume", "Complete"]))
        #expect(await eventually { !server.isConnected })
        #expect(try folder.names() == [])
    }

    @Test func `All requests of a client are cancelled, and later ones are not`() async throws {
        let server = try RawServer.closing { request, connection in
            if request.target == "/later" { return try connection.respond(text: "hello") }
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbeginning")
            connection.waitForEnd()
        }
        let works = Kind.allCases.map { kind in Task { try await request(kind, route(server)) } }
        #expect(await eventually { server.requests.count == works.count })
        client.cancelAllRequests()
        for work in works { await #expect(throws: CancellationError.self) { try await work.value } }
        for kind in Kind.allCases { try await request(kind, route(server, .get("later"))) }
    }

    @TaskLocal private static var value = 0

    @Test(arguments: Kind.allCases)
    func `Observers of the beginning see the caller's task-local values`(_ kind: Kind) async throws {
        let server = try RawServer.closing { _, connection in try connection.respond(text: "hello") }
        let seen = Locked(0)
        observe { _ in seen.withLock { $0 = Self.value } }
        try await Self.$value.withValue(7) { try await request(kind, route(server)) }
        #expect(seen.withLock { $0 } == 7)
    }

    /// More of them than there are cores.
    @Test(.timeLimit(.minutes(5)), arguments: Kind.allCases)
    func `Blocked functions delay no other request`(_ kind: Kind) async throws {
        let server = try RawServer.keeping { _, connection in try connection.respond(text: "hello") }
        let (waiting, mayGoOn) = (Counter(), Flag())
        let count = 20
        try await withThrowingTaskGroup { group in
            for _ in 0..<count {
                group.addTask {
                    try await request(kind, route(server, .get("blocked"))) { _ in
                        _ = waiting.next()
                        mayGoOn.wait()
                    }
                }
            }
            #expect(await eventually { waiting.current == count })
            for kind in Kind.allCases { try await request(kind, route(server, .get("other"))) }
            mayGoOn.raise()
            try await group.waitForAll()
        }
    }

    @Test(.timeLimit(.minutes(5)), arguments: Kind.allCases)
    func `Progress that an observer is too slow for is left out, except the latest`(_ kind: Kind) async throws {
        let hasSentAll = Flag()
        let server = try RawServer.closing { _, connection in
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
            for _ in 0..<100 { try connection.send(Data(count: 10_000)) }
            hasSentAll.raise()
        }
        let recorder = NotificationRecorder(center)
        let values = Locked<[TransferProgress]>([])
        try await request(kind, route(server)) { progress in
            let isFirst = values.withLock { values in
                values.append(progress)
                return values.count == 1
            }
            if isFirst { hasSentAll.wait() }
        }
        #expect(values.withLock { $0.last?.bytesReceived } == 1_000_000)
        #expect(recorder.progress.last == 1_000_000)
        #expect(recorder.names == ["Resume", "Complete"])
    }
}
