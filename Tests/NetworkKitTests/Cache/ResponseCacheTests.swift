import TestSupport

@testable import NetworkKit

@Suite struct ResponseCacheTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func script(_ fields: [String], size: Int = 10, capacity: Int = 1 << 20) throws -> CacheScript {
        try CacheScript(fields, in: folder.url, size: size, capacity: capacity)
    }

    private static let date = "Wed, 04 Jan 1995 00:00:00 GMT"

    /// What the answers have, and what requests get: see ``CacheScript``.
    @Test(arguments: [
        ("A fresh response is served", ["Cache-Control: max-age=60"], "/ 1 | +59 | / 1c | /other 2 | +1 | / 3"),
        ("A lifetime may be long", ["Cache-Control: max-age=99999999999999999999"], "/ 1 | / 1c"),
        ("It may be public", ["Cache-Control: public, max-age=60"], "/ 1 | / 1c"),
        // A tenth of the time since the modification would be months.
        (
            "Without a lifetime, a response is fresh for a day at most, or as long as the request accepts",
            ["Last-Modified: \(date)"],
            """
            / 1 | +60 | / Cache-Control:max-age=60 1c | +1 | / Cache-Control:max-age=60 2 | +86399 | / 2c
            +1 | / 3
            """
        ),
        // The 304 makes it fresh again.
        ("A tag is confirmed", ["ETag: \"x\"", "Cache-Control: max-age=10"], "304 | / 1 | +10 | / 1r | / 1c"),
        ("A date is confirmed", ["Last-Modified: \(date)", "Cache-Control: no-cache"], "304 | / 1 | / 1r"),
        (
            "Other methods are not stored, and invalidate the cache", ["Cache-Control: max-age=60"],
            "/ 1 | post / body:x 2 | / 3"
        ),
        (
            "Other languages get their own responses", ["Cache-Control: max-age=60", "Vary: Accept-Language"],
            "/ Accept-Language:de 1 | / Accept-Language:de 1c | / Accept-Language:fr 2"
        ),
        (
            "A request's policy decides about the cache", ["Cache-Control: max-age=60", "ETag: \"x\""],
            "304 | only / x | / 1 | +1000 | only / 1c | else / 1c | reload / 2 | / 2c"
        ),
    ])
    func `The cache follows RFC 9111`(sentence: String, fields: [String], script: String) async throws {
        try await self.script(fields).run(script, sentence)
    }

    @Test(arguments: [
        ["Cache-Control: no-store, max-age=60"], ["Cache-Control: max-age=0"], [], ["Cache-Control: max-age=abc"],
        ["Expires: 0"], ["Vary: *", "Cache-Control: max-age=60"], ["Cache-Control: max-age=60", "Age: 60"],
        ["Cache-Control: max-age=60", "Age: 60", "Age: 0"], ["Cache-Control: max-age=60", "Age: 60, 0"],
        ["Cache-Control: max-age=60", "Age: 99999999999999999999"],
        ["Cache-Control: max-age=0, max-age=60"], ["Cache-Control: max-age=60", "Set-Cookie: id=1"],
    ])
    func `Responses that are not fresh, or must not be stored, are not served`(head: [String]) async throws {
        try await script(head).run("/ 1 | / 2")
    }

    @Test(arguments: [
        "500 | /a 1 | /a 2 | 206 | /b 3 | /b 4 | 418 | /c 5 | /c 6",
        // An error of the server leaves what is stored, another one removes it.
        "/ 1 | 503 | revalidate / 2 | only / 1c | 403 | revalidate / 3 | only / x",
    ])
    func `Responses of other statuses are not stored`(steps: String) async throws {
        try await script(["Cache-Control: max-age=60"]).run(steps)
    }

    @Test func `The least recently used is removed first; what is too large is not stored`() async throws {
        // Room for four, in memory and on disk.
        try await script(["Cache-Control: max-age=60"], size: 1000, capacity: 5300)
            .run("/a 1 | /b 2 | /c 3 | /d 4 | /a 1c | /e 5 | /a 1c | /b 6")
        try await script(["Cache-Control: max-age=60"], size: 5000, capacity: 1000).run("/large 1 | /large 2")
    }

    /// A disk that hangs does not delay it.
    @Test func `A response in memory does not touch the disk`() async throws {
        let script = try script(["Cache-Control: max-age=60"])
        try await script.run("/ 1")
        let events = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
        defer { close(events) }
        #expect(inotify_add_watch(events, folder.path, 0xFE7) >= 0)
        try await script.run("/ 1c")
        var event = [UInt8](repeating: 0, count: 4096)
        #expect(read(events, &event, event.count) == -1)
        // It is touched by another cache, which has nothing in memory.
        try await script.run("new | / 1c")
        #expect(read(events, &event, event.count) > 0)
    }

    @Test func `Everything can be removed`() async throws {
        let script = try script(["Cache-Control: max-age=60"])
        try await script.run("/ 1")
        await script.cache.removeAll()
        #expect(try folder.names() == ["key"])
        try await script.run("/ 2")
    }

    @Test func `A damaged file is dropped`() async throws {
        let script = try script(["Cache-Control: max-age=60"], size: 300)
        try await script.run("/ 1")
        let names = try folder.names()
        let file = folder.url.appending(path: try #require(names.first { $0.hasSuffix(".cache") }))
        #expect(names.count == 2 && names.contains("key"))
        let whole = try Data(contentsOf: file)
        var damages = [whole.dropLast(), whole.prefix(40), Data(), Data("rubbish".utf8), whole + Data([0])]
        for position in [0, 20, 30, 40, 60, whole.count - 1] {
            var damaged = whole
            damaged[position] ^= 1
            damages.append(damaged)
        }
        let hash = try #require(KeyedHash(key: Data(contentsOf: folder.url.appending(path: "key"))))
        #expect(CachedResponse(whole, hash) != nil)
        for damage in damages { #expect(CachedResponse(damage, hash) == nil) }
        try damages[5].write(to: file)
        try await script.run("new | / 2")
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 10\r\n\r\nhalf",
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n\r\nhalf",
    ])
    func `Only complete responses are stored`(response: String) async throws {
        let server = try RawServer.sending(response)
        let client = NetworkClient(cache: ResponseCache(directory: folder.url))
        _ = await thrown { try await client.send(route(server)) }
        let stored = Endpoint.get("").with(\.cachePolicy, .returnCacheDataDontLoad)
        #expect(await thrown { try await client.send(route(server, stored)) } != nil)
    }

    /// A 304 of a response that must no longer be stored.
    @Test func `A revalidation with no store removes the entry`() async throws {
        let server = try RawServer.keeping { request, connection in
            if request.headers["if-none-match"] == nil {
                try connection.respond(headers: ["ETag: \"x\"", "Cache-Control: no-cache"], text: "1")
            } else {
                try connection.send("HTTP/1.1 304 Not Modified\r\nCache-Control: no-store, max-age=60\r\n\r\n")
            }
        }
        let client = NetworkClient(cache: ResponseCache(directory: folder.url))
        for source in [NetworkResponse.Source.network, .revalidatedCache, .network] {
            #expect(try await client.send(route(server)).source == source)
        }
    }

    @Test func `A response to a client with a certificate is for that client`() async throws {
        let cache = ResponseCache(directory: folder.url)
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
                return (ResponseHead(url: request.url, status: 304, headers: fields, announcesEnd: true), Data())
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
