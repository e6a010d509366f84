// The indicator in daemons that have their own config file and backend kinds.

// snippet.hide
import Foundation  // hidden
import IndicatorBackends

let registry = BackendRegistry.standard

func check() {
    // snippet.show
    // snippet.check
    do throws(ConfigurationError) {
        _ = try IndicatorConfiguration.load(
            from: ConfigurationSource(for: "my-daemon", path: "/etc/my-daemon/indicator.yaml", registry: registry)
        )
    } catch {
        print(error)
        exit(78)
    }
    // snippet.end
    // snippet.hide
}

func fetchIndex() async throws {}

func share() async throws {
    // snippet.show
    // snippet.shared
    let indicator = IndicatorManager.configured(for: "my-app", asShared: true)
    // Everywhere else:
    try await IndicatorManager.shared.withActivity("Fetching index") { try await fetchIndex() }
    // snippet.end
    // snippet.hide
    await indicator.shutdown()
}

struct Phone: Sendable {
    func send(_ text: String) async throws {}
}

func tell(_ indicator: IndicatorManager, _ phone: Phone) {
    // snippet.show
    // snippet.hook
    let settings = HookSettings(after: .seconds(60))
    let hook = HookBackend(name: "phone", applicationName: "my-app", settings: settings) { event, _ in
        try await phone.send("\(event.title): \(event.text)")
    }
    indicator.addBackend(hook)
    // snippet.end
    // snippet.hide
}
