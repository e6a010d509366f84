import Foundation
import HTTPTypes
import IndicatorCore
import IndicatorTesting
import IndicatorThreads
import TestSupport
import Testing

@testable import NetworkKit

@Suite struct ResponseCacheTests {
    private let folder: TemporaryDirectory
    private let clock = Clock()

    init() throws { folder = try TemporaryDirectory() }

    private func cache(memory: Int = 1 << 20, disk: Int = 1 << 20) -> ResponseCache {
        ResponseCache(memoryCapacity: memory, diskCapacity: disk, directory: folder.url) { [clock] in clock.now }
    }

    /// A clock that a test advances.
    private final class Clock: Sendable {
        private let offset = Locked(0.0)
        var now: Date { Date(timeIntervalSinceReferenceDate: 1_000_000 + offset.withLock { $0 }) }
        func advance(_ seconds: Double) { offset.withLock { $0 += seconds } }
    }

    private func advance(_ seconds: Double) { clock.advance(seconds) }

    /// A server that numbers its answers.
    private func server(
        _ status: String = "200 OK",
        headers: [String],
        size: Int = 10,
        notModified: @escaping @Sendable (ReceivedRequest) -> Bool = { _ in false }
    ) throws -> RawServer {
        let count = Counter()
        return try RawServer { request, connection in
            let number = count.next()
            if notModified(request) {
                try connection.send("HTTP/1.1 304 Not Modified\r\n" + headers.map { $0 + "\r\n" }.joined() + "\r\n")
            } else {
                let text = "\(number)"
                let body = text + String(repeating: " ", count: size - text.count)
                try connection.respond(status, headers: headers, text: body)
            }
            return true
        }
    }

    private func answer(
        _ client: NetworkClient,
        _ server: RawServer,
        _ request: Endpoint = .get("")
    ) async throws -> (Int, NetworkResponse.Source) {
        let response = try await client.send(route(server, request.with(\.validation, .all)))
        return (Int(try response.string().trimmingCharacters(in: .whitespaces)) ?? -1, response.source)
    }

    @Test func `A fresh response is served`() async throws {
        let server = try server(headers: ["Cache-Control: max-age=60"])
        let client = NetworkClient(cache: cache())
        #expect(try await answer(client, server) == (1, .network))
        advance(59)
        #expect(try await answer(client, server) == (1, .cache))
        #expect(try await answer(client, server, .get("other")) == (2, .network))
        advance(1)
        #expect(try await answer(client, server) == (3, .network))
    }

    @Test(arguments: ["max-age=99999999999999999999", "public, max-age=60"])
    func `A lifetime may be long`(_ control: String) async throws {
        let server = try server(headers: ["Cache-Control: \(control)"])
        let client = NetworkClient(cache: cache())
        for source in [NetworkResponse.Source.network, .cache] {
            #expect(try await answer(client, server) == (1, source))
        }
    }

    /// A tenth of the time since the modification would be months.
    @Test func `Without a lifetime, a response is fresh for a day at most, or as long as the request accepts`()
        async throws
    {
        let server = try server(headers: ["Last-Modified: Wed, 04 Jan 1995 00:00:00 GMT"])
        let client = NetworkClient(cache: cache())
        let (plain, minute) = (Endpoint.get(""), Endpoint.get("", headers: [.cacheControl: "max-age=60"]))
        for (seconds, request, number) in [
            (0.0, plain, 1), (60, minute, 1), (1, minute, 2), (86_399, plain, 2), (1, plain, 3),
        ] {
            advance(seconds)
            #expect(try await answer(client, server, request).0 == number, "after \(seconds) s")
        }
    }

    @Test func `An error of the server leaves what is stored, another one removes it`() async throws {
        for (status, isKept) in [("503 Service Unavailable", true), ("403 Forbidden", false)] {
            let count = Counter()
            let server = try RawServer { _, connection in
                let isFirst = count.next() == 1
                try connection.respond(isFirst ? "200 OK" : status, headers: ["Cache-Control: max-age=60"], text: "1")
                return true
            }
            let client = NetworkClient(cache: cache())
            _ = try await answer(client, server)
            let reload = Endpoint.get("").with(\.cachePolicy, .reloadRevalidatingCacheData)
            _ = try await answer(client, server, reload)
            let only = Endpoint.get("").with(\.cachePolicy, .returnCacheDataDontLoad)
            let error = await thrown { _ = try await answer(client, server, only) }
            #expect((error == nil) == isKept, "\(status)")
        }
    }

    @Test func `An ETag is revalidated`() async throws {
        let server = try server(headers: ["ETag: \"x\"", "Cache-Control: max-age=10"]) {
            $0.headers["if-none-match"] == "\"x\""
        }
        let client = NetworkClient(cache: cache())
        #expect(try await answer(client, server) == (1, .network))
        advance(10)
        #expect(try await answer(client, server) == (1, .revalidatedCache))
        // The 304 has made it fresh again.
        #expect(try await answer(client, server) == (1, .cache))
        #expect(server.requests.map { $0.headers["if-none-match"] } == [nil, "\"x\""])
    }

    @Test func `A modification date is revalidated`() async throws {
        let date = "Wed, 21 Oct 2015 07:28:00 GMT"
        let server = try server(headers: ["Last-Modified: \(date)", "Cache-Control: no-cache"]) {
            $0.headers["if-modified-since"] == date
        }
        let client = NetworkClient(cache: cache())
        #expect(try await answer(client, server) == (1, .network))
        #expect(try await answer(client, server) == (1, .revalidatedCache))
    }

    @Test(arguments: [
        ["Cache-Control: no-store, max-age=60"], ["Cache-Control: max-age=0"], [], ["Cache-Control: max-age=abc"],
        ["Expires: 0"], ["Vary: *", "Cache-Control: max-age=60"], ["Cache-Control: max-age=60", "Age: 60"],
        ["Cache-Control: max-age=60", "Age: 60", "Age: 0"], ["Cache-Control: max-age=60", "Age: 60, 0"],
        ["Cache-Control: max-age=60", "Age: 99999999999999999999"],
        ["Cache-Control: max-age=0, max-age=60"], ["Cache-Control: max-age=60", "Set-Cookie: id=1"],
        ["500 Internal Server Error"], ["206 Partial Content"], ["418 I'm a teapot"],
    ])
    func `Responses that are not fresh, or must not be stored, are not served`(head: [String]) async throws {
        // A status, or fields.
        let status = head.first.flatMap { $0.first?.isNumber == true ? $0 : nil }
        let server = try server(status ?? "200 OK", headers: status == nil ? head : ["Cache-Control: max-age=60"])
        let client = NetworkClient(cache: cache())
        #expect(try await answer(client, server) == (1, .network))
        #expect(try await answer(client, server) == (2, .network))
    }

    @Test func `Other methods are not stored and invalidate the cache`() async throws {
        let server = try server(headers: ["Cache-Control: max-age=60"])
        let client = NetworkClient(cache: cache())
        #expect(try await answer(client, server) == (1, .network))
        #expect(try await answer(client, server, .post("", body: .data(Data("x".utf8)))) == (2, .network))
        #expect(try await answer(client, server) == (3, .network))
    }

    @Test func `Other users and languages get their own responses`() async throws {
        let server = try server(headers: ["Cache-Control: max-age=60", "Vary: Accept-Language"])
        let client = NetworkClient(cache: cache())
        #expect(try await answer(client, server, .get("", headers: [.acceptLanguage: "de"])) == (1, .network))
        #expect(try await answer(client, server, .get("", headers: [.acceptLanguage: "de"])) == (1, .cache))
        #expect(try await answer(client, server, .get("", headers: [.acceptLanguage: "fr"])) == (2, .network))
        let user = Endpoint.get("u", headers: [.authorization: "Bearer a"])
        #expect(try await answer(client, server, user) == (3, .network))
        #expect(try await answer(client, server, user) == (3, .cache))
        #expect(try await answer(client, server, .get("u")) == (4, .network))
    }

    @Test func `A requests policy decides about the cache`() async throws {
        let server = try server(headers: ["Cache-Control: max-age=60", "ETag: \"x\""])
        let client = NetworkClient(cache: cache())
        let only = Endpoint.get("").with(\.cachePolicy, .returnCacheDataDontLoad)
        let missing = await thrown { _ = try await answer(client, server, only) }
        #expect("\(missing as Any)".contains("not in the cache"))
        #expect(try await answer(client, server) == (1, .network))
        advance(1000)
        #expect(try await answer(client, server, only) == (1, .cache))
        #expect(try await answer(client, server, .get("").with(\.cachePolicy, .returnCacheDataElseLoad)) == (1, .cache))
        #expect(
            try await answer(client, server, .get("").with(\.cachePolicy, .reloadIgnoringLocalCacheData)) == (
                2, .network
            )
        )
        #expect(try await answer(client, server) == (2, .cache))
        #expect(server.requests.allSatisfy { $0.headers["if-none-match"] == nil })
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 10\r\n\r\nhalf",
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n\r\nhalf",
    ])
    func `Only complete responses are stored`(response: String) async throws {
        let server = try RawServer.sending(response)
        let client = NetworkClient(cache: cache())
        _ = await thrown { _ = try await answer(client, server) }
        let kept = Endpoint.get("").with(\.cachePolicy, .returnCacheDataDontLoad)
        #expect(await thrown { _ = try await answer(client, server, kept) } != nil)
    }

    @Test func `The least recently used is removed first`() async throws {
        let server = try server(headers: ["Cache-Control: max-age=60"], size: 1000)
        // Room for four, in memory and on disk.
        let cache = cache(memory: 5300, disk: 5300)
        let client = NetworkClient(cache: cache)
        #expect(try await answer(client, server, .get("a")) == (1, .network))
        for path in ["b", "c", "d"] as [RoutePath] { _ = try await answer(client, server, .get(path)) }
        #expect(try await answer(client, server, .get("a")) == (1, .cache))
        #expect(try await answer(client, server, .get("e")) == (5, .network))
        #expect(try await answer(client, server, .get("a")) == (1, .cache))
        #expect(try await answer(client, server, .get("b")).1 == .network)
    }

    /// A disk that hangs does not delay it.
    @Test func `A response in memory does not touch the disk`() async throws {
        let server = try server(headers: ["Cache-Control: max-age=60"])
        let client = NetworkClient(cache: cache())
        #expect(try await answer(client, server) == (1, .network))
        let events = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
        defer { close(events) }
        #expect(inotify_add_watch(events, folder.path, 0xFFF) >= 0)
        #expect(try await answer(client, server) == (1, .cache))
        var event = [UInt8](repeating: 0, count: 4096)
        #expect(read(events, &event, event.count) == -1)
        // It is touched by another cache, which has nothing in memory.
        #expect(try await answer(NetworkClient(cache: cache()), server) == (1, .cache))
        #expect(read(events, &event, event.count) > 0)
    }

    @Test func `A damaged file is dropped`() async throws {
        let server = try server(headers: ["Cache-Control: max-age=60"], size: 300)
        #expect(try await answer(NetworkClient(cache: cache()), server) == (1, .network))
        let files = try FileManager.default.contentsOfDirectory(at: folder.url, includingPropertiesForKeys: nil)
        let file = try #require(files.first { $0.pathExtension == "cache" })
        #expect(Set(files.map(\.pathExtension)) == ["cache", ""])
        let whole = try Data(contentsOf: file)
        var damages = [
            whole.prefix(whole.count - 1), whole.prefix(40), Data(), Data("rubbish".utf8), whole + Data([0]),
        ]
        for position in [0, 20, 30, 40, 60, whole.count - 1] {
            var damaged = whole
            damaged[position] ^= 1
            damages.append(damaged)
        }
        let key = try Data(contentsOf: folder.url.appending(path: "key"))
        let hash = try #require(KeyedHash(key: key))
        #expect(CachedResponse(whole, hash) != nil)
        for damage in damages {
            #expect(CachedResponse(damage, hash) == nil)
        }
        try damages[5].write(to: file)
        #expect(try await answer(NetworkClient(cache: cache()), server) == (2, .network))
    }

    @Test func `A response that is too large is not stored`() async throws {
        let server = try server(headers: ["Cache-Control: max-age=60"], size: 5000)
        let cache = cache(memory: 1000, disk: 1000)
        let client = NetworkClient(cache: cache)
        #expect(try await answer(client, server) == (1, .network))
        #expect(try await answer(client, server) == (2, .network))
    }

    @Test func `Everything can be removed`() async throws {
        let server = try server(headers: ["Cache-Control: max-age=60"])
        let cache = cache()
        let client = NetworkClient(cache: cache)
        #expect(try await answer(client, server) == (1, .network))
        await cache.removeAll()
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["key"])
        #expect(try await answer(client, server) == (2, .network))
    }

    /// A 304 of a response that must no longer be stored.
    @Test func `A revalidation with no store removes the entry`() async throws {
        let server = try RawServer { request, connection in
            if request.headers["if-none-match"] == nil {
                try connection.respond(headers: ["ETag: \"x\"", "Cache-Control: max-age=10"], text: "1")
            } else {
                try connection.send("HTTP/1.1 304 Not Modified\r\nCache-Control: no-store, max-age=60\r\n\r\n")
            }
            return true
        }
        let cache = cache()
        let client = NetworkClient(cache: cache)
        #expect(try await answer(client, server) == (1, .network))
        advance(10)
        #expect(try await answer(client, server) == (1, .revalidatedCache))
        #expect(try await answer(client, server) == (1, .network))
    }

    @Test func `A response to a client with a certificate is for that client`() async throws {
        let cache = cache()
        let request = NetworkRequest(url: try #require(URL(string: "https://h/")), method: .get)
        func source(_ certificate: String?) async throws -> NetworkResponse.Source {
            var rules = cache.rules
            rules.certificate = certificate
            return try await cache.respond(to: request, rules) { request in
                var head = ResponseHead(url: request.url, status: 200, headers: [.cacheControl: "max-age=60"])
                head.announcesEnd = true
                return (head, Data("secret".utf8))
            }.source
        }
        #expect(try await source("/mine.pem") == .network)
        #expect(try await source("/mine.pem") == .cache)
        #expect(try await source("/yours.pem") == .network)
        #expect(try await source(nil) == .network)
    }

    /// RFC 9111 §4.3.4. A server may look at the date only. Many 304s with other fields ended the process.
    @Test(arguments: [("\"x\"", 1, true), ("W/\"x\"", 1, true), ("\"y\"", 1, false), ("\"x\"", 4999, false)])
    func `A 304 of other content or with too many fields is asked for again`(
        _ tag: String,
        _ fieldCount: Int,
        _ isSame: Bool
    ) async throws {
        let cache = ResponseCache(directory: nil)
        let request = NetworkRequest(url: try #require(URL(string: "https://h/")), method: .get)
        for source in [.network, isSame ? .revalidatedCache : .network] as [NetworkResponse.Source] {
            let response = try await cache.respond(to: request, cache.rules) { request in
                let known: HTTPFields = [.eTag: "\"x\"", .contentType: "a/b"]
                let whole = ResponseHead(url: request.url, status: 200, headers: known, announcesEnd: true)
                guard request.headers[.ifNoneMatch] != nil else { return (whole, Data("whole".utf8)) }
                var fields: HTTPFields = [.eTag: tag]
                for number in 0..<fieldCount { fields[HTTPField.Name("x\(number)")!] = "" }
                let head = ResponseHead(url: request.url, status: 304, headers: fields, announcesEnd: true)
                return (head, Data())
            }
            #expect(response.source == source)
            #expect(try response.string() == "whole")
        }
    }

    @Test func `What was not used for a generation is evicted`() {
        var entries = LeastRecentlyUsed<Int>(capacity: 100)
        for number in 0..<100 { entries.insert(number, for: "\(number)", cost: 1) }
        #expect(entries.use("0") == 0)
        entries.insert(100, for: "100", cost: 1)
        entries.insert(101, for: "101", cost: 51)
        #expect(["0", "25", "50", "99", "100", "101"].map { entries.use($0) } == [0, nil, 50, 99, 100, nil])
        entries.remove("0")
        #expect(entries.use("0") == nil)
    }
}
