import NetworkKit
import TestSupport

/// A server of files that supports TLS and HTTP/2: nghttpd.
struct HTTP2Server {
    let folder: TemporaryDirectory
    private let certificates: Certificates
    let daemon: Daemon
    let url: URL
    var authority: URL { URL(filePath: certificates.path("ca.pem")) }

    init() async throws {
        folder = try TemporaryDirectory()
        let address = try LoopbackAddress()
        certificates = try await Certificates(address: address.host)
        let files = [certificates.path("server.key"), certificates.path("server.pem")]
        let options = ["-v", "-a", address.host, "-d", folder.path, "--echo-upload", "--max-concurrent-streams=10"]
        daemon = try Daemon("nghttpd", options + ["\(address.port)"] + files, package: "nghttp2-server")
        url = try #require(URL(string: "https://\(address.host):\(address.port)"))
        let daemon = daemon
        #expect(await daemon.prints("listen"))
    }

    /// A client that trusts the server.
    func client(connections: Int = 6) -> NetworkClient {
        NetworkClient(
            options: .init {
                ($0.certificateAuthorities, $0.maximumConnectionsPerHost) = (authority, connections)
            }
        )
    }

    /// Frees the disk of the log of many requests.
    func forgetLog() { truncate(daemon.outputPath, 0) }
}
