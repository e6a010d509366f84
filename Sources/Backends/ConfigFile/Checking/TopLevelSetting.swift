import IndicatorCore

/// The settings that stand at the top of a config file, outside the sections of the backends.
enum TopLevelSetting {
    static let enabled = BackendSetting(
        "enabled",
        .boolean,
        default: .boolean(true),
        summary: "whether the indicator is on"
    )
    static let delays: [BackendSetting] = [
        BackendSetting(
            IndicatorDelays.Setting.startDelay.rawValue,
            .seconds,
            default: .duration(IndicatorDelays.standard.startDelay),
            summary: "how long work must be going on before the indicator is shown"
        ),
        BackendSetting(
            IndicatorDelays.Setting.completionDelay.rawValue,
            .seconds,
            default: .duration(IndicatorDelays.standard.completionDelay),
            summary: "how long nothing must be going on before it is hidden again"
        ),
        BackendSetting(
            IndicatorDelays.Setting.minimumVisibleTime.rawValue,
            .seconds,
            default: .duration(IndicatorDelays.standard.minimumVisibleTime),
            summary: "how long it stays at least, once shown"
        ),
    ]
    /// Those with one value.
    static let scalars = [enabled] + delays

    /// Which notifications the manager observes.
    static let observe = "observe"
    /// Which backends there are.
    static let backends = "backends"
    /// Those with a list of names.
    static let lists = [observe, backends]

    static let names = scalars.map(\.name) + lists

    /// The setting of a section that says which kind it is.
    static let kind = "kind"

    static func scalar(named name: String) -> BackendSetting? {
        scalars.first { $0.name == name }
    }
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

/// The full name of a setting: `startDelay`, or `logFile.path`.
struct SettingKey: Hashable {
    var section: String?
    var name: String

    var components: [String] { section.map { [$0, name] } ?? [name] }
    var description: String { components.joined(separator: ".") }
}
