import DisplayText
import Foundation

/// A setting of a kind of backend: its name, type and default.
public struct BackendSetting: Sendable {
    /// The values that a setting accepts.
    public enum ValueType: Sendable, Hashable {
        /// Any string.
        case string
        /// A string, or a list of strings.
        case strings
        /// The path of a file; a leading `~` is the home folder.
        case path
        /// `true` or `false`.
        case boolean
        /// A whole number within a range.
        case integer(ClosedRange<Int>)
        /// A time in seconds, zero or more; rounded to the nearest microsecond.
        case seconds
        /// A number of bytes: `1048576`, `512 kB`, `1 MiB`.
        case size
        /// One of these words.
        case choice([String])
        /// A list of some of these words, each at most once.
        case choices([String])
        /// A list of names, each at most once.
        case names
    }

    /// The name, in camel case.
    package var name: String
    /// The values that it accepts.
    package var type: ValueType
    /// The value if none is given; `nil` if the kind determines it at run time.
    package var defaultValue: BackendSettingValue?
    /// What it does, in a few words.
    package var summary: String
    /// A value to show in the reference of all settings (`check-config --reference`); by default ``defaultValue``.
    /// Every setting should have one of the two.
    package var example: BackendSettingValue?
    /// Whether a section without it is an error.
    package var isRequired: Bool
    /// Whether messages and tables must not show the value, such as a password.
    package var isSecret: Bool
    /// Whether it is the path of a file with a secret, such as a password, which others should not be able to read.
    package var isSecretFile = false
    /// Checks what the type cannot express. Returns what was expected, such as `a format with known placeholders`, or
    /// `nil` if the value is valid.
    package var validate: @Sendable (BackendSettingValue) -> String?

    /// Makes a definition.
    public init(
        _ name: String,
        _ type: ValueType,
        default defaultValue: BackendSettingValue? = nil,
        example: BackendSettingValue? = nil,
        summary: String,
        isRequired: Bool = false,
        isSecret: Bool = false,
        validate: @escaping @Sendable (BackendSettingValue) -> String? = { _ in nil }
    ) {
        self.name = name
        self.type = type
        self.defaultValue = defaultValue
        self.example = example ?? defaultValue
        self.summary = summary
        self.isRequired = isRequired
        self.isSecret = isSecret
        self.validate = validate
    }
}

/// A file that contains a secret.
package enum SecretFile {
    /// What to report about a file that every user of the machine can read; `nil` if they cannot.
    package static func warning(_ path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IROTH != 0 else { return nil }
        return "the file '\(QuotedText.shortened(path))' has a secret, and every user can read it (chmod o-r)"
    }
}

/// The value of a setting.
public enum BackendSettingValue: Sendable, Hashable {
    /// Of a `string`, `path` or `choice`.
    case string(String)
    /// Of a `boolean`.
    case boolean(Bool)
    /// Of an `integer`, or the bytes of a `size`.
    case integer(Int)
    /// Of `seconds`.
    case duration(Duration)
    /// Of `choices`, `names` and `strings`.
    case list([String])
}

extension BackendSettingValue: ExpressibleByStringInterpolation, ExpressibleByBooleanLiteral,
    ExpressibleByIntegerLiteral, ExpressibleByArrayLiteral
{
    /// A ``string(_:)``.
    public init(stringLiteral value: String) { self = .string(value) }
    /// A ``boolean(_:)``.
    public init(booleanLiteral value: Bool) { self = .boolean(value) }
    /// An ``integer(_:)``; also of seconds.
    public init(integerLiteral value: Int) { self = .integer(value) }
    /// A ``list(_:)``.
    public init(arrayLiteral elements: String...) { self = .list(elements) }
}

/// The checked settings of one backend: the values from the config file and the environment, and the defaults for the
/// rest.
public struct BackendSettings: Sendable, Hashable {
    private var values: [String: BackendSettingValue]

    /// Makes settings, for the tests of a kind. The values are not checked against the definitions.
    ///
    /// - Parameters:
    ///   - values: the values that were given.
    ///   - definitions: the settings of the kind, for the defaults of the others.
    public init(_ values: [String: BackendSettingValue] = [:], definitions: [BackendSetting] = []) {
        var all: [String: BackendSettingValue] = [:]
        for definition in definitions { all[definition.name] = definition.defaultValue }
        self.values = all.merging(values) { _, given in given }
    }

    /// The value of a setting; `nil` if it has neither a value nor a default.
    package subscript(name: String) -> BackendSettingValue? { values[name] }

    /// The text of a `string`, `path` or `choice`.
    public func string(_ name: String) -> String? {
        if case .string(let value) = values[name] { value } else { nil }
    }

    /// The value of a `boolean`.
    public func boolean(_ name: String) -> Bool? {
        if case .boolean(let value) = values[name] { value } else { nil }
    }

    /// The value of an `integer`, or the bytes of a `size`.
    public func integer(_ name: String) -> Int? {
        if case .integer(let value) = values[name] { value } else { nil }
    }

    /// The words of `choices`, the names of `names`, or the strings of `strings`.
    public func list(_ name: String) -> [String]? {
        if case .list(let value) = values[name] { value } else { nil }
    }

    /// The value of `seconds`.
    public func duration(_ name: String) -> Duration? {
        if case .duration(let value) = values[name] { value } else { nil }
    }
}
