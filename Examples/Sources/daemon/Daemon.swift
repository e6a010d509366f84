import Foundation
import IndicatorBackends
import IndicatorCore
import IndicatorServiceLifecycle
import Logging
import ServiceLifecycle
import UnixSignals
import Yams

/// Counts the words of files in an inbox, and writes the counts to another folder.
///
///     daemon FOLDER           runs with the config files in a folder such as /etc/words, until SIGTERM
///     daemon --check FOLDER   reports every mistake in the indicator's
///
/// The daemon's own file, `daemon.yaml`:
///
///     inbox: /var/spool/words/in
///     done: /var/spool/words/done
///
/// The indicator's, `indicator.yaml`:
///
///     startDelay: 0.5
///     backends: [statusFile, dbusProperty]
///     statusFile: {path: /run/words/status}
@main
struct Daemon {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard let folder = arguments.last, arguments.count <= 2 else {
            FileHandle.standardError.write(Data("usage: daemon [--check] FOLDER\n".utf8))
            exit(64)
        }
        if arguments.first == "--check" { return check(folder) }

        let settings = try DaemonSettings(path: "\(folder)/daemon.yaml")
        let indicator = IndicatorManager.configured(from: source(in: folder))
        let logger = Logger(label: "daemon")
        let group = ServiceGroup(
            services: [indicator, InboxService(settings: settings, indicator: indicator, logger: logger)],
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: logger
        )
        try await group.run()
    }

    private static func source(in folder: String) -> ConfigurationSource {
        ConfigurationSource(for: "daemon", path: "\(folder)/indicator.yaml", registry: .daemon)
    }

    /// Reports the mistakes in the indicator's config file, including those in the daemon's own kind of backend.
    private static func check(_ folder: String) {
        do throws(ConfigurationError) {
            _ = try IndicatorConfiguration.load(from: source(in: folder))
        } catch {
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            exit(78)
        }
    }
}

/// The settings of the daemon itself.
struct DaemonSettings: Decodable {
    var inbox: String
    var done: String

    init(path: String) throws {
        self = try YAMLDecoder().decode(Self.self, from: String(contentsOfFile: path, encoding: .utf8))
    }
}

/// Does the work until the service group shuts down. A file that fails remains in the inbox; it is tried again after a
/// restart.
struct InboxService: Service {
    let settings: DaemonSettings
    let indicator: IndicatorManager
    let logger: Logger

    func run() async throws {
        var failed: Set<String> = []
        // A shutdown cancels the sleep immediately, but a file in progress is finished.
        for await _ in ticks.cancelOnGracefulShutdown() {
            for name in try FileManager.default.contentsOfDirectory(atPath: settings.inbox).sorted()
            where !failed.contains(name) {
                do {
                    try await indicator.withActivity("Counting \(name)") { try await take(name) }
                } catch let error where !(error is CancellationError) {
                    failed.insert(name)
                    logger.error("cannot count \(name): \(error)")
                }
            }
        }
    }

    private var ticks: AsyncStream<Void> {
        AsyncStream(unfolding: { try? await Task.sleep(for: .milliseconds(50)) })
    }

    private func take(_ name: String) async throws {
        let file = URL(filePath: settings.inbox).appending(path: name)
        let count = try String(contentsOf: file, encoding: .utf8).split(whereSeparator: \.isWhitespace).count
        // Simulates slow work.
        try await Task.sleep(for: .milliseconds(100 * count))
        let result = URL(filePath: settings.done).appending(path: name)
        try "\(count)\n".write(to: result, atomically: true, encoding: .utf8)
        try FileManager.default.removeItem(at: file)
    }
}
