package import IndicatorBackends
package import IndicatorCore
import Logging

/// A backend that the program uses or could use, and whether it can run here.
package struct ProgramBackend: Sendable {
    /// The name of its kind or of its section in the config file.
    package var name: String
    /// The name of its kind.
    package var kind: String
    /// A short description; empty for a kind that is not in this build.
    package var summary = ""
    /// Whether the configuration uses it.
    package var isUsed = true
    /// Where it can run here, or why not.
    package var availability: Result<String?, Unavailability>

    /// Whether it can run here.
    package var isAvailable: Bool {
        if case .success = availability { true } else { false }
    }

    /// Why it cannot run here; `nil` when it can.
    package var reason: String? {
        if case .failure(let problem) = availability { problem.reason } else { nil }
    }

    /// The backends of a configuration, with their availability. All at once: several may wait for the same bus.
    package static func all(of configuration: IndicatorConfiguration) async -> [ProgramBackend] {
        await withTaskGroup { group in
            for (index, backend) in configuration.backends.enumerated() {
                group.addTask { (index, await ProgramBackend(backend)) }
            }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }.sorted { $0.key < $1.key }.map(\.value)
        }
    }

    /// The kinds that are not in this build.
    package static func missing(in registry: BackendRegistry) -> [ProgramBackend] {
        registry.reasonsForMissing.sorted { $0.key < $1.key }.map { name, reason in
            let parts = reason.split(separator: "; ", maxSplits: 1).map(String.init)
            let problem = Unavailability(reason: parts[0], help: parts.count > 1 ? parts[1] : nil)
            return ProgramBackend(name: name, kind: name, isUsed: false, availability: .failure(problem))
        }
    }

    /// A kind that needs settings and has none.
    static func withoutSettings(_ kind: String) -> ProgramBackend {
        let help = "add a section '\(kind)' to the config file; see '\(Program.name) check-config --reference'"
        let problem = Unavailability(reason: "it has no settings", help: help)
        return ProgramBackend(name: kind, kind: kind, isUsed: false, availability: .failure(problem))
    }

    private init(_ backend: IndicatorConfiguration.Backend) async {
        var context = backend.context
        context.logger = Logger(label: Program.name, factory: { _ in SwiftLogNoOpLogHandler() })
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
        availability: Result<String?, Unavailability>
    ) {
        self.name = name
        self.kind = kind
        self.summary = summary
        self.isUsed = isUsed
        self.availability = availability
    }

    /// The backend with its current status, if it was available.
    package func updated(by status: BackendStatus?) -> ProgramBackend {
        guard isAvailable, let status, status.state != .running else { return self }
        var updated = self
        let reason =
            switch status.state {
            case .unavailable(let reason): reason
            case .stalled, .starting: "it does not answer\(status.lastError.map { ": \($0)" } ?? "")"
            case .running, .stopped: status.lastError ?? "it was stopped"
            }
        updated.availability = .failure(Unavailability(reason: reason))
        return updated
    }

    /// Why the backend cannot run here, and advice, wrapped at a width.
    package func problemLines(width: Int, style: TerminalStyle) -> [String] {
        guard case .failure(let problem) = availability else { return [] }
        let reason = SafeText.escaped(problem.reason)
        let advice =
            problem.help.map {
                TextWidth.wrapped("advice: \(SafeText.escaped($0))", to: width, splitsWords: style.isTerminal)
            } ?? []
        return TextWidth.wrapped(reason, to: width, splitsWords: style.isTerminal) + advice
    }
}
