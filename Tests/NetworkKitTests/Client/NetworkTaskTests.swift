import NetworkKit
import TestSupport

@Suite struct NetworkTaskTests {
    private let recorder = NotificationRecorder()

    private func client(connections: Int = 6) -> NetworkClient {
        NetworkClient(
            options: .init { $0.maximumConnectionsPerHost = connections },
            notificationCenter: recorder.center
        )
    }

    @Test func `Each request is announced once`() async throws {
        let server = try RawServer.closing { request, connection in
            if request.target == "/silent" { return connection.waitForEnd() }
            try connection.respond(request.target == "/missing" ? "404 Not Found" : "200 OK", text: "a text")
        }
        let refusing = URLRoute(try #require(URL(string: "http://127.0.0.1:1")))
        let client = client()
        #expect(try await client.send(route(server, .get("a b/c"))).string() == "a text")
        let missing = route(server, .get("missing"))
        for response in [
            try await refusal { try await client.send(missing) }, try await refusal { try await client.bytes(missing) },
        ] {
            #expect((response.status.code, response.headers[.contentLength]) == (404, "6"))
            #expect(response.data == Data("a text".utf8))
        }
        let silent = Endpoint.get("silent").with(\.timeout, .seconds(1))
        #expect(await failure { try await client.send(route(server, silent)) } == .timedOut)
        #expect(await failure { try await client.send(refusing) } == .cannotConnect)
        let nowhere = URLRoute(try #require(URL(string: "http://missing.invalid")))
        #expect(await failure { try await client.send(nowhere) } == .cannotFindHost)
        let names = (0..<6).flatMap { _ in ["Resume", "Complete"] }
        await expectEventually("\(recorder.names)") { recorder.names == names }
        #expect(recorder.all[0].label == "GET /a b/c")
        #expect(recorder.all[0].task != nil && recorder.all[0].task == recorder.all[1].task)
    }

    @Test(arguments: [("no such thing", ": no such thing"), (" <!DOCTYPE html><h1>Not found</h1>", "")])
    func `The line of a failure has the beginning of a text, and no page`(body: String, excerpt: String) async throws {
        let server = try RawServer.closing { _, connection in try connection.respond("404 Not Found", text: body) }
        let error = await thrown { try await client().send(route(server)) }
        #expect(error.map { "\($0)".hasSuffix("status 404\(excerpt)") } == true, "\(error as Any)")
    }

    @Test func `Cancellation before the start is announced as an end only`() async throws {
        let server = try RawServer { _, _ in false }
        let client = client()
        let work = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await client.send(route(server))
        }
        work.cancel()
        await #expect(throws: CancellationError.self) { try await work.value }
        #expect(await eventually { recorder.names == ["Complete"] })
        #expect(server.requests.isEmpty)
    }

    @Test func `An executor of the app is not called on the network's thread`() async throws {
        /// Notes where it is called.
        final class Executor: TaskExecutor {
            let threads = Locked<Set<String>>([])

            func enqueue(_ job: consuming ExecutorJob) {
                let job = UnownedJob(job)
                let name = try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)
                threads.withLock { _ = $0.insert(name ?? "") }
                DispatchQueue.global().async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
            }
        }
        let server = try RawServer.closing { _, connection in try connection.respond(text: "hello") }
        let (executor, client) = (Executor(), client())
        let count = try await withTaskExecutorPreference(executor) {
            _ = try await client.send(route(server))
            return try await client.bytes(route(server)).reduce(0) { $0 + $1.count }
        }
        #expect(count == 5)
        #expect(!executor.threads.withLock { $0 }.contains("network-kit\n"))
    }

    @Test func `Suspend and resume are announced once each`() async throws {
        let mayAnswer = Flag()
        let server = try RawServer.closing { _, connection in
            mayAnswer.wait()
            try connection.respond(text: "late")
        }
        let task = client().start(route(server))
        #expect(await eventually { server.requests.count == 1 })
        task.suspend()
        task.suspend()
        #expect(recorder.names == ["Resume", "Suspend"])
        task.resume()
        task.resume()
        mayAnswer.raise()
        #expect(try await task.response.string() == "late")
        task.suspend()
        task.cancel()
        #expect(await eventually { recorder.names == ["Resume", "Suspend", "Resume", "Complete"] })
    }

    @Test(.timeLimit(.minutes(5))) func `The timeout begins when the request is sent`() async throws {
        let silent = try RawServer.silent()
        let other = try RawServer.silent()
        let client = client(connections: 1)
        let first = client.start(route(silent, .get("").with(\.timeout, nil)))
        #expect(await eventually { silent.requests.count == 1 })
        let short = Endpoint.get("").with(\.timeout, .seconds(0.1))
        let waiting = client.start(route(silent, short))
        for change in [{ waiting.suspend() }, { waiting.resume() }, {}] {
            // It would end no later than this one, which starts after it.
            #expect(await failure { try await client.send(route(other, short)) } == .timedOut)
            #expect(recorder.all.count { $0.task == ObjectIdentifier(waiting) && $0.name.hasSuffix("Complete") } == 0)
            change()
        }
        first.cancel()
        #expect(await failure { try await waiting.response } == .timedOut)
    }

    @Test(.timeLimit(.minutes(5)), arguments: [false, true])
    func `A time limit ends a request that was not sent`(_ isSuspended: Bool) async throws {
        let server = try RawServer.silent()
        let client = client(connections: 1)
        let first = client.start(route(server))
        #expect(await eventually { server.requests.count == 1 })
        let waiting = client.start(route(server, .get("").with(\.timeLimit, .seconds(0.1))))
        if isSuspended { waiting.suspend() }
        #expect(await failure { try await waiting.response } == .timeLimitExceeded)
        first.cancel()
    }

    /// libcurl's own list of waiting transfers would keep them from beginning.
    @Test(.timeLimit(.minutes(5))) func `A hung host does not delay others`() async throws {
        let hung = try RawServer.silent()
        let other = try RawServer.keeping(at: "127.0.0.2") { request, connection in
            try connection.respond(text: request.target)
        }
        let client = client(connections: 2)
        let stuck = (0..<10).map { client.start(route(hung, .get("\($0)").with(\.timeout, nil))) }
        #expect(await eventually { hung.requests.count == 2 })
        let tasks = (0..<10).map { client.start(route(other, .get("\($0)"))) }
        for (number, task) in tasks.enumerated() { #expect(try await task.response.string() == "/\(number)") }
        #expect(hung.requests.count == 2)
        for task in stuck { task.cancel() }
    }

    @Test func `The indicator shows the fraction of an upload`() async throws {
        let indicator = IndicatorManager()
        indicator.observe(.indicator, in: recorder.center)
        let values = Locked<[TransferProgress]>([])
        @Sendable func isPartial(_ progress: TransferProgress) -> Bool {
            (0.01..<0.99).contains(progress.fractionCompleted ?? 0)
        }
        // The rest, more than sockets hold, is read when a part is shown.
        let server = try RawServer { count in
            if count > 1 << 20 { waitUntil { values.withLock { $0.contains(where: isPartial) } } }
        } answer: { _, connection in
            // Progress is reported on another thread.
            waitUntil { indicator.snapshot.progress == 1 }
            try connection.respond(text: indicator.snapshot.progress == 1 ? "thanks" : "the fraction is wrong")
            return true
        }
        let request = Endpoint.post("", body: .data(Data(count: 64_000_000)))
        _ = try await client().send(route(server, request)) { progress in values.withLock { $0.append(progress) } }
        let last = try #require(values.withLock { $0.last })
        #expect((last.bytesSent, last.bytesToSend) == (64_000_000, 64_000_000))
        #expect((last.bytesReceived, last.bytesToReceive) == (6, 6))
        #expect(values.withLock { $0.contains(where: isPartial) })
        #expect(indicator.activityCount == 0)
    }

    @Test func `The indicator shows the fraction of a download`() async throws {
        let indicator = IndicatorManager()
        indicator.observe(.indicator, in: recorder.center)
        let seen = Locked<Double?>(nil)
        let values = Locked<[Double?]>([])
        let server = try RawServer.closing { _, connection in
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 400000\r\n\r\n")
            try connection.send(Data(count: 100_000))
            // The rest is sent when a quarter is shown; progress is in steps of a hundredth.
            waitUntil { (indicator.snapshot.progress ?? 0) >= 0.24 && values.withLock { $0.contains(0.25) } }
            seen.withLock { $0 = indicator.snapshot.progress }
            try connection.send(Data(count: 300_000))
        }
        let response = try await client().send(route(server)) { progress in
            values.withLock { $0.append(progress.fractionCompleted) }
        }
        #expect(response.data.count == 400_000)
        #expect((0.24...0.25).contains(seen.withLock { $0 } ?? 0))
        #expect(values.withLock { $0.contains(0.25) && $0.last == 1 })
        #expect(indicator.activityCount == 0)
    }

    /// The server answers only when each connection has a request, or the last requests have arrived. It waits for ever
    /// if a request is forgotten although there is an idle connection for it.
    @Test(.timeLimit(.minutes(5)), arguments: [4, 6, 8])
    func `Requests use all connections`(_ connections: Int) async throws {
        struct State {
            var held: [(ReceivedRequest, RawConnection)] = []
            var answered = 0
            var rounds = 0
        }
        let state = Locked(State())
        let server = try RawServer { request, connection in
            let due = state.withLock { state in
                state.held.append((request, connection))
                let left = 500 - state.answered
                guard state.held.count == min(connections, left) else { return state.held.prefix(0) }
                state.rounds += 1
                // Every fourth time all of them at once.
                let due = state.held.prefix(left <= connections || state.rounds % 4 == 0 ? connections : 1)
                state.held.removeFirst(due.count)
                state.answered += due.count
                return due
            }
            for (request, connection) in due { try connection.respond(text: request.target) }
            return true
        }
        let client = client(connections: connections)
        let answers = try await withThrowingTaskGroup(of: String.self) { group in
            for number in 0..<500 {
                group.addTask {
                    try await client.send(route(server, .get("\(number)").with(\.timeout, nil))).string()
                }
            }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(answers == Set((0..<500).map { "/\($0)" }))
        for name in ["Resume", "Complete"] { #expect(recorder.names.count { $0 == name } == 500) }
    }
}
