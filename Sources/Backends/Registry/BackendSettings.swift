/// The checked settings of one backend: the values from the config file and the environment, and the defaults for the
/// rest.
public struct BackendSettings: Sendable, Hashable {
    private var values: [String: BackendSettingValue]

    /// Makes settings from values that were checked against their definitions.
    ///
    /// - Parameters:
    ///   - values: the values that were given.
    ///   - definitions: the settings of the kind, for the defaults of the others.
    package init(_ values: [String: BackendSettingValue] = [:], definitions: [BackendSetting] = []) {
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

    /// The words of `choices`, or the names of `names`.
    public func list(_ name: String) -> [String]? {
        if case .list(let value) = values[name] { value } else { nil }
    }

    /// The value of `seconds`.
    public func duration(_ name: String) -> Duration? {
        if case .duration(let value) = values[name] { value } else { nil }
    }
}
