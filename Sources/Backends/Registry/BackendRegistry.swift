/// The kinds of backend that a config file can select, by name.
///
/// ``standard`` holds the built-in kinds. Register the kinds of your own before you load a config file:
///
/// ```swift
/// var registry = BackendRegistry.standard
/// registry.register(BackendKind(name: "ledStrip", summary: "the strip on the shelf") { context, settings in
///     LEDStripBackend(name: context.name)
/// })
/// let indicator = IndicatorManager.configured(for: "my-app", registry: registry)
/// ```
public struct BackendRegistry: Sendable {
    /// The kinds, in the order in which they were registered.
    public private(set) var kinds: [BackendKind] = []
    /// Why a kind that this package has is not in this build, by the name of the kind.
    private var reasonsForMissing: [String: String] = [:]

    /// Makes a registry of these kinds.
    public init(kinds: [BackendKind] = []) {
        for kind in kinds { register(kind) }
    }

    /// Adds a kind. One of the same name that is there already is replaced.
    ///
    /// - Precondition: the name begins with a letter, holds letters, digits, `-` and `_`, and is not the name of a
    ///   setting such as `startDelay`, because a section of that name could not be told from the setting.
    public mutating func register(_ kind: BackendKind) {
        precondition(
            SectionName.isValid(kind.name) && !TopLevelSetting.names.contains(kind.name),
            "'\(kind.name)' cannot be the name of a kind of backend"
        )
        reasonsForMissing[kind.name] = nil
        if let index = kinds.firstIndex(where: { $0.name == kind.name }) {
            kinds[index] = kind
        } else {
            kinds.append(kind)
        }
    }

    /// Remembers why a kind is not in this build, for the message about a config file that selects it.
    package mutating func registerMissing(_ name: String, reason: String) {
        if kind(named: name) == nil { reasonsForMissing[name] = reason }
    }

    /// The kind of that name; `nil` when there is none.
    public func kind(named name: String) -> BackendKind? {
        kinds.first { $0.name == name }
    }

    /// Why a kind that this package has is not in this build, such as `this build has no D-Bus support: build with the
    /// trait DBus`; `nil` for kinds that are there, and for names that are not known at all.
    public func reasonForMissing(_ name: String) -> String? {
        reasonsForMissing[name]
    }

    /// The names of the kinds that this package has and this build has not, in alphabetical order.
    public var missingKindNames: [String] { reasonsForMissing.keys.sorted() }

    /// The names that a user may have meant: of the kinds, and of those that are missing in this build.
    var knownNames: [String] { kinds.map(\.name) + missingKindNames }
}

/// What a section of the config file, and so a backend, may be called.
enum SectionName {
    static let expectation = "a name of letters, digits, '-' and '_' that begins with a letter"

    /// Names become parts of environment variables, messages and file names, so they are plain words.
    static func isValid(_ name: String) -> Bool {
        guard let first = name.unicodeScalars.first, isLetter(first), name.unicodeScalars.count <= 64 else {
            return false
        }
        return name.unicodeScalars.allSatisfy { isLetter($0) || ("0"..."9").contains($0) || $0 == "-" || $0 == "_" }
    }

    private static func isLetter(_ scalar: Unicode.Scalar) -> Bool {
        ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar)
    }
}
