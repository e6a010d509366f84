import IndicatorBackends
import IndicatorCore
import Logging

/// A backend that the demo uses, or that it would use if it could run here.
struct DemoBackend: Sendable {
    /// The name: that of its kind, or of its section in the config file.
    var name: String
    /// The name of its kind.
    var kind: String
    /// What it is, in a few words; empty for a kind that is not in this build.
    var summary = ""
    /// Whether the configuration names it.
    var isUsed = true
    /// Whether it can show anything here.
    var availability: BackendAvailability

    /// Whether it can show anything here.
    var isAvailable: Bool {
        if case .available = availability { true } else { false }
    }

    /// Why it cannot show anything here; `nil` when it can.
    var reason: String? {
        if case .unavailable(let reason, _) = availability { reason } else { nil }
    }

    /// Finds out whether the backends of a configuration can run here.
    static func all(of configuration: IndicatorConfiguration) async -> [DemoBackend] {
        var backends: [DemoBackend] = []
        for backend in configuration.backends { backends.append(await DemoBackend(backend)) }
        return backends
    }

    /// The kinds that are not in this build.
    static func missing(in registry: BackendRegistry) -> [DemoBackend] {
        registry.missingKindNames.map { name in
            let reason = registry.reasonForMissing(name) ?? "not in this build"
            let parts = reason.split(separator: "; ", maxSplits: 1).map(String.init)
            let availability = BackendAvailability.unavailable(reason: parts[0], help: parts.count > 1 ? parts[1] : nil)
            return DemoBackend(name: name, kind: name, isUsed: false, availability: availability)
        }
    }

    private init(_ backend: IndicatorConfiguration.Backend) async {
        let logger = Logger(label: "indicator-demo", factory: { _ in SwiftLogNoOpLogHandler() })
        let context = BackendContext(
            name: backend.name,
            applicationName: DemoSetup.applicationName,
            logger: logger
        )
        let availability = await backend.kind.availability(context, backend.settings)
        self.init(
            name: backend.name,
            kind: backend.kind.name,
            summary: backend.kind.summary,
            availability: availability
        )
    }

    private init(
        name: String,
        kind: String,
        summary: String = "",
        isUsed: Bool = true,
        availability: BackendAvailability
    ) {
        self.name = name
        self.kind = kind
        self.summary = summary
        self.isUsed = isUsed
        self.availability = availability
    }

    /// The backend with what has become of it where it was said to be available.
    func updated(by status: BackendStatus?) -> DemoBackend {
        guard isAvailable, let status, status.state != .running else { return self }
        var updated = self
        let reason =
            switch status.state {
            case .unavailable(let reason): reason
            case .stalled, .starting: "it does not answer\(status.lastError.map { ": \($0)" } ?? "")"
            case .running, .stopped: status.lastError ?? "it was stopped"
            }
        updated.availability = .unavailable(reason: reason, help: nil)
        return updated
    }

    /// Why the backend cannot show anything here, and advice, in lines of a width.
    func problemLines(width: Int, style: TerminalStyle) -> [String] {
        guard case .unavailable(let reason, let help) = availability else { return [] }
        let advice = help.map { TextWidth.wrapped("advice: \($0)", to: width, splitsWords: style.isTerminal) } ?? []
        return TextWidth.wrapped(reason, to: width, splitsWords: style.isTerminal) + advice
    }
}
