import HTTPTypes
import NetworkKit
import NetworkKitImages
import TestSupport

@testable import IndicatorCommands
@testable import indicator_demo

/// The server's routes, requested by the demo's client.
@Suite struct DemoServerTests {
    private let client = NetworkClient(cache: ResponseCache(directory: nil))

    private func withServer(_ body: (@Sendable (Endpoint) async throws -> NetworkResponse) async throws -> Void)
        async throws
    {
        let server = try await DemoServer()
        let (client, url) = (client, server.url)
        let result: Result<Void, any Error>
        do {
            result = .success(try await body { try await client.send(URLRoute(url, $0)) })
        } catch {
            result = .failure(error)
        }
        await server.stop()
        try result.get()
    }

    @Test(.needs(.httpbin)) func `Posts are echoed as by httpbin`() async throws {
        try await withServer { send async throws -> Void in
            let json = try await send(.post("post", body: .json(["a": [1, "ä"]])).with(\.query, ["q": "x y"])).json()
            #expect(json.json == ["a": [1, "ä"]])
            #expect(json.data.string == #"{"a":[1,"ä"]}"#)
            #expect(json.args == ["q": "x y"])
            #expect(json.headers["Content-Type"] == "application/json")
            let form = try await send(.post("post", body: .form(["a": "b c&d", "l": [1, 2]]))).json()
            #expect(form.form == ["a": "b c&d", "l[]": ["1", "2"]])
            var parts = MultipartForm()
            parts.append("ä", name: "ti\"tle")
            parts.append(Data([0xFF, 0xD8]), name: "picture", fileName: "a \"b\".jpg")
            parts.append(Data("text".utf8), name: "note", fileName: "n.txt")
            let multipart = try await send(.post("post", body: .multipart(parts))).json()
            #expect(multipart.form == ["ti\"tle": "ä"])
            #expect(multipart.files == ["picture": "data:image/jpeg;base64,/9g=", "note": "text"])
        }
    }

    @Test func `It delays redirects and caches like httpbin`() async throws {
        try await withServer { send async throws -> Void in
            #expect(try await send(.get("delay/0.1")).status == 200)
            #expect(try await send(.get("bytes/1000")).data.count == 1000)
            #expect(try await send(.get("redirect/3")).url.path() == "/get")
            #expect(try await send(.get("cache/60")).source == .network)
            #expect(try await send(.get("cache/60")).source == .cache)
            #expect(try await send(.get("etag/x")).source == .network)
            #expect(try await send(.get("etag/x")).source == .revalidatedCache)
        }
    }

    @Test(arguments: [
        ("slow?ms=soon", "'ms' is 'soon'; expected a number from 0 to 60000\n"),
        ("slow?ms=-5", "'ms' is '-5'; expected a number from 0 to 60000\n"),
        ("slow?ms=60001", "'ms' is '60001'; expected a number from 0 to 60000\n"),
        ("delay/11", "'seconds' is '11'; expected a number from 0.0 to 10.0\n"),
        ("status/teapot", "'code' is 'teapot'; expected a number from 200 to 599\n"),
        ("status/99", "'code' is '99'; expected a number from 200 to 599\n"),
        ("us/rss/topfreeapplications/limit=-1/json", "'limit=-1' is not 'limit=' and a number, zero or more\n"),
        ("delay/x", nil), ("delay/nan", nil), ("bytes/-1", nil), ("bytes/102401", nil), ("cache/x", nil),
        ("redirect/0", nil), ("redirect/101", nil),
    ]) func `A bad parameter or part of the path is answered with 400`(path: String, message: String?) async throws {
        try await withServer { send async throws -> Void in
            let parts = path.split(separator: "?").map(String.init)
            var request = Endpoint.get(RoutePath(stringLiteral: parts[0]))
            if parts.count > 1 {
                let pair = parts[1].split(separator: "=").map(String.init)
                request = .get(RoutePath(stringLiteral: parts[0]), query: [pair[0]: JSON(pair[1])])
            }
            let response = try await send(request.with(\.validation, .all))
            #expect(response.status.code == 400)
            if let message { #expect(try response.string() == message) }
        }
    }

    @Test func `The store has feeds and icons`() async throws {
        try await withServer { send async throws -> Void in
            let free = try await send(.get("us/rss/topfreeapplications/limit=\(10)/json")).json().feed
            let paid = try await send(.get("us/rss/toppaidapplications/limit=\(3)/json")).json().feed
            #expect(free.entry.count == 10)
            #expect(paid.entry.count == 3)
            #expect(free.entry[0]["im:name"].label.string == "Lantern")
            #expect(paid.entry[2]["im:price"].attributes.amount.string == "3.99000")
            #expect(free.entry[9]["im:artist"].label.string?.isEmpty == false)
            let url = try #require(free.entry[9]["im:image"][0].label.string.flatMap { URL(string: $0) })
            let icon = try await client.send(URLRoute(url))
            #expect(icon.source == .network)
            #expect(try await icon.image().width == 100)
            #expect(try await client.send(URLRoute(url)).source == .cache)
        }
    }
}
