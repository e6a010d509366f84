import IndicatorCore
import Logging

/// A backend of a configuration, or a kind that it does not use, and whether it can run here.
public struct BackendAvailability: Sendable, Hashable {
    /// The name of its kind, or of its section in the config file.
    public let name: String
    /// The name of its kind.
    public let kind: String
    /// Whether the configuration names it, or names none.
    public let isUsed: Bool
    /// Where it can show something here, or what it is; or why it cannot, and what to do.
    public let availability: Result<String, Unavailability>

    /// Why it cannot run here; `nil` if it can.
    package var reason: String? {
        if case .failure(let problem) = availability { problem.reason } else { nil }
    }
}

extension ConfigurationSource {
    /// What `indicator backends` lists, for an app with kinds of its own: the backends of the configuration, then the
    /// kinds that it does not use, then those that are not in this build.
    ///
    /// Waits for buses and brokers, a few seconds at most. Shows nothing.
    ///
    /// - Throws: ``ConfigurationError``, as ``IndicatorConfiguration/load(from:)`` does.
    public func availability() async throws(ConfigurationError) -> [BackendAvailability] {
        let configuration = try IndicatorConfiguration.load(from: self)
        let isChosen = configuration.settings.contains {
            $0.key == IndicatorConfiguration.listName && $0.location != nil
        }
        let used = isChosen ? configuration.backends : []
        // A section that is not listed still provides settings.
        var source = self
        source.logger = Logger(label: "indicator", factory: { _ in SwiftLogNoOpLogHandler() })
        let unused = registry.names.filter { name in !used.contains { $0.name == name } }
        source.overrides[IndicatorConfiguration.listName] = .list(unused)
        let others = source.read().configuration.backends
        var list = await BackendAvailability.all(used, isUsed: true)
        list += await BackendAvailability.all(others, isUsed: !isChosen)
        var missing: [(String, Unavailability)] = []
        for kind in registry.kinds where !list.contains(where: { $0.name == kind.name }) {
            let names = kind.settings.filter(\.isRequired).map { "'\($0.name)'" }.joined(separator: " and ")
            let help = "add a section '\(kind.name)' to the config file"
            missing.append((kind.name, Unavailability(reason: "it needs \(names)", help: help)))
        }
        missing += registry.missing.sorted { $0.key < $1.key }
        return list
            + missing.map { BackendAvailability(name: $0, kind: $0, isUsed: false, availability: .failure($1)) }
    }
}

extension BackendAvailability {
    /// All at once: several may wait for the same bus.
    package static func all(_ backends: [IndicatorConfiguration.Backend], isUsed: Bool = true) async -> [Self] {
        await withTaskGroup { group in
            for (index, backend) in backends.enumerated() {
                group.addTask {
                    let (kind, configured) = (backend.kind, backend.configured)
                    let place = await configured.availability(backend.context).map { $0 ?? kind.summary }
                    return (index, Self(name: backend.name, kind: kind.name, isUsed: isUsed, availability: place))
                }
            }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }.sorted { $0.key < $1.key }.map(\.value)
        }
    }
}
