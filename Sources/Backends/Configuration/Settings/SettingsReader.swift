public import IndicatorCore

/// What the settings of a kind read themselves with: from the app's code, the environment and the config file.
///
/// ```swift
/// struct LEDSettings {
///     var path = ""
///     var blinks = false
///
///     init(_ values: inout SettingsReader) {
///         values.read("path", &path, .path, summary: "the LED's brightness file", isRequired: true)
///         values.read("blinks", &blinks, .boolean, summary: "whether the LED blinks")
///     }
/// }
/// ```
///
/// What a property has before is its default. Nothing is thrown: a value that is wrong is reported with its place, and
/// the next weaker one applies. The same calls make the reference of all settings, and find what a section must not
/// have; so each setting is read whatever the values of the others are.
public struct SettingsReader: Sendable {
    /// Its name in the file; `nil` for the top level.
    var section: String?
    /// Values of code that have precedence over the others, and that have the least, by full names.
    var overrides: [String: SettingValue] = [:]
    var defaults: [String: SettingValue] = [:]
    var environment: [String: String] = [:]
    /// What the file has in the section.
    var entries: [String: ConfigurationNode] = [:]

    /// What was read, in order.
    private(set) var settings: [Setting] = []
    /// The values as they are written, by name; those of the settings that have one.
    private(set) var values: [String: SettingValue] = [:]
    private(set) var mistakes: [ConfigurationMistake] = []
    private(set) var warnings: [ConfigurationMistake] = []
    /// The required settings without a value, but for those with a wrong one.
    private(set) var missing: [Setting] = []
    /// Whether a backend can be made: it has what is required, and its address is not wrong.
    private(set) var isComplete = true

    /// Reads a setting.
    ///
    /// - Parameters:
    ///   - name: the name in the config file, in camel case.
    ///   - property: gets the value, if there is one.
    ///   - form: how the value is written.
    ///   - example: a value for the reference of all settings; by default the default.
    ///   - summary: what it does, in a few words.
    ///   - isRequired: whether a section without it is an error. The default is then never used.
    ///   - validate: checks what the form cannot express. Returns what was expected, as a noun with an article such as
    ///     `an even number`, or `nil` if the value is valid. The message is then `indicator.yaml:3:9: error: 'length':
    ///     expected an even number, found '3'`.
    public mutating func read<Value: Sendable>(
        _ name: String,
        _ property: inout Value,
        _ form: SettingForm<Value>,
        example: Value? = nil,
        summary: String,
        isRequired: Bool = false,
        validate: (Value) -> String? = { _ in nil }
    ) {
        var value = isRequired ? nil : property
        read(name, &value, form, example: example, summary: summary, isRequired: isRequired, validate: validate)
        if let value { property = value }
    }

    /// Reads a setting that may be without a value: then the property is `nil`, and the kind decides.
    ///
    /// The value is that of the first that has a valid one: code, the environment, the file, the defaults. Of a list,
    /// what is valid in it.
    public mutating func read<Value: Sendable>(
        _ name: String,
        _ property: inout Value?,
        _ form: SettingForm<Value>,
        example: Value? = nil,
        summary: String,
        isRequired: Bool = false,
        validate: (Value) -> String? = { _ in nil }
    ) {
        let before = mistakes.count
        var value: Value?
        var setting = Setting(
            section: section,
            name: name,
            summary: summary,
            expectation: form.expectation,
            standard: property.map(form.write),
            example: example.map(form.write),
            isRequired: isRequired
        )
        let (key, variable) = (setting.key, setting.variable)
        func node(_ value: SettingValue?, _ place: ConfigurationMistake.Location) -> ConfigurationNode? {
            value.map { ConfigurationNode($0, at: place) }
        }
        // An empty variable counts as not set.
        let text = environment[variable].flatMap { $0.isEmpty ? nil : SettingValue.string($0) }
        let nodes = [
            node(overrides[key], .code(key: key)), node(text, .environment(variable: variable)), entries[name],
            node(defaults[key], .code(key: key)),
        ]
        for case (let index, let node?) in nodes.enumerated() where index < 3 || value == nil {
            // Elsewhere, the place has the name.
            let prefix = if case .file = node.place { "'\(name)': " } else { "" }
            let right = form.value(of: node, in: environment, validate) { place, fault in
                mistakes.append(ConfigurationMistake(place, prefix + fault))
            }
            guard let right, value == nil else { continue }
            (value, values[name]) = (right.value, form.write(right.value))
            (setting.location, setting.places) = (index == 3 ? nil : node.place, right.places)
        }
        let isReported = mistakes.count > before
        if value == nil { values[name] = setting.standard }
        setting.value = values[name].map { form.isSecret ? "(hidden)" : $0.configurationText }
        settings.append(setting)
        let isMissing = setting.isRequired && value == nil
        if isMissing, !isReported { missing.append(setting) }
        if isMissing || form.isAddress && isReported && setting.location == nil { isComplete = false }
        if let location = setting.location {
            // A secret that every user can read.
            var path = form.isSecretFile ? values[name]?.text : nil
            if form.isSecret, case .file(let file, _) = location { path = file }
            if let warning = path.flatMap(SecretFile.warning) {
                warnings.append(ConfigurationMistake(location, "'\(name)': \(warning)"))
            }
        }
        if let value { property = value }
    }
}

extension SettingsReader {
    /// Reads which outcomes to report, from `whenDone`.
    public mutating func read(whenDone property: inout WhenDone) {
        let summary = "which activities are reported when they end; cancelled ones never are"
        read("whenDone", &property, .choice, summary: summary)
    }

    /// Reads how long an activity must have lasted for that, from `after`.
    public mutating func read(after property: inout Duration) {
        read("after", &property, .seconds, summary: "how long an activity must have lasted for that")
    }
}

/// A setting that was read: its value, where it comes from, and what the reference has of it.
public struct Setting: Sendable, Hashable {
    let section: String?
    package let name: String
    package let summary: String
    /// What messages and the reference call a value.
    package let expectation: String
    /// The value if none is given, and one for the reference, as they are written; `nil` if the kind determines it.
    let standard: SettingValue?
    let example: SettingValue?
    /// Whether a section without it is an error.
    let isRequired: Bool
    /// The value as written in a config file; `nil` if there is none and the backend determines it.
    public internal(set) var value: String?
    /// Where the value comes from; `nil` for the default.
    package internal(set) var location: ConfigurationMistake.Location?
    /// The same of the elements of a list.
    var places: [ConfigurationMistake.Location] = []

    /// The full name: `startDelay`, or `logFile.path`.
    public var key: String { section.map { "\($0).\(name)" } ?? name }

    /// Where the value comes from, as text for a table: `default`, `indicator.yaml:3`,
    /// `environment variable INDICATOR_START_DELAY`, `code`.
    public var source: String {
        switch location {
        case .file(let path, let position): path + (position.map { ":\($0.line)" } ?? "")
        case .code: "code"
        case let location?: location.description
        case nil: "default"
        }
    }

    static let variablePrefix = "INDICATOR_"

    /// The environment variable of the setting, such as `INDICATOR_LOG_FILE_PATH`: upper case, with `_` between a
    /// lowercase and an uppercase letter and in place of every other character.
    var variable: String {
        var variable = Self.variablePrefix
        for character in key {
            if character.isUppercase, variable.last?.isLowercase == true { variable += "_" }
            variable.append(character.isLetter || character.isNumber ? character : "_")
        }
        return variable.uppercased()
    }
}
