import TestSupport

/// A server of files that supports TLS and HTTP/2: nghttpd.
struct HTTP2Server {
    let folder: TemporaryDirectory
    let daemon: Daemon
    let url: URL
    var certificate: URL { folder.url.appending(path: "certificate.pem") }

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
        daemon = try Daemon(
            "nghttpd",
            [
                "-v", "-a", address.host, "-d", folder.url.path, "--echo-upload", "--max-concurrent-streams=10",
                "\(address.port)", key, certificate,
            ],
            package: "nghttp2-server"
        )
        url = try #require(URL(string: "https://\(address.host):\(address.port)"))
        let daemon = daemon
        #expect(await eventually { daemon.output.contains("listen") })
    }

    /// Frees the disk of the log of many requests.
    func forgetLog() { truncate(daemon.outputPath, 0) }
}
