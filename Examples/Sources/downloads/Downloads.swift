import Foundation
import IndicatorBackends
import IndicatorCore
import Logging
import NetworkKit

/// Downloads files in parallel, with a bar for each and log lines above them: `downloads SERVER FOLDER FILE…`.
@main
struct Downloads {
    static func main() async {
        let arguments = CommandLine.arguments
        guard arguments.count > 3, let server = URL(string: arguments[1]) else { exit(64) }
        LoggingSystem.bootstrap { IndicatorLogHandler(wrapping: StreamLogHandler.standardError(label: $0)) }
        let logger = Logger(label: "downloads")
        let source = ConfigurationSource(for: "downloads", defaults: ["backends": ["terminalProgress"]])
        let indicator = IndicatorManager.configured(from: source)
        let client = NetworkClient()
        var status: Int32 = 0
        do {
            try await withThrowingDiscardingTaskGroup { group in
                for name in arguments.dropFirst(3) {
                    group.addTask {
                        // NetworkKit posts notifications for its requests, so they are activities.
                        let route = URLRoute(server, .get("\(name)").with(\.label, name))
                        _ = try await client.download(route, to: URL(filePath: arguments[2]).appending(path: name))
                        logger.info("\(name) is complete")
                    }
                }
            }
        } catch {
            status = 1  // What failed has a line.
        }
        await indicator.shutdown()
        exit(status)
    }
}
