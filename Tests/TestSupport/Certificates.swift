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
        let host = "subjectAltName=\(name.map { "DNS:\($0)" } ?? "IP:\(address)")"
        let authority = ["-addext", "basicConstraints=critical,CA:TRUE"]
        let signed = ["-addext", host, "-CA", path("ca.pem"), "-CAkey", path("ca.key")]
        for (name, options) in [("ca", authority), ("other", authority), ("client", signed), ("server", signed)] {
            let files = ["-out", path("\(name).pem"), "-keyout", path("\(name).key")]
            let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
            let request = ["req", "-x509", "-config", "/dev/null", "-days", "2", "-subj", "/CN=\(name)"]
            let result = try await Command.run("openssl", request + key + files + options)
            if result.status != 0 { throw FixtureError(result.error) }
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
}
