import NetworkKit
import TestSupport

@Suite struct CookieTests {
    private func client() -> NetworkClient { NetworkClient(options: .init { $0.keepsCookies = true }) }

    @Test func `Cookies are read, saved and removed`() async throws {
        let server = try RawServer.keeping { request, connection in
            let login = ["Set-Cookie: id=hunter2; Path=/; HttpOnly; Max-Age=1000", "Set-Cookie: theme=dark"]
            let fields = ["/login": login, "/logout": ["Set-Cookie: id=; Path=/; Max-Age=0"]]
            try connection.respond(headers: fields[request.target] ?? [], text: "hello")
        }
        let client = client()
        _ = try await client.send(route(server, .get("login")))
        let cookies = await client.cookies().sorted { $0.name < $1.name }
        let texts = cookies.map { "\($0.domain) \($0.name)=\($0.value)" }
        try #require(texts == ["127.0.0.1 id=hunter2", "127.0.0.1 theme=dark"])
        #expect(try #require(cookies[0].expires) > Date())
        #expect(cookies[1].expires == nil)
        var text = "\(cookies)"
        dump(cookies, to: &text)
        #expect(!text.contains("hunter2"))

        let later = self.client()
        await later.addCookies(try JSONDecoder().decode([Cookie].self, from: JSONEncoder().encode(cookies)))
        _ = try await later.send(route(server, .get("logout")))
        #expect(server.requests.last?.headers["cookie"]?.contains("id=hunter2") == true)
        #expect(await later.cookies().map(\.name) == ["theme"])
        await later.removeCookies()
        _ = try await later.send(route(server))
        #expect(server.requests.last?.headers["cookie"] == nil)
        #expect(await later.cookies() == [])
    }

    /// By libcurl, which takes 127.0.0.1 for as safe as TLS.
    @Test func `A cookie stays on its path and on TLS`() async throws {
        let server = try RawServer.keeping(at: "127.0.0.2") { _, connection in try connection.respond(text: "hello") }
        let lines = ["127.0.0.2\tFALSE\t/only\tFALSE\t0\tpart\t1", "127.0.0.2\tFALSE\t/\tTRUE\t0\tsafe\t1"]
        let cookies = try lines.map { try #require(Cookie(rawValue: $0)) }
        let client = client()
        await client.addCookies(cookies)
        #expect(await Set(client.cookies()) == Set(cookies))
        for path in ["", "only/a", "other"] as [RoutePath] { _ = try await client.send(route(server, .get(path))) }
        #expect(server.requests.map { $0.headers["cookie"] } == [nil, "part=1", nil])
    }

    /// RFC 6265 §5.4.
    @Test func `The cookies of the route and the client are in one field`() async throws {
        let fields = Locked<[String]>([])
        let server = try RawServer.keeping { request, connection in
            fields.withLock { $0 = request.lines.filter { $0.lowercased().hasPrefix("cookie:") } }
            try connection.respond(headers: ["Set-Cookie: jar=1"])
        }
        for client in [client(), NetworkClient()] {
            let request = Endpoint.get("", headers: [.cookie: "own=2; other=3"])
            _ = try await client.send(route(server, request))
            #expect(fields.withLock { $0 } == ["Cookie: own=2; other=3"])
            _ = try await client.send(route(server, request))
        }
        _ = try await client().send(route(server))
        #expect(fields.withLock { $0 } == [])
        let client = client()
        _ = try await client.send(route(server))
        _ = try await client.send(route(server, .get("", headers: [.cookie: "own=2"])))
        #expect(fields.withLock { $0 } == ["Cookie: jar=1; own=2"])
    }

    @Test func `The number of cookies is limited`() async throws {
        func left(_ line: (Int) -> String) async -> [String] {
            let client = client()
            await client.addCookies((0..<4000).compactMap { Cookie(rawValue: line($0)) })
            return await client.cookies().map(\.name)
        }
        let names = await left { number in
            let site = number < 2000 ? "big" : "small\(number / 40)"
            return "a\(number % 7).\(site).example\tTRUE\t/\tFALSE\t0\tname\(number)\t1"
        }
        // Of the site with the most of them, the latest ones.
        #expect(Set(names) == Set((1000..<4000).map { "name\($0)" }), "\(names.count)")
        // A client of more sites than that lost all of its cookies.
        #expect(await left { "site\($0).example\tFALSE\t/\tFALSE\t0\tname\t1" }.count == 3000)
    }

    @Test(arguments: ["", "ALL", "h\tFALSE\t/\tFALSE\t0\ta", "h\tFALSE\t/\tFALSE\t0\ta\tb\tc"])
    func `A line that is no cookie is an error`(_ line: String) throws {
        let saved = try JSONEncoder().encode([line])
        #expect(throws: DecodingError.self) { try JSONDecoder().decode([Cookie].self, from: saved) }
    }

    @Test func `A client that keeps no cookies has none`() async throws {
        let client = NetworkClient()
        await client.addCookies([try #require(Cookie(rawValue: "h\tFALSE\t/\tFALSE\t0\ta\tb"))])
        #expect(await client.cookies() == [])
    }
}
