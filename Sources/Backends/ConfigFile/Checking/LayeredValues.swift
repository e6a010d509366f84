import Configuration
import IndicatorCore

/// The environment above the config file, as swift-configuration layers them, with the source of each value.
///
/// A variable's name is that of the setting as swift-configuration spells it, after `INDICATOR_`: `startDelay` is
/// `INDICATOR_START_DELAY`, and `path` of `logFile` is `INDICATOR_LOG_FILE_PATH`. A variable that is empty counts as not set.
struct LayeredValues {
    /// A value and who said so.
    struct Found<Value> {
        var value: Value
        /// The variable; `nil` when the value is the file's.
        var variable: String?
    }

    static let prefix = "INDICATOR_"

    private let variables: EnvironmentVariablesProvider
    private let reader: ConfigReader
    private let recorder = SourceRecorder()

    init(environment: [String: String], file: CheckedFile? = nil) {
        let relevant = environment.filter { $0.key.hasPrefix(Self.prefix) && !$0.value.isEmpty }
        variables = EnvironmentVariablesProvider(environmentVariables: relevant)
        var values: [AbsoluteConfigKey: ConfigValue] = [:]
        for (key, value) in file?.values ?? [:] {
            values[AbsoluteConfigKey(key.components)] = ConfigValue(.string(value.text), isSecret: false)
        }
        for (name, list) in file?.lists ?? [:] {
            values[AbsoluteConfigKey([name])] = ConfigValue(.stringArray(list.names.map(\.text)), isSecret: false)
        }
        reader = ConfigReader(
            providers: [variables.prefixKeys(with: "indicator"), InMemoryProvider(name: "file", values: values)],
            accessReporter: recorder
        )
    }

    func text(_ key: SettingKey) -> Found<String>? {
        reader.string(forKey: ConfigKey(key.components)).map { Found(value: $0, variable: recorder.variable) }
    }

    func list(_ name: String) -> Found<[String]>? {
        reader.stringArray(forKey: ConfigKey([name])).map { Found(value: $0, variable: recorder.variable) }
    }

    /// The text of a setting's variable, if it is set.
    func environmentText(_ key: SettingKey) -> String? {
        text(key).flatMap { $0.variable == nil ? nil : $0.value }
    }

    /// The name of a setting's variable.
    func variable(of key: SettingKey) -> String {
        let absolute = AbsoluteConfigKey(["indicator"] + key.components)
        // Looking up a text cannot fail: every variable is one.
        return (try? variables.value(forKey: absolute, type: .string).encodedKey) ?? key.description
    }
}

/// Remembers which layer the last value came from.
private final class SourceRecorder: AccessReporter {
    private let last = Locked<String?>(nil)

    /// The variable that the last value came from; `nil` when it was the file.
    var variable: String? { last.withLock { $0 } }

    func report(_ event: AccessEvent) {
        // The environment is asked first; the variables' provider calls the key by the variable's name.
        guard case .success(let result) = event.providerResults.first?.result, result.value != nil else {
            return last.withLock { $0 = nil }
        }
        last.withLock { $0 = result.encodedKey }
    }
}
