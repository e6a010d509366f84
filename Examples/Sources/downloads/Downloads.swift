import Foundation
import IndicatorBackends
import IndicatorCore
import Logging
import NetworkKit

/// Downloads files in parallel, with a bar for each and log lines above them: `downloads SERVER FOLDER FILE…`.
@main
struct Downloads {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count > 3, let server = URL(string: arguments[1]) else {
            FileHandle.standardError.write(Data("usage: downloads SERVER FOLDER FILE…\n".utf8))
            exit(64)
        }
        LoggingSystem.bootstrap { IndicatorLogHandler(wrapping: StreamLogHandler.standardError(label: $0)) }
        let logger = Logger(label: "downloads")
        let indicator = IndicatorManager.configured(
            for: "downloads",
            defaults: ConfigurationValues(backends: ["terminalProgress"])
        )
        let folder = URL(filePath: arguments[2])
        let client = NetworkClient()
        try await withThrowingTaskGroup { group in
            for name in arguments.dropFirst(3) {
                group.addTask {
                    // NetworkKit posts notifications for its requests, so they are activities.
                    let route = URLRoute(server, .get("\(name)", label: name))
                    _ = try await client.download(route, to: folder.appending(path: name))
                    logger.info("\(name) is complete")
                }
            }
            try await group.waitForAll()
        }
        await indicator.shutdown()
    }
}
