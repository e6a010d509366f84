import NetworkKit
import NetworkKitTesting
import TestSupport

@Suite(.timeLimit(.minutes(5))) struct NetworkStubsTests {
    private enum Store: RequestRoute {
        case feed(limit: Int)
        case create(String)
        case search(token: String)

        // Nothing listens there.
        var baseURL: URL { URL(string: "http://127.0.0.1:1/api")! }

        var request: Endpoint {
            switch self {
            case .feed(let limit): .get("feed", query: ["limit": JSONValue(limit)])
            case .create(let text): .post("posts", body: .data(Data(text.utf8)))
            case .search(let token): .get("search", query: ["token": .string(token)])
            }
        }
    }

    private let stubs = NetworkStubs()
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    @Test func `A route is answered without a server`() async throws {
        try stubs.respond(to: Store.feed(limit: 1), with: .json(["names": ["a"]]))
        try stubs.respond(to: Store.create(""), with: .status(.created))
        let client = NetworkClient(interceptors: [.bearerToken("secret")], options: stubs.options())
        let names = try await client.send(Store.feed(limit: 1)).json().names[0].string
        #expect(names == "a")
        #expect(try await client.send(Store.create("hello")).status == .created)
        #expect(stubs.requests.map(\.body) == [Data(), Data("hello".utf8)])
        #expect(stubs.requests[0].request.headers[.authorization] == "Bearer secret")
        let unknown = await thrown { _ = try await client.send(Store.feed(limit: 2)) }
        #expect("\(unknown as Any)".contains("no stub for GET http://127.0.0.1:1/api/feed?limit=2"))
    }

    @Test func `A request that is cancelled while an interceptor works gets no response`() async throws {
        try stubs.respond(to: Store.create(""), with: .status(.created))
        let current = Locked<NetworkClient?>(nil)
        let cancels = NetworkClient.Interceptor { _ in current.withLock { $0 }?.cancelAllRequests() }
        let client = NetworkClient(interceptors: [cancels], options: stubs.options())
        current.withLock { $0 = client }
        defer { current.withLock { $0 = nil } }
        let error = await thrown { _ = try await client.send(Store.create("hello")) }
        #expect(error is CancellationError)
    }

    @Test func `Streams, downloads and HEAD are answered, too`() async throws {
        let url = URL(string: "http://example.com/file")!
        let data = Data(count: 1 << 20)
        try stubs.respond(to: URLRoute(url), with: .data(data))
        try stubs.respond(to: URLRoute(url, .head("")), with: .data(data))
        let client = NetworkClient(options: stubs.options())
        let count = try await client.bytes(URLRoute(url)).reduce(0) { $0 + $1.count }
        #expect(count == 1 << 20)
        let file = folder.url.appending(path: "file")
        let progress = Locked<[TransferProgress]>([])
        _ = try await client.download(URLRoute(url), to: file) { value in progress.withLock { $0.append(value) } }
        #expect(try Data(contentsOf: file) == data)
        #expect(progress.withLock { $0.last?.fractionCompleted } == 1)
        #expect(try await client.send(URLRoute(url, .head(""))).data.isEmpty)
    }

    @Test func `Responses come in order after their delay, and failures are retried`() async throws {
        let clock = VirtualClock()
        let stubs = NetworkStubs(clock: clock)
        let answers: [NetworkStubs.Response] = [
            .failure(.cannotConnect), .status(.serviceUnavailable),
            .data(Data("half".utf8), thenFailing: .connectionLost), .json(1, after: .seconds(10)),
        ]
        try stubs.respond(to: Store.feed(limit: 1), with: answers[0], answers[1], answers[2], answers[3])
        let retry = RequestRetry(maximumAttempts: 4, initialDelay: .zero)
        let client = NetworkClient(retry: retry, options: stubs.options())
        let work = Task { try await client.send(Store.feed(limit: 1)).string() }
        #expect(await eventually { clock.deadlines == [.seconds(10)] })
        #expect(stubs.requests.count == 4)
        clock.advance(by: .seconds(10))
        #expect(try await work.value == "1")
        // The last one is repeated.
        let again = Task { try await client.send(Store.feed(limit: 1)).string() }
        #expect(await eventually { clock.deadlines == [.seconds(20)] })
        again.cancel()
        await #expect(throws: CancellationError.self) { try await again.value }
    }

    @Test func `Redirects and the cache work`() async throws {
        let (start, end) = (URL(string: "http://example.com/a")!, URL(string: "http://example.com/b")!)
        try stubs.respond(to: URLRoute(start), with: .data(Data(), status: .found, headers: [.location: "/b"]))
        let fresh: HTTPFields = [.cacheControl: "max-age=1000", .eTag: "\"end\""]
        try stubs.respond(to: URLRoute(end), with: .data(Data("end".utf8), headers: fresh))
        let client = NetworkClient(cache: ResponseCache(directory: folder.url), options: stubs.options())
        #expect(try await client.send(URLRoute(start)).url == end)
        #expect(try await client.send(URLRoute(end)).string() == "end")
        #expect(try await client.send(URLRoute(end)).source == .cache)
        #expect(stubs.requests.count == 3)
        // The stored response is not confirmed by the target of a redirect.
        let target = URL(string: "http://example.com/login")!
        try stubs.respond(to: URLRoute(end), with: .data(Data(), status: .found, headers: [.location: "/login"]))
        try stubs.respond(to: URLRoute(target), with: .status(.notModified), .data(Data("login".utf8)))
        let again = Endpoint.get("").with(\.cachePolicy, .reloadRevalidatingCacheData)
        #expect(try await client.send(URLRoute(end, again)).string() == "login")
        #expect(stubs.requests.map { $0.request.headers[.ifNoneMatch] == nil }.suffix(4) == [false, false, true, true])
    }

    @Test func `A suspended request is answered when it continues`() async throws {
        let clock = VirtualClock()
        let stubs = NetworkStubs(clock: clock)
        try stubs.respond(to: Store.feed(limit: 1), with: .json(1, after: .seconds(1)))
        let task = NetworkClient(options: stubs.options()).start(Store.feed(limit: 1))
        #expect(await eventually { clock.deadlines.count == 1 })
        task.suspend()
        clock.advance(by: .seconds(1))
        for _ in 0..<1000 { await Task.yield() }
        #expect(task.progress.bytesReceived == 0)
        task.resume()
        #expect(try await task.response.string() == "1")
    }
}
