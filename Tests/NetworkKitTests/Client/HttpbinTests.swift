import Foundation
import HTTPTypes
import NetworkKit
import NetworkKitImages
import TestSupport
import Testing

extension Tag {
    /// Needs a real server, which `Scripts/test --install` installs.
    @Tag static var realServer: Self
}

/// The client against a server from another project.
@Suite(.needs(.httpbin), .tags(.realServer)) struct HttpbinTests {
    private let httpbin: Httpbin
    private let recorder = NotificationRecorder()
    private let client: NetworkClient
    private let folder: TemporaryDirectory

    init() async throws {
        httpbin = try await Httpbin()
        folder = try TemporaryDirectory()
        client = NetworkClient(notificationCenter: recorder.center)
    }

    private func send(_ request: Endpoint) async throws -> NetworkResponse {
        try await client.send(URLRoute(httpbin.url, request))
    }

    @Test func `Posted parameters arrive as JSON and as a form`() async throws {
        let parameters: RouteParameters = ["title": "ä & b", "n": [1, 2], "deep": ["x": true]]
        let json = try await send(.post("post", body: .json(parameters))).json()
        #expect(json.json == ["title": "ä & b", "n": [1, 2], "deep": ["x": true]])
        #expect(json.data.string == #"{"deep":{"x":true},"n":[1,2],"title":"ä & b"}"#)
        #expect(json.headers["Content-Type"] == "application/json")
        let form = try await send(.post("post", body: .form(parameters)).with(\.query, ["q": "ü +&="])).json()
        #expect(form.form == ["title": "ä & b", "n[]": ["1", "2"], "deep[x]": "1"])
        #expect(form.args == ["q": "ü +&="])
        let bytes = try await send(.put("put", body: .data(Data("raw".utf8)))).json()
        #expect(bytes.data.string == "raw")
        #expect(
            await eventually { recorder.names == ["Resume", "Complete", "Resume", "Complete", "Resume", "Complete"] }
        )
    }

    @Test func `Multipart forms are read as written`() async throws {
        let file = folder.url.appending(path: "picture \"ä\".txt")
        try Data("contents of the file".utf8).write(to: file)
        var form = MultipartForm()
        form.append("ä \"quoted\"", name: "title")
        form.append("1", name: "n")
        form.append("2", name: "n")
        form.append("odd", name: "na\"me\\ ;ö")
        form.append("backslash", name: "ends\\")
        form.append(file: file, name: "picture")
        form.append(Data([0xFF, 0xD8, 0, 1]), name: "bytes", fileName: "b.jpg")
        let json = try await send(.post("post", body: .multipart(form))).json()
        #expect(json.form == ["title": "ä \"quoted\"", "n": ["1", "2"], "na\"me\\ ;ö": "odd", "ends\\": "backslash"])
        #expect(json.files.picture.string == "contents of the file")
        #expect(json.files.bytes.string == "data:image/jpeg;base64,/9gAAQ==")
    }

    @Test func `Delays statuses and redirects are handled`() async throws {
        #expect(try await send(.get("delay/\(1)")).status == 200)
        let late = await thrown { _ = try await send(.get("delay/\(5)").with(\.timeout, .seconds(1))) }
        guard case .transport(let failure)? = late as? NetworkError else {
            Issue.record("\(late as Any)")
            return
        }
        #expect(failure.kind == .timedOut)
        for status in [200, 201, 204, 400, 401, 403, 404, 418, 500, 503] {
            let response = try await send(.get("status/\(status)").with(\.validation, .all))
            #expect(response.status.code == status)
        }
        let redirected = try await send(.get("redirect/\(5)"))
        #expect(redirected.url.path() == "/get")
        let bytes = try await send(.get("bytes/\(10_000)"))
        #expect(bytes.data.count == 10_000)
        let compressed = try await send(.get("gzip")).json()
        #expect(compressed.gzipped.bool == true)
    }

    @Test func `Images are decoded`() async throws {
        for format in ["png", "jpeg"] {
            let image = try await send(.get("image/\(format)")).image()
            #expect(image.width > 0 && image.rgba.count == image.width * image.height * 4)
        }
    }
}
