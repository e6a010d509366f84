/// Certificates of a private authority, created with openssl.
package struct Certificates {
    /// The folder with `ca.pem`, `other.pem` (another authority), `client.pem`, `server.pem`, and a `.key` for each.
    package let folder: TemporaryDirectory

    /// Creates them.
    ///
    /// - Parameters:
    ///   - address: the IP address of the server.
    ///   - name: its name instead, if it has one.
    package init(address: String = "127.0.0.1", name: String? = nil) async throws {
        folder = try TemporaryDirectory()
        let newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        for name in ["ca", "other"] {
            try await openssl(
                ["req", "-x509", "-days", "2", "-subj", "/CN=\(name)", "-out", path("\(name).pem")] + newKey
                    + ["-keyout", path("\(name).key")]
            )
        }
        let extensions = try folder.write(
            "subjectAltName=\(name.map { "DNS:\($0)" } ?? "IP:\(address)")\n",
            to: "extensions"
        )
        for name in ["client", "server"] {
            try await openssl(
                ["req", "-subj", "/CN=\(name)", "-out", path("request")] + newKey
                    + ["-keyout", path("\(name).key")]
            )
            try await openssl(
                ["x509", "-req", "-days", "2", "-in", path("request"), "-out", path("\(name).pem")]
                    + ["-CA", path("ca.pem"), "-CAkey", path("ca.key"), "-CAcreateserial", "-extfile", extensions]
            )
        }
    }

    /// The path of a file in the folder.
    package func path(_ name: String) -> String { folder.appending(name) }

    /// The settings of a mosquitto that uses TLS and requires a certificate of its clients.
    package var brokerSettings: String {
        """
        cafile \(path("ca.pem"))
        certfile \(path("server.pem"))
        keyfile \(path("server.key"))
        require_certificate true
        """
    }

    /// The options of a client of mosquitto.
    package var clientOptions: [String] {
        ["--cafile", path("ca.pem"), "--cert", path("client.pem"), "--key", path("client.key")]
    }

    private func openssl(_ arguments: [String]) async throws {
        let result = try await Command.run("openssl", arguments)
        if result.status != 0 { throw FixtureError(result.error) }
    }
}
