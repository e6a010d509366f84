import HTTPTypes
import NetworkKit
import TestSupport

@testable import IndicatorCommands
@testable import indicator_demo

/// The server's routes, requested by the demo's client. A run of the demo checks all that it uses.
@Suite struct DemoServerTests {
    private let client = NetworkClient(cache: ResponseCache(directory: nil))

    private func withServer(_ body: (@Sendable (Endpoint) async throws -> NetworkResponse) async throws -> Void)
        async throws
    {
        let server = try await DemoServer()
        let (client, url) = (client, server.url)
        do {
            try await body { try await client.send(URLRoute(url, $0)) }
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    @Test func `Posts are echoed as by httpbin`() async throws {
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
            #expect(try await send(.get("delay/0.1", query: ["q": 1])).json().args == ["q": "1"])
        }
    }

    @Test(
        "A bad parameter or part of the path is answered with 400",
        arguments: [
            ("slow", "soon", "'ms' is 'soon'; expected a number from 0 to 60000\n"),
            ("slow", "-5", "'ms' is '-5'; expected a number from 0 to 60000\n"),
            ("slow", "60001", "'ms' is '60001'; expected a number from 0 to 60000\n"),
            ("delay/11", nil, "'seconds' is '11'; expected a number from 0.0 to 10.0\n"),
            ("status/teapot", nil, "'code' is 'teapot'; expected a number from 200 to 599\n"),
            ("status/99", nil, "'code' is '99'; expected a number from 200 to 599\n"),
            (
                "us/rss/topfreeapplications/limit=-1/json", nil,
                "'limit=-1' is not 'limit=' and a number, zero or more\n"
            ),
            ("delay/x", nil, nil), ("delay/nan", nil, nil), ("bytes/-1", nil, nil), ("bytes/102401", nil, nil),
            ("cache/x", nil, nil), ("redirect/0", nil, nil), ("redirect/101", nil, nil),
        ] as [(String, String?, String?)]
    )
    func mistakes(path: String, milliseconds: String?, message: String?) async throws {
        try await withServer { send async throws -> Void in
            let query: RouteParameters = milliseconds.map { ["ms": JSON($0)] } ?? [:]
            let request = Endpoint.get(RoutePath(stringLiteral: path), query: query).with(\.validation, .all)
            let response = try await send(request)
            #expect(response.status.code == 400)
            if let message { #expect(try response.string() == message) }
        }
    }
}
