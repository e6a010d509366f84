import Foundation
import IndicatorBackends
import IndicatorServiceLifecycle
import Logging
import ServiceLifecycle
import UnixSignals

/// A daemon with the indicator among its services, for tests of its shutdown.
///
/// Usage: `test-probe service FILE [MODE]`. It prints `shown` once the indicator is shown, `finishing` when its worker
/// shuts down, and `ended` when the group has ended. The worker's activity ends with success.
///
/// Mode: `failing` adds a service that throws when it reads a line from standard input.
enum ServiceProbe {
    static func run(_ arguments: [String]) async throws {
        // Ends the process if a failed test leaves it running.
        alarm(300)
        let path = arguments[0]
        let mode = arguments.dropFirst().first
        let indicator = IndicatorManager.configured(from: ConfigurationSource(for: "probe", path: path))
        var services: [any Service] = [indicator, Worker(indicator: indicator)]
        if mode == "failing" { services.append(Failing()) }
        let group = ServiceGroup(
            services: services,
            gracefulShutdownSignals: [.sigterm],
            logger: Logger(label: "helper") { StreamLogHandler.standardError(label: $0) }
        )
        do {
            try await group.run()
            say("ended")
        } catch {
            say("failed: \(error)")
        }
        say("backends \(indicator.backendStatuses.map { "\($0.state)" })")
    }
}

/// Works until the group shuts down.
private struct Worker: Service {
    let indicator: IndicatorManager

    func run() async throws {
        try await indicator.withActivity("Working") {
            for await snapshot in indicator.snapshots where snapshot.isVisible { break }
            say("shown")
            try await gracefulShutdown()
            say("finishing")
        }
    }
}

private struct Failing: Service {
    struct Failure: Error {}

    func run() async throws {
        await withCheckedContinuation { continuation in
            Thread {
                _ = readLine()
                continuation.resume()
            }.start()
        }
        throw Failure()
    }
}
