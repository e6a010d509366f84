import DisplayText
import IndicatorCore

/// The settings at the top level of a config file, outside the backends' sections.
enum TopLevelSetting {
    static let enabled = BackendSetting(
        "enabled",
        .boolean,
        default: .boolean(true),
        summary: "whether the indicator is on"
    )
    static let delays = [
        delay(.startDelay, \.startDelay, "how long work must last before the indicator is shown"),
        delay(.completionDelay, \.completionDelay, "how long there must be no work before it is hidden"),
        delay(.minimumVisibleTime, \.minimumVisibleTime, "the minimum time that it stays visible"),
    ]
    /// Which notifications the manager observes.
    static let observe = BackendSetting(
        "observe",
        .names,
        default: .list([TaskNotifications.indicator.name]),
        example: .list(["indicator", "alamofire"]),
        summary: "the libraries whose tasks count as activities, by their notifications: indicator, alamofire"
    )
    /// Whether to show the indicator for screen readers.
    static let accessible = BackendSetting(
        "accessible",
        .boolean,
        default: .boolean(false),
        summary: "for screen readers: sentences instead of bars, and no animations"
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
        [enabled] + delays + [accessible, observe, backends(in: registry)]
    }

    static let names = ([enabled] + delays + [accessible, observe]).map(\.name) + [backendsName]

    /// The setting with a section's kind.
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
