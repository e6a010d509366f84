import Foundation
import NetworkKit
import TestSupport
import Testing

/// Pinned keys, client certificates and authorities of a host, with a server of openssl.
@Suite(.timeLimit(.minutes(5))) struct TrustTests {
    private let certificates: Certificates
    private let address: LoopbackAddress
    private var url: URL { URL(string: "https://\(address.host):\(address.port)/")! }

    init() async throws {
        address = try LoopbackAddress()
        certificates = try await Certificates(address: address.host)
    }

    private func file(_ name: String) -> URL { URL(filePath: certificates.path(name)) }

    /// Starts a server that sends a page, and closes each connection.
    private func serve(_ name: String = "server", _ arguments: [String] = []) async throws -> Daemon {
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

    private func client(_ trust: NetworkClient.Trust, for host: String? = nil) -> NetworkClient {
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

    @Test func anAuthorityIsTrustedForItsHostOnly() async throws {
        let server = try await serve()
        #expect(await send(client(.init(certificateAuthorities: file("ca.pem")))) == nil)
        let other = await send(client(.init(certificateAuthorities: file("ca.pem")), for: "other.example"))
        #expect(other?.kind == .insecure)
        let wrong = await send(client(.init(certificateAuthorities: file("other.pem"))))
        #expect(wrong?.kind == .insecure)
        #expect(wrong?.reason.contains("other.pem") == true, "\(wrong as Any)")
        await server.end()
    }

    @Test(arguments: ["", "sha256/", "sha256//"]) func aPinnedKeyIsAccepted(_ prefix: String) async throws {
        let server = try await serve()
        let pins = [try await hash("other"), prefix + (try await hash("server"))]
        #expect(await send(client(.init(certificateAuthorities: file("ca.pem"), pinnedKeys: pins))) == nil)
        await server.end()
    }

    @Test func anotherKeyIsAnErrorAlsoWhenItReplacesThePinnedOne() async throws {
        let pin = try await hash("server")
        let client = client(.init(certificateAuthorities: file("ca.pem"), pinnedKeys: [pin]))
        let server = try await serve()
        #expect(await send(client) == nil)
        await server.end()
        // Another key of the same authority.
        let other = try await serve("client")
        let failure = await send(client)
        #expect(failure?.kind == .insecure)
        let actual = try await hash("client")
        #expect(failure?.reason.contains(actual) == true, "\(failure as Any)")
        #expect(failure?.reason.contains(pin) == true)
        #expect(failure?.reason.contains(address.host) == true)
        await other.end()
    }

    @Test func aPinDoesNotReplaceTheAuthority() async throws {
        let server = try await serve()
        #expect(await send(client(.init(pinnedKeys: [try await hash("server")])))?.kind == .insecure)
        await server.end()
    }

    @Test func anInvalidPinIsAnError() async throws {
        for pin in ["", "sha1/abcd", "server.pem", "AAAA"] {
            let failure = await send(client(.init(pinnedKeys: [pin])))
            #expect(failure?.kind == .insecure)
            #expect(failure?.reason.contains("'\(pin)'") == true, "\(failure as Any)")
        }
    }

    @Test func aPinnedHostIsNotReachedWithoutTLSAlsoAfterARedirect() async throws {
        let server = try RawServer.closing { request, connection in
            let location = "Location: http://localhost:\(request.headers["host"]?.split(separator: ":").last ?? "")/"
            try connection.respond("302 Found", headers: [location])
        }
        let pins = NetworkClient.Trust(pinnedKeys: [try await hash("server")])
        let direct = await send(client(pins, for: "127.0.0.1"), server.url)
        #expect(direct?.reason.contains("https") == true, "\(direct as Any)")
        #expect(server.requests.isEmpty)
        let redirected = await send(client(pins, for: "LOCALHOST"), server.url)
        #expect(redirected?.kind == .insecure)
        #expect(server.requests.count == 1)
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

    @Test func aServerMayRequireAClientCertificate() async throws {
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

    @Test func filesThatDoNotFitAreNamed() async throws {
        let server = try await serve()
        let missing = await send(mutual("missing.pem"))
        #expect(missing?.kind == .insecure)
        #expect(missing?.reason.contains("missing.pem") == true, "\(missing as Any)")
        let wrongKey = await send(mutual("client.pem", key: "server.key"))
        #expect(wrongKey?.kind == .insecure)
        #expect(wrongKey?.reason.contains("server.key") == true, "\(wrongKey as Any)")
        await server.end()
    }

    @Test func thePassphraseIsUsedAndInNoMessage() async throws {
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
        #expect("\(NetworkClient.Trust(clientKeyPassphrase: "hunter2"))".contains("hunter2") == false)
        await server.end()
    }
}
