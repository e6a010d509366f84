import IndicatorBackends
import Logging

/// A surface that the demo uses, or that it would use if it could run here.
struct DemoBackend: Sendable {
    /// The name: that of its kind, or of its section in the config file.
    var name: String
    /// The name of its kind.
    var kind: String
    /// What it is, in a few words; empty for a kind that is not in this build.
    var summary = ""
    /// Whether it can show anything here.
    var availability: BackendAvailability

    /// Whether it can show anything here.
    var isAvailable: Bool {
        if case .available = availability { true } else { false }
    }

    /// Every built-in kind with the settings that it has by default.
    static func builtIn(applicationName: String, registry: BackendRegistry = .standard) async -> [DemoBackend] {
        var backends: [DemoBackend] = []
        for kind in registry.kinds {
            let settings = BackendSettings(definitions: kind.settings)
            backends.append(await DemoBackend(kind, named: kind.name, settings, applicationName: applicationName))
        }
        for name in registry.missingKindNames {
            let reason = registry.reasonForMissing(name) ?? "not in this build"
            let parts = reason.split(separator: "; ", maxSplits: 1).map(String.init)
            let availability = BackendAvailability.unavailable(reason: parts[0], help: parts.count > 1 ? parts[1] : nil)
            backends.append(DemoBackend(name: name, kind: name, availability: availability))
        }
        return backends
    }

    /// Looks whether a backend can run here.
    init(_ kind: BackendKind, named name: String, _ settings: BackendSettings, applicationName: String) async {
        self.name = name
        self.kind = kind.name
        summary = kind.summary
        let logger = Logger(label: "indicator-demo", factory: { _ in SwiftLogNoOpLogHandler() })
        let context = BackendContext(name: name, applicationName: applicationName, logger: logger)
        availability = await kind.availability(context, settings)
    }

    private init(name: String, kind: String, availability: BackendAvailability) {
        self.name = name
        self.kind = kind
        self.availability = availability
    }
}
