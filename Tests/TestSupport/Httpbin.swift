/// The real httpbin, the Python package, under gunicorn on a loopback port that the system chooses.
package final class Httpbin: Sendable {
    package let url: URL
    private let server: Daemon

    /// Its path; `Scripts/test --install` installs it.
    static let program = {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardizedFileURL
        let environment =
            ProcessInfo.processInfo.environment["HTTPBIN_ENVIRONMENT"] ?? root.appending(path: ".build/httpbin").path
        return "\(environment)/bin/gunicorn"
    }()

    /// Starts one; returns when it answers.
    package init() async throws {
        let server = try Daemon(
            Self.program,
            ["--bind", "127.0.0.1:0", "--threads", "8", "--no-control-socket", "httpbin:app"]
        )
        guard
            await eventually({ server.errors.contains("Booting worker") }),
            let address = server.errors.firstMatch(of: #/Listening at: (http://[0-9.:]+)/#)?.1,
            let url = URL(string: String(address))
        else { throw FixtureError("gunicorn did not start: \(server.errors)") }
        self.server = server
        self.url = url
    }
}
