import TestSupport

@testable import NetworkKit

/// Pinned keys, client certificates and authorities of a host, with a server of openssl.
@Suite(.needs(.certificates), .timeLimit(.minutes(5))) struct HostTrustTests {
    private let certificates: Certificates
    private let address: LoopbackAddress
    private var url: URL { URL(string: "https://\(address.host):\(address.port)/")! }

    init() async throws {
        address = try LoopbackAddress()
        certificates = try await Certificates(address: address.host)
    }

    private func file(_ name: String) -> URL { URL(filePath: certificates.path(name)) }

    /// Starts a server that sends a page, and closes each connection.
    private func serve(_ arguments: [String] = []) async throws -> Daemon {
        let files = ["-cert", certificates.path("server.pem"), "-key", certificates.path("server.key")]
        let command = ["s_server", "-accept", "\(address.host):\(address.port)", "-www"] + files
        let server = try Daemon("openssl", command + arguments, package: "openssl")
        #expect(await server.prints("ACCEPT"))
        return server
    }

    private func hash(_ name: String) async throws -> String {
        let command = """
            openssl x509 -pubkey -noout -in '\(certificates.path("\(name).pem"))' |
                openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64
            """
        let result = try await Command.run("sh", ["-c", command])
        return result.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private func client(_ trust: HostTrust, for host: String? = nil) -> NetworkClient {
        NetworkClient(options: .init { $0.trust = [host ?? address.host: trust] })
    }

    private func error(_ client: NetworkClient, _ url: URL? = nil) async -> (any Error)? {
        await thrown { try await client.send(URLRoute(url ?? self.url)) }
    }

    /// The client does not trust the server, or the reverse, and the reason names something.
    private func isRefused(
        _ client: NetworkClient,
        _ url: URL? = nil,
        naming text: String = "",
        location: SourceLocation = #_sourceLocation
    ) async {
        let error = await error(client, url)
        if case .transport(let failure)? = error as? NetworkError, failure.kind == .insecure,
            text.isEmpty || failure.reason.contains(text)
        {
            return
        }
        Issue.record("\(error as Any)", sourceLocation: location)
    }

    @Test func `An authority is trusted for its host only`() async throws {
        let server = try await serve()
        #expect(await error(client(.init(certificateAuthorities: file("ca.pem")))) == nil)
        await isRefused(client(.init(certificateAuthorities: file("ca.pem")), for: "other.example"))
        for name in ["other.pem", "missing.pem"] {
            await isRefused(client(.init(certificateAuthorities: file(name))), naming: name)
        }
        await server.end()
    }

    @Test func `A pinned key is accepted, and does not replace the authority; an invalid one is an error`() async throws
    {
        let server = try await serve()
        let (key, other) = (try await hash("server"), try await hash("other"))
        for pin in [key, "sha256/\(key)", "sha256//\(key)"] {
            #expect(
                await error(client(.init(certificateAuthorities: file("ca.pem"), pinnedKeys: [other, pin]))) == nil
            )
        }
        await isRefused(client(.init(pinnedKeys: [key])))
        for pin in ["", "sha1/abcd", "server.pem", "AAAA"] {
            await isRefused(client(.init(pinnedKeys: [pin])), naming: "'\(pin)'")
        }
        await server.end()
    }

    @Test func `A key that changes after a kept connection is an error, before the request is sent`() async throws {
        let script = """
            context.load_cert_chain(folder + "/client.pem", folder + "/client.key")
            for _ in range(2):
                if connection.recv(65536): print("request", number)
                connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok")
            connection.close()
            """
        let server = try await TLSServer(serving: script, at: address, certificates)
        let pin = try await hash("server")
        let client = client(.init(certificateAuthorities: file("ca.pem"), pinnedKeys: [pin]))
        #expect(await error(client) == nil)
        #expect(await error(client) == nil)
        // Another key of the same authority.
        await isRefused(client, naming: pin)
        // Also a connection that is not the first with the other key.
        await isRefused(client, naming: address.host)
        #expect(server.output == ["request 0", "request 0"], "\(server.errors)")
    }

    /// Demands Basic, and redirects who has the password.
    private func basic(to target: String) -> String {
        """
        knows = b"Authorization: Basic dTpw\\r\\n" in connection.recv(65536)
        print("knows" if knows else "asks")
        answer = b"302 Found\\r\\nLocation: \(target)" if knows else b"401 No\\r\\nWWW-Authenticate: Basic realm=a"
        connection.sendall(b"HTTP/1.1 " + answer + b"\\r\\nContent-Length: 0\\r\\n\\r\\n")
        connection.close()
        """
    }

    @Test func `Over TLS a host may ask for Basic, and another one does not get it`() async throws {
        let other = try await TLSServer(serving: basic(to: "/"))
        let server = try await TLSServer(serving: basic(to: "\(other.url)"), at: address, certificates)
        var options = NetworkClient.Options()
        for server in [server, other] {
            let authority = URL(filePath: server.certificates.path("ca.pem"))
            options.trust[try #require(server.url.host())] = .init(certificateAuthorities: authority)
        }
        let request = Endpoint.get("").with(\.credentials, Credentials(user: "u", password: "p"))
        let error = await thrown { try await NetworkClient(options: options).send(URLRoute(url, request)) }
        #expect("\(error as Any)".contains("\(other.url)"), "\(error as Any)")
        #expect((server.output, other.output) == (["asks", "knows"], ["asks"]))
    }

    @Test func `A pinned host is not reached without TLS, also after a redirect`() async throws {
        let server = try RawServer.closing { request, connection in
            let location = "Location: http://localhost:\(request.headers["host"]?.split(separator: ":").last ?? "")/"
            try connection.respond("302 Found", headers: [location])
        }
        let pins = HostTrust(pinnedKeys: [try await hash("server")])
        await isRefused(client(pins, for: "127.0.0.1"), server.url, naming: "https")
        #expect(server.requests.isEmpty)
        await isRefused(client(pins, for: "LOCALHOST"), server.url)
        #expect(server.requests.count == 1)
    }

    @Test(arguments: [
        ("B\u{FC}cher.invalid", "http://b\u{FC}cher.invalid"), ("b\u{FC}cher.invalid", "http://xn--bcher-kva.invalid"),
        ("xn--bcher-kva.invalid", "http://B\u{DC}CHER.invalid"), ("host.invalid", "http://host.invalid."),
        ("host.invalid.", "http://Host.invalid"), ("host.invalid", "http://h%6Fst.invalid"),
        ("::1", "http://[::1]:1"), ("[::1]", "http://[::1]:1"),
    ])
    func `A host is pinned by each form of its name`(_ name: String, _ url: String) async throws {
        let url = try #require(URL(string: url))
        // It is not reached without TLS.
        let pins = HostTrust(pinnedKeys: [try await hash("server")])
        await isRefused(client(pins, for: name), url)
    }

    private func mutual(_ certificate: String?, key: String? = nil, passphrase: String? = nil) -> NetworkClient {
        var trust = HostTrust(certificateAuthorities: file("ca.pem"), clientKeyPassphrase: passphrase)
        (trust.clientCertificate, trust.clientKey) = (certificate.map { file($0) }, key.map { file($0) })
        return client(trust)
    }

    @Test func `Files that do not fit are named`() async throws {
        let server = try await serve()
        await isRefused(mutual("missing.pem"), naming: "missing.pem")
        await isRefused(mutual("client.pem", key: "server.key"), naming: "server.key")
        await server.end()
    }

    @Test func `A server may require a client certificate, whose passphrase is in no message`() async throws {
        let server = try await serve(["-CAfile", certificates.path("ca.pem"), "-Verify", "1", "-verify_return_error"])
        #expect(await error(mutual("client.pem", key: "client.key")) == nil)
        await isRefused(mutual(nil), naming: "client certificate")
        // Of another authority.
        await isRefused(mutual("other.pem", key: "other.key"), naming: "other.pem")
        let names = ["-in", certificates.path("client.key"), "-out", certificates.path("secret.key")]
        let made = try await Command.run("openssl", ["ec", "-aes128", "-passout", "pass:sesame"] + names)
        #expect(made.status == 0)
        #expect(await error(mutual("client.pem", key: "secret.key", passphrase: "sesame")) == nil)
        let wrong = await error(mutual("client.pem", key: "secret.key", passphrase: "hunter2"))
        #expect(kind(of: wrong) == .insecure && "\(wrong as Any)".contains("secret.key"), "\(wrong as Any)")
        #expect(!"\(wrong as Any)\(HostTrust(clientKeyPassphrase: "hunter2"))".contains("hunter2"))
        await server.end()
    }
}
