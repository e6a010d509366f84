import DisplayText
import IndicatorCore

/// The settings of the indicator itself, which are at the top level of a config file.
struct GeneralSettings: KindSettings, Hashable {
    /// Whether the indicator is on.
    var isEnabled = true
    /// The delays for showing and hiding the indicator.
    var delays = IndicatorDelays.standard
    /// Whether to show the indicator for screen readers.
    var isAccessible = false

    static let standard = Self()
    static let bindings: [BoundSetting<Self>] = [
        BoundSetting("enabled", \.isEnabled, summary: "whether the indicator is on"),
        BoundSetting(
            "startDelay",
            \.delays.startDelay,
            summary: "how long work must last before the indicator is shown"
        ),
        BoundSetting(
            "completionDelay",
            \.delays.completionDelay,
            summary: "how long there must be no work before it is hidden"
        ),
        BoundSetting(
            "minimumVisibleTime",
            \.delays.minimumVisibleTime,
            summary: "the minimum time that it stays visible"
        ),
        BoundSetting(
            "accessible",
            \.isAccessible,
            summary: "for screen readers: sentences instead of bars, and no animations"
        ),
    ]
    static let definitions = bindings.map(\.definition)
}

/// The settings at the top level of a config file, outside the backends' sections.
enum TopLevelSetting {
    /// Which notifications the manager observes.
    static let observe = BackendSetting(
        "observe",
        .names,
        default: .list([TaskNotifications.indicator.name]),
        example: .list(["indicator", "alamofire"]),
        summary: "the libraries whose tasks count as activities, by their notifications: indicator, alamofire"
    )
    /// Which backends to use.
    static func backends(in registry: BackendRegistry) -> BackendSetting {
        BackendSetting(
            backendsName,
            .names,
            default: .list(defaultBackends.filter { registry.kind(named: $0) != nil }),
            example: .list(["terminalTitle", "logFile"]),
            summary: "where to show the indicator: auto, for what fits where the app runs; kinds of backend; or names "
                + "of sections with a kind"
        )
    }
    static let backendsName = "backends"
    /// The default kinds, as far as this build has them: the unobtrusive ones.
    static let defaultBackends = ["terminalTitle", "dbusProperty"]

    static func all(in registry: BackendRegistry) -> [BackendSetting] {
        GeneralSettings.definitions + [observe, backends(in: registry)]
    }

    static let names = (GeneralSettings.definitions + [observe]).map(\.name) + [backendsName]

    /// The setting with a section's kind.
    static let kind = "kind"

    /// The notifications that `observe` can name.
    static let notifications: [TaskNotifications] = [.indicator, .alamofire]
}

/// The full name of a setting: `startDelay`, or `logFile.path`.
package struct SettingKey: Hashable, CustomStringConvertible {
    var section: String?
    var name: String

    package var description: String { section.map { "\($0).\(name)" } ?? name }

    /// The prefix of all settings' variables.
    static let variablePrefix = "INDICATOR_"

    /// The environment variable of the setting: `INDICATOR_START_DELAY`, `INDICATOR_LOG_FILE_PATH`.
    ///
    /// Upper case, with `_` between a lowercase and an uppercase letter and in place of every other character.
    var variable: String {
        var variable = Self.variablePrefix
        for character in description {
            if character.isUppercase, variable.last?.isLowercase == true { variable += "_" }
            variable.append(character.isLetter || character.isNumber ? character : "_")
        }
        return variable.uppercased()
    }
}
