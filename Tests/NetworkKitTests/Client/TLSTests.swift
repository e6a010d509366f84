import Foundation
import HTTPTypes
import NetworkKit
import TestSupport
import Testing

/// TLS and HTTP/2, with a server that supports both: nghttpd.
@Suite struct TLSTests {
    private let folder: TemporaryDirectory
    private let server: Daemon
    private let url: URL

    init() async throws {
        folder = try TemporaryDirectory()
        let address = try LoopbackAddress()
        let (key, certificate) = (folder.url.path + "/key.pem", folder.url.path + "/certificate.pem")
        let made = try await Command.run(
            "openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1",
                "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:\(address.host)", "-keyout", key, "-out",
                certificate,
            ],
            package: "openssl"
        )
        #expect(made.status == 0, "\(made.error)")
        try Data("found".utf8).write(to: folder.url.appending(path: "index.html"))
        try Data(count: 3 << 20).write(to: folder.url.appending(path: "large"))
        server = try Daemon(
            "nghttpd",
            ["-v", "-a", address.host, "-d", folder.url.path, "--echo-upload", "\(address.port)", key, certificate],
            package: "nghttp2-server"
        )
        url = try #require(URL(string: "https://\(address.host):\(address.port)"))
        let server = server
        #expect(await eventually { server.output.contains("listen") })
    }

    private var trusting: NetworkClient {
        var options = NetworkClient.Options()
        options.certificateAuthorities = folder.url.appending(path: "certificate.pem")
        return NetworkClient(options: options)
    }

    private func failure(of client: NetworkClient) async -> TransportFailure? {
        let error = await thrown { _ = try await client.send(URLRoute(url)) }
        guard case .transport(let failure)? = error as? NetworkError else { return nil }
        return failure
    }

    @Test func anUntrustedCertificateIsAnError() async throws {
        #expect(await failure(of: NetworkClient())?.kind == .insecure)
    }

    @Test func authoritiesThatCannotBeReadAreAnError() async throws {
        var options = NetworkClient.Options()
        options.certificateAuthorities = folder.url.appending(path: "missing.pem")
        let failure = await failure(of: NetworkClient(options: options))
        #expect(failure?.kind == .insecure)
        #expect(failure?.reason.contains("missing.pem") == true, "\(failure as Any)")
    }

    @Test func requestsUseHTTP2() async throws {
        let client = trusting
        #expect(try await client.send(URLRoute(url)).string() == "found")
        // Ten concurrent ones share a connection.
        let sizes = try await withThrowingTaskGroup { group in
            for _ in 0..<10 { group.addTask { try await client.send(URLRoute(url, .get("large"))).data.count } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(sizes == Array(repeating: 3 << 20, count: 10))
        let body = Data("sent ".utf8) + Data(count: 1 << 20)
        #expect(try await client.send(URLRoute(url, .post("echo", body: .data(body)))).data == body)
        let missing = await thrown { _ = try await client.send(URLRoute(url, .get("missing"))) }
        guard case .unacceptableStatus(let response)? = missing as? NetworkError else {
            Issue.record("\(missing as Any)")
            return
        }
        #expect(response.status.code == 404)
        // The server logs each frame that it receives.
        #expect(server.output.contains(":method: POST"))
    }

    @Test func aDownloadOverHTTP2IsComplete() async throws {
        let file = folder.url.appending(path: "downloaded")
        _ = try await trusting.download(URLRoute(url, .get("large")), to: file)
        #expect(try Data(contentsOf: file) == Data(count: 3 << 20))
    }

    @Test func aServerThatDiesInTheMiddleIsAnError() async throws {
        let client = trusting
        // More than all buffers hold.
        let file = folder.url.appending(path: "huge")
        try Data().write(to: file)
        let handle = try FileHandle(forWritingTo: file)
        try handle.truncate(atOffset: 1 << 30)
        try handle.close()
        let error = await thrown {
            for try await _ in try await client.bytes(URLRoute(url, .get("huge"))) { kill(server.processID, SIGKILL) }
        }
        guard case .transport? = error as? NetworkError else {
            Issue.record("\(error as Any)")
            return
        }
    }
}
