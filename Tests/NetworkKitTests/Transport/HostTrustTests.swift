import Foundation
import TestSupport
import Testing

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
    private func serve(
        _ name: String = "server",
        _ arguments: [String] = [],
        at other: LoopbackAddress? = nil
    ) async throws -> Daemon {
        let address = other ?? self.address
        let files = ["-cert", certificates.path("\(name).pem"), "-key", certificates.path("\(name).key")]
        let server = try Daemon(
            "openssl",
            ["s_server", "-accept", "\(address.host):\(address.port)", "-www"] + files + arguments,
            package: "openssl"
        )
        #expect(await eventually { server.output.contains("ACCEPT") })
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
        var options = NetworkClient.Options()
        options.trust = [host ?? address.host: trust]
        return NetworkClient(options: options)
    }

    private func send(_ client: NetworkClient, _ url: URL? = nil) async -> TransportFailure? {
        let error = await thrown { _ = try await client.send(URLRoute(url ?? self.url)) }
        guard let error else { return nil }
        guard case .transport(let failure)? = error as? NetworkError else {
            Issue.record("\(error)")
            return nil
        }
        return failure
    }

    @Test func `An authority is trusted for its host only`() async throws {
        let server = try await serve()
        #expect(await send(client(.init(certificateAuthorities: file("ca.pem")))) == nil)
        let other = await send(client(.init(certificateAuthorities: file("ca.pem")), for: "other.example"))
        #expect(other?.kind == .insecure)
        let wrong = await send(client(.init(certificateAuthorities: file("other.pem"))))
        #expect(wrong?.kind == .insecure)
        #expect(wrong?.reason.contains("other.pem") == true, "\(wrong as Any)")
        await server.end()
    }

    @Test func `A certificate of another host is not blamed on its authority`() async throws {
        let other = try LoopbackAddress()
        let server = try await serve(at: other)
        let url = try #require(URL(string: "https://\(other.host):\(other.port)/"))
        let failure = await send(client(.init(certificateAuthorities: file("ca.pem")), for: other.host), url)
        #expect(failure?.kind == .insecure)
        #expect(failure?.reason.contains("match") == true, "\(failure as Any)")
        #expect(failure?.reason.contains("must be certified") == false)
        await server.end()
    }

    @Test(arguments: ["", "sha256/", "sha256//"]) func `A pinned key is accepted`(_ prefix: String) async throws {
        let server = try await serve()
        let pins = [try await hash("other"), prefix + (try await hash("server"))]
        #expect(await send(client(.init(certificateAuthorities: file("ca.pem"), pinnedKeys: pins))) == nil)
        await server.end()
    }

    @Test(arguments: ["", "sha256/", "sha256//"]) func `A hash may begin with slashes`(_ prefix: String) async throws {
        let server = try await serve()
        let hash = "//" + String(repeating: "A", count: 41) + "="
        let trust = HostTrust(certificateAuthorities: file("ca.pem"), pinnedKeys: [prefix + hash])
        #expect(await send(client(trust))?.kind == .insecure)
        await server.end()
    }

    @Test func `Another key is an error also when it replaces the pinned one`() async throws {
        let pin = try await hash("server")
        let client = client(.init(certificateAuthorities: file("ca.pem"), pinnedKeys: [pin]))
        let server = try await serve()
        #expect(await send(client) == nil)
        await server.end()
        // Another key of the same authority.
        let other = try await serve("client")
        let failure = await send(client)
        #expect(failure?.kind == .insecure)
        #expect(failure?.reason.contains(pin) == true, "\(failure as Any)")
        #expect(failure?.reason.contains(address.host) == true)
        await other.end()
    }

    /// Answers two requests on its first connection, and has another key for the next ones.
    private static let changingServer = """
        import socket, ssl, sys
        host, port, *files = sys.argv[1:]
        listener = socket.create_server((host, int(port)))
        print("ACCEPT")
        for number in range(3):
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*(files[:2] if number == 0 else files[2:]))
            try:
                connection = context.wrap_socket(listener.accept()[0], server_side=True)
                for _ in range(2):
                    head = b""
                    while not head.endswith(b"\\r\\n\\r\\n"):
                        piece = connection.recv(4096)
                        if not piece: raise EOFError
                        head += piece
                    print("REQUEST", number)
                    connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok")
                connection.close()
            except Exception as error: print("ERROR", error)
        """

    @Test func `A key that changes after a kept connection is an error before the request is sent`() async throws {
        let files = ["server.pem", "server.key", "client.pem", "client.key"].map { certificates.path($0) }
        let arguments = ["-u", "-c", Self.changingServer, address.host, "\(address.port)"] + files
        let server = try Daemon("python3", arguments, package: "python3")
        #expect(await eventually { server.output.contains("ACCEPT") })
        let client = client(.init(certificateAuthorities: file("ca.pem"), pinnedKeys: [try await hash("server")]))
        #expect(await send(client) == nil)
        #expect(await send(client) == nil)
        #expect(await send(client)?.kind == .insecure)
        // Also a connection that is not the first with the other key.
        #expect(await send(client)?.kind == .insecure)
        #expect(server.output.components(separatedBy: "REQUEST 0").count == 3, "\(server.output)")
        #expect(!server.output.contains("REQUEST 1") && !server.output.contains("REQUEST 2"), "\(server.output)")
        await server.end()
    }

    /// Sends a half, and the rest on the same connection when another connection, which has another key, has ended.
    /// Breaks the first connection after the half if the path is `/broken`.
    private static let rotatingServer = """
        import socket, ssl, sys, threading
        host, port, *files = sys.argv[1:]
        listener = socket.create_server((host, int(port)))
        ended = threading.Event()
        def serve(plain, number):
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*(files[:2] if number == 0 else files[2:]))
            try:
                connection = context.wrap_socket(plain, server_side=True)
                head = b""
                while not head.endswith(b"\\r\\n\\r\\n"):
                    piece = connection.recv(4096)
                    if not piece: raise EOFError
                    head += piece
                print("REQUEST", number)
                connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 8\\r\\nETag: \\"x\\"\\r\\n\\r\\nhalf")
                if b"/broken" not in head:
                    if number == 0: ended.wait()
                    connection.sendall(b"rest")
                connection.close()
            except Exception as error: print("ERROR", error)
            if number > 0: ended.set()
        print("ACCEPT")
        for number in range(9): threading.Thread(target=serve, args=[listener.accept()[0], number], daemon=True).start()
        """

    private func rotatingServer() async throws -> (server: Daemon, client: NetworkClient) {
        let files = ["server.pem", "server.key", "client.pem", "client.key"].map { certificates.path($0) }
        let arguments = ["-u", "-c", Self.rotatingServer, address.host, "\(address.port)"] + files
        let server = try Daemon("python3", arguments, package: "python3")
        #expect(await eventually { server.output.contains("ACCEPT") })
        return (server, client(.init(certificateAuthorities: file("ca.pem"), pinnedKeys: [try await hash("server")])))
    }

    @Test func `A stream goes on when other connections have another key`() async throws {
        let (server, client) = try await rotatingServer()
        var body = Data()
        for try await piece in try await client.bytes(URLRoute(url)) {
            if body.isEmpty { #expect(await send(client)?.kind == .insecure) }
            body += piece
        }
        #expect(body == Data("halfrest".utf8))
        #expect(!server.output.contains("REQUEST 1"), "\(server.output)")
        await server.end()
    }

    @Test func `A download is not continued over a connection with another key`() async throws {
        let (server, client) = try await rotatingServer()
        let target = certificates.folder.url.appending(path: "target")
        let request = RouteRequest.get("broken").with(\.retry, .init(initialDelay: .milliseconds(1)))
        let error = await thrown { _ = try await client.download(URLRoute(url, request), to: target) }
        #expect(kind(of: error) == .insecure, "\(error as Any)")
        #expect(await eventually { server.output.contains("ERROR") })
        #expect(server.output.contains("REQUEST 0") && !server.output.contains("REQUEST 1"), "\(server.output)")
        #expect(!FileManager.default.fileExists(atPath: target.path))
        await server.end()
    }

    /// Sends a half over TLS 1.2, renegotiates with another key, and sends the rest. Python's module cannot.
    private static let renegotiatingServer = """
        import ctypes, select, socket, sys
        ssl = ctypes.CDLL("libssl.so.3")
        for name in ["TLS_server_method", "SSL_CTX_new", "SSL_new"]: getattr(ssl, name).restype = ctypes.c_void_p
        ssl.SSL_CTX_set_options.argtypes = [ctypes.c_void_p, ctypes.c_uint64]
        host, port, *files = [text.encode() for text in sys.argv[1:]]
        context = ctypes.c_void_p(ssl.SSL_CTX_new(ctypes.c_void_p(ssl.TLS_server_method())))
        ssl.SSL_CTX_ctrl(context, 124, 0x303, None) # the maximum version
        ssl.SSL_CTX_set_options(context, 1 << 16) # no resumption on renegotiation: it sends the certificate
        connection = ctypes.c_void_p(ssl.SSL_new(context))
        def use(certificate, key):
            assert ssl.SSL_use_certificate_file(connection, certificate, 1) == 1
            assert ssl.SSL_use_PrivateKey_file(connection, key, 1) == 1
        def send(data): assert ssl.SSL_write(connection, data, len(data)) == len(data)
        buffer = ctypes.create_string_buffer(4096)
        listener = socket.create_server((host, int(port)))
        print("ACCEPT")
        plain = listener.accept()[0]
        ssl.SSL_set_fd(connection, plain.fileno())
        use(*files[:2])
        assert ssl.SSL_accept(connection) == 1 and ssl.SSL_read(connection, buffer, 4096) > 0
        send(b"HTTP/1.1 200 OK\\r\\nContent-Length: 8\\r\\n\\r\\nhalf")
        use(*files[2:])
        assert ssl.SSL_renegotiate(connection) == 1 and ssl.SSL_do_handshake(connection) == 1
        plain.setblocking(False)
        while ssl.SSL_renegotiate_pending(connection):
            select.select([plain], [], [])
            read = ssl.SSL_read(connection, buffer, 4096)
            assert ssl.SSL_get_error(connection, read) == 2
        print("RENEGOTIATED")
        plain.setblocking(True)
        send(b"rest")
        """

    /// Only a server that has the pinned key can renegotiate a connection (RFC 5746).
    @Test(arguments: ["client", "other"])
    func `A renegotiated certificate is verified but its key need not be pinned`(_ name: String) async throws {
        let files = ["server.pem", "server.key", "\(name).pem", "\(name).key"].map { certificates.path($0) }
        let arguments = ["-u", "-c", Self.renegotiatingServer, address.host, "\(address.port)"] + files
        let server = try Daemon("python3", arguments, package: "python3")
        #expect(await eventually { server.output.contains("ACCEPT") })
        let client = client(.init(certificateAuthorities: file("ca.pem"), pinnedKeys: [try await hash("server")]))
        // The certificate of the same authority, or of another one.
        let isTrusted = name == "client"
        let error = await thrown {
            let text = try await client.send(URLRoute(url)).string()
            #expect(text == "halfrest")
        }
        #expect((error == nil) == isTrusted, "\(error as Any)")
        #expect(server.output.contains("RENEGOTIATED") == isTrusted, "\(server.errors)")
        await server.end()
    }

    @Test func `A pin does not replace the authority`() async throws {
        let server = try await serve()
        #expect(await send(client(.init(pinnedKeys: [try await hash("server")])))?.kind == .insecure)
        await server.end()
    }

    @Test func `An invalid pin is an error`() async throws {
        for pin in ["", "sha1/abcd", "server.pem", "AAAA"] {
            let failure = await send(client(.init(pinnedKeys: [pin])))
            #expect(failure?.kind == .insecure)
            #expect(failure?.reason.contains("'\(pin)'") == true, "\(failure as Any)")
        }
    }

    @Test func `A pinned host is not reached without TLS also after a redirect`() async throws {
        let server = try RawServer.closing { request, connection in
            let location = "Location: http://localhost:\(request.headers["host"]?.split(separator: ":").last ?? "")/"
            try connection.respond("302 Found", headers: [location])
        }
        let pins = HostTrust(pinnedKeys: [try await hash("server")])
        let direct = await send(client(pins, for: "127.0.0.1"), server.url)
        #expect(direct?.reason.contains("https") == true, "\(direct as Any)")
        #expect(server.requests.isEmpty)
        let redirected = await send(client(pins, for: "LOCALHOST"), server.url)
        #expect(redirected?.kind == .insecure)
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
        #expect(await send(client(pins, for: name), url)?.kind == .insecure)
    }

    private func mutual(_ certificate: String?, key: String? = nil, passphrase: String? = nil) -> NetworkClient {
        client(
            .init(
                certificateAuthorities: file("ca.pem"),
                clientCertificate: certificate.map { file($0) },
                clientKey: key.map { file($0) },
                clientKeyPassphrase: passphrase
            )
        )
    }

    @Test func `A server may require a client certificate`() async throws {
        let server = try await serve(
            "server",
            ["-CAfile", certificates.path("ca.pem"), "-Verify", "1", "-verify_return_error"]
        )
        #expect(await send(mutual("client.pem", key: "client.key")) == nil)
        let missing = await send(mutual(nil))
        #expect(missing?.kind == .insecure)
        #expect(missing?.reason.contains("client certificate") == true, "\(missing as Any)")
        // Of another authority.
        let rejected = await send(mutual("other.pem", key: "other.key"))
        #expect(rejected?.kind == .insecure)
        #expect(rejected?.reason.contains("other.pem") == true, "\(rejected as Any)")
        await server.end()
    }

    @Test func `Files that do not fit are named`() async throws {
        let server = try await serve()
        let missing = await send(mutual("missing.pem"))
        #expect(missing?.kind == .insecure)
        #expect(missing?.reason.contains("missing.pem") == true, "\(missing as Any)")
        let wrongKey = await send(mutual("client.pem", key: "server.key"))
        #expect(wrongKey?.kind == .insecure)
        #expect(wrongKey?.reason.contains("server.key") == true, "\(wrongKey as Any)")
        await server.end()
    }

    @Test func `The passphrase is used and in no message`() async throws {
        let server = try await serve(
            "server",
            ["-CAfile", certificates.path("ca.pem"), "-Verify", "1", "-verify_return_error"]
        )
        let made = try await Command.run(
            "openssl",
            ["ec", "-aes128", "-passout", "pass:sesame", "-in", certificates.path("client.key")]
                + ["-out", certificates.path("secret.key")]
        )
        #expect(made.status == 0)
        #expect(await send(mutual("client.pem", key: "secret.key", passphrase: "sesame")) == nil)
        let failure = await send(mutual("client.pem", key: "secret.key", passphrase: "hunter2"))
        #expect(failure?.kind == .insecure)
        #expect(failure?.reason.contains("secret.key") == true, "\(failure as Any)")
        #expect(failure?.description.contains("hunter2") == false)
        #expect("\(HostTrust(clientKeyPassphrase: "hunter2"))".contains("hunter2") == false)
        await server.end()
    }
}
