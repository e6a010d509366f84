import IndicatorCore

/// The kinds of backend that a config file can select, by name.
///
/// `standard`, of the module IndicatorBackends, holds the built-in kinds. Register your own, as ``BackendKind`` shows,
/// and pass the registry to a ``ConfigurationSource``.
public struct BackendRegistry: Sendable {
    /// The kinds, in the order in which they were registered.
    public private(set) var kinds: [BackendKind] = []
    /// Why a kind of this package is not in this build, by the kind's name.
    package private(set) var missing: [String: Unavailability] = [:]

    /// Makes a registry with these kinds.
    public init(kinds: [BackendKind] = []) {
        for kind in kinds { register(kind) }
    }

    /// Adds a kind. Replaces a kind with the same name.
    ///
    /// - Precondition: the name begins with a letter, consists of letters, digits, `-` and `_`, and is not the name of
    ///   a top-level setting such as `startDelay`, because a section with that name would be ambiguous, or `auto`.
    public mutating func register(_ kind: BackendKind) {
        precondition(
            kind.name.isSectionName && !IndicatorConfiguration.topLevelNames.contains(kind.name),
            "'\(kind.name)' cannot be the name of a kind of backend"
        )
        missing[kind.name] = nil
        if let index = kinds.firstIndex(where: { $0.name == kind.name }) {
            kinds[index] = kind
        } else {
            kinds.append(kind)
        }
    }

    /// Records why a kind is not in this build, for the error when a config file selects it.
    package mutating func registerMissing(_ name: String, _ problem: Unavailability) {
        if kind(named: name) == nil { missing[name] = problem }
    }

    /// The kind with that name, if any.
    package func kind(named name: String) -> BackendKind? {
        kinds.first { $0.name == name }
    }

    /// The names of the kinds of this build, and of those that it lacks.
    var names: [String] { kinds.map(\.name) }
    var missingNames: [String] { missing.keys.sorted() }
}

extension String {
    /// Whether it can be the name of a section in the config file, and so of a backend: names become parts of
    /// environment variables, messages and file names.
    var isSectionName: Bool {
        first?.isLetter == true && utf8.count <= 64 && self != AutomaticFit.name
            && allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") }
    }
}
