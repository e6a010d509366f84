import IndicatorCore

/// The settings that stand at the top of a config file, outside the sections of the backends.
enum TopLevelSetting {
    static let enabled = BackendSetting(
        "enabled",
        .boolean,
        default: .boolean(true),
        summary: "whether the indicator is on"
    )
    static let delays = [
        delay(.startDelay, \.startDelay, "how long work must be going on before the indicator is shown"),
        delay(.completionDelay, \.completionDelay, "how long nothing must be going on before it is hidden again"),
        delay(.minimumVisibleTime, \.minimumVisibleTime, "how long it stays at least, once shown"),
    ]
    /// Those with one value.
    static let scalars = [enabled] + delays

    /// A setting with a list of names.
    struct List: Sendable {
        var name: String
        var summary: String
        /// The names when none are given.
        var defaultNames: [String]
        var example: [String]

        /// The names when none are given, of what there is in this build.
        func defaultNames(in registry: BackendRegistry) -> [String] {
            defaultNames.filter { name != TopLevelSetting.backends.name || registry.kind(named: $0) != nil }
        }
    }

    /// Which notifications the manager observes.
    static let observe = List(
        name: "observe",
        summary: "whose tasks count: those of libraries that announce them by notifications, indicator and alamofire",
        defaultNames: [TaskNotifications.indicator.name],
        example: ["indicator", "alamofire"]
    )
    /// Which backends there are. The defaults disturb nobody.
    static let backends = List(
        name: "backends",
        summary: "where the indicator shows: kinds of backend, or names of sections with a kind",
        defaultNames: ["terminalTitle", "dbusProperty"],
        example: ["terminalTitle", "logFile"]
    )
    static let lists = [observe, backends]

    static let names = scalars.map(\.name) + lists.map(\.name)

    /// The setting of a section that says which kind it is.
    static let kind = "kind"

    /// The notifications that `observe` can name.
    static let notifications: [TaskNotifications] = [.indicator, .alamofire]

    private static func delay(
        _ setting: IndicatorDelays.Setting,
        _ value: (IndicatorDelays) -> Duration,
        _ summary: String
    ) -> BackendSetting {
        BackendSetting(setting.rawValue, .seconds, default: .duration(value(.standard)), summary: summary)
    }

    static func scalar(named name: String) -> BackendSetting? {
        scalars.first { $0.name == name }
    }
}

/// The full name of a setting: `startDelay`, or `logFile.path`.
struct SettingKey: Hashable, CustomStringConvertible {
    var section: String?
    var name: String

    var description: String { section.map { "\($0).\(name)" } ?? name }

    /// What the names of the variables begin with.
    static let variablePrefix = "INDICATOR_"

    /// The environment variable of the setting: `INDICATOR_START_DELAY`, `INDICATOR_LOG_FILE_PATH`.
    ///
    /// Capital letters, with `_` between a small letter and a capital one and in place of every other character.
    var variable: String {
        let words = [section, name].compactMap { $0 }.map { component in
            var word = ""
            for character in component {
                if character.isUppercase, word.last?.isLowercase == true { word += "_" }
                word += character.isLetter || character.isNumber ? String(character) : "_"
            }
            return word.uppercased()
        }
        return Self.variablePrefix + words.joined(separator: "_")
    }
}
