import Foundation
import NetworkKit
import TestSupport
import Testing

@Suite struct CookieTests {
    private func client() -> NetworkClient {
        var options = NetworkClient.Options()
        options.keepsCookies = true
        return NetworkClient(options: options)
    }

    @Test func `Cookies are read saved and removed`() async throws {
        let server = try RawServer { request, connection in
            let cookies = ["Set-Cookie: id=hunter2; Path=/; HttpOnly; Max-Age=1000", "Set-Cookie: theme=dark"]
            try connection.respond(headers: request.target == "/login" ? cookies : [], text: "hello")
            return true
        }
        let client = client()
        #expect(await client.cookies() == [])
        _ = try await client.send(route(server, .get("login")))
        let cookies = await client.cookies().sorted { $0.name < $1.name }
        #expect(cookies.map(\.name) == ["id", "theme"])
        #expect(cookies.map(\.value) == ["hunter2", "dark"])
        #expect(cookies.allSatisfy { $0.domain == "127.0.0.1" && !$0.includesSubdomains })
        #expect(try #require(cookies[0].expires) > Date())
        #expect(cookies[1].expires == nil)
        var text = "\(cookies)"
        dump(cookies, to: &text)
        #expect(!text.contains("hunter2"))

        let saved = try JSONEncoder().encode(cookies)
        let later = self.client()
        await later.addCookies(try JSONDecoder().decode([Cookie].self, from: saved))
        _ = try await later.send(route(server))
        #expect(server.requests.last?.headers["cookie"]?.contains("id=hunter2") == true)
        await later.removeCookies()
        _ = try await later.send(route(server))
        #expect(server.requests.last?.headers["cookie"] == nil)
        #expect(await later.cookies() == [])
    }

    @Test(arguments: ["", "ALL", "h\tFALSE\t/\tFALSE\t0\ta\tb\tc", "h\tFALSE\t/\tFALSE\t0\ta\tb\n"])
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
