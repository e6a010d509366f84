/// A setting as it holds in the end, and who said so.
public struct EffectiveSetting: Sendable, Hashable {
    /// The backend that it belongs to; `nil` for the settings of the indicator itself.
    public let backend: String?
    /// Its name.
    public let name: String
    /// The value as a config file would spell it; `nil` when there is none and the backend works it out itself.
    public let value: String?
    /// Who said so.
    public let source: SettingSource

    /// The full name: `startDelay`, or `logFile.path`.
    public var key: String { SettingKey(section: backend, name: name).description }
}

/// Where the value of a setting comes from.
public enum SettingSource: Sendable, Hashable, CustomStringConvertible {
    /// Nobody gave one: it is the default.
    case `default`
    /// A line of the config file.
    case file(path: String, line: Int)
    /// An environment variable.
    case environment(variable: String)
    /// The app's code.
    case code

    /// Such as `default`, `indicator.yaml:3`, `environment variable INDICATOR_START_DELAY`, `code`.
    public var description: String {
        switch self {
        case .default: "default"
        case .file(let path, let line): "\(path):\(line)"
        case .environment(let variable): "environment variable \(variable)"
        case .code: "code"
        }
    }
}
