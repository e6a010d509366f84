// The indicator as a service, and without services.

// snippet.hide
import Dispatch  // hidden
import Foundation  // hidden
import IndicatorBackends
import IndicatorServiceLifecycle
import Logging
import ServiceLifecycle
import UnixSignals

struct Server: Service {
    let indicator: IndicatorManager
    func run() async throws { try await gracefulShutdown() }
    func stop() async {}
}

func withServices() async throws {
    // snippet.show
    // snippet.group
    let indicator = IndicatorManager.configured(
        from: ConfigurationSource(for: "my-daemon", path: "/etc/my-daemon/indicator.yaml")
    )
    let group = ServiceGroup(
        services: [indicator, Server(indicator: indicator)],
        gracefulShutdownSignals: [.sigterm, .sigint],
        logger: Logger(label: "my-daemon")
    )
    try await group.run()
    // snippet.end
    // snippet.hide
}

func withoutServices(server: Server, indicator: IndicatorManager) {
    // snippet.show
    // snippet.signal
    // Keep the source, for example in a property: a released one handles nothing.
    let termination = DispatchSource.makeSignalSource(signal: SIGTERM)
    termination.setEventHandler {
        Task {
            await server.stop()
            await indicator.shutdown()
            exit(0)
        }
    }
    termination.activate()
    // snippet.end
    // snippet.hide
}
