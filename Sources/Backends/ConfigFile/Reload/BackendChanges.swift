/// What has to happen to the backends of one configuration to make them those of another.
struct BackendChanges: CustomStringConvertible {
    /// Those to make, because they are new or have other settings.
    var added: [IndicatorConfiguration.Backend]
    /// Those to remove, because they are no longer named or have other settings.
    var removedNames: [String]

    init(from old: [IndicatorConfiguration.Backend], to new: [IndicatorConfiguration.Backend]) {
        added = new.filter { backend in !old.contains { $0.isSame(as: backend) } }
        removedNames = old.filter { backend in !new.contains { $0.isSame(as: backend) } }.map(\.name)
    }

    /// For the log: `restarted logFile; added audit`.
    var description: String {
        let names = Set(added.map(\.name))
        let restarted = removedNames.filter(names.contains)
        let parts = [
            ("restarted", restarted),
            ("added", added.map(\.name).filter { !restarted.contains($0) }),
            ("removed", removedNames.filter { !names.contains($0) }),
        ]
        let texts = parts.filter { !$0.1.isEmpty }.map { "\($0.0) \($0.1.joined(separator: ", "))" }
        return texts.isEmpty ? "the backends stay as they are" : texts.joined(separator: "; ")
    }
}

extension IndicatorConfiguration.Backend {
    /// Whether a backend made of the one is as good as one made of the other.
    fileprivate func isSame(as other: Self) -> Bool {
        name == other.name && kind.name == other.kind.name && settings == other.settings
    }
}
