import Foundation
import IndicatorCore
import TestSupport

/// The real httpbin, the Python package, under gunicorn on a port of loopback that the system picks.
final class Httpbin: Sendable {
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    private struct Server: @unchecked Sendable {
        // `@unchecked`: started by one thread, ended by another, and nothing else is done with it.
        var process: Process
    }

    let url: URL
    private let server: Locked<Server>

    init() async throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..").standardizedFileURL
        let environment =
            ProcessInfo.processInfo.environment["HTTPBIN_ENVIRONMENT"] ?? root.appending(path: ".build/httpbin").path
        guard FileManager.default.isExecutableFile(atPath: "\(environment)/bin/gunicorn") else {
            throw Failure(description: "httpbin is not installed in \(environment): run Scripts/lib/httpbin")
        }
        let folder = try TestFolder()
        let log = folder.url.appending(path: "log")
        try Data().write(to: log)
        let process = Process()
        process.executableURL = URL(filePath: "\(environment)/bin/gunicorn")
        process.arguments = ["--bind", "127.0.0.1:0", "--threads", "8", "--error-logfile", log.path, "httpbin:app"]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        server = Locked(Server(process: process))
        var found: URL?
        _ = try await eventually {
            let text = try String(contentsOf: log, encoding: .utf8)
            guard text.contains("Booting worker") else { return false }
            found = text.firstMatch(of: #/Listening at: (http://[0-9.:]+)/#).flatMap { URL(string: String($0.1)) }
            return found != nil
        }
        guard let found else {
            process.terminate()
            throw Failure(
                description: "gunicorn did not start: \((try? String(contentsOf: log, encoding: .utf8)) ?? "")"
            )
        }
        url = found
    }

    deinit {
        server.withLock { $0.process.terminate() }
    }
}
