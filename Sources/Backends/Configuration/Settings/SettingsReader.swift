package import DisplayText

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
    /// Values of code that have precedence over the others, and that have the least.
    var (overrides, defaults): ([String: SettingValue], [String: SettingValue]) = ([:], [:])
    var environment: [String: String] = [:]
    /// The path of the file, and what it has in the section.
    var path = ""
    var entries: [ConfigurationNode.Entry] = []
    /// Whether a backend with these settings is made; otherwise only the file is checked.
    var isUsed = true

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

    private typealias Location = ConfigurationMistake.Location

    /// A value, and where it comes from; `nil` for the defaults.
    private struct Found<Value> {
        var value: Value
        var written: SettingValue
        var origin: Location?
        /// The locations of the elements of a list.
        var places: [Location] = []
    }

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
        validate: @escaping @Sendable (Value) -> String? = { _ in nil }
    ) {
        let setting = Setting(
            section: section,
            name: name,
            summary: summary,
            expectation: form.expectation,
            standard: isRequired ? nil : form.write(property),
            example: example.flatMap(form.write),
            isRequired: isRequired
        )
        if let value = value(of: setting, form.validated(by: validate)) { property = value }
    }

    /// Reads a setting that may be without a value: then the property is `nil`, and the kind decides.
    public mutating func read<Value: Sendable>(
        _ name: String,
        _ property: inout Value?,
        _ form: SettingForm<Value>,
        example: Value? = nil,
        summary: String,
        validate: @escaping @Sendable (Value) -> String? = { _ in nil }
    ) {
        let setting = Setting(
            section: section,
            name: name,
            summary: summary,
            expectation: form.expectation,
            standard: property.flatMap(form.write),
            example: example.flatMap(form.write)
        )
        if let value = value(of: setting, form.validated(by: validate)) { property = value }
    }

    /// The value that is given, and valid.
    private mutating func value<Value>(of setting: Setting, _ form: SettingForm<Value>) -> Value? {
        var (setting, before) = (setting, mistakes.count)
        let (name, code) = (setting.name, Location.code(key: setting.key))
        var found = fileValue(name, form)
        if isUsed {
            // An empty variable counts as not set.
            let text = environment[setting.variable].flatMap { $0.isEmpty ? nil : SettingValue.string($0) }
            found =
                valid(overrides[name], form, at: code)
                ?? valid(text, form, at: .environment(variable: setting.variable)) ?? found
            if found == nil {
                found = valid(defaults[name], form, at: code)
                found?.origin = nil
            }
        }
        let isReported = mistakes.count > before
        values[name] = found?.written ?? setting.standard
        setting.value = values[name].map { form.isSecret ? "(hidden)" : $0.configurationText }
        (setting.location, setting.places) = (found?.origin, found?.places ?? [])
        settings.append(setting)
        let isMissing = setting.isRequired && found == nil
        if isMissing, !isReported { missing.append(setting) }
        if isMissing || form.isAddress && isReported && found?.origin == nil { isComplete = false }
        if isUsed, let origin = found?.origin {
            // A secret that every user can read.
            var path = form.isSecretFile ? values[name]?.text : nil
            if form.isSecret, case .file(let file, _) = origin { path = file }
            if let warning = path.flatMap(SecretFile.warning) {
                warnings.append(ConfigurationMistake(origin, "'\(name)': \(warning)"))
            }
        }
        return found?.value
    }

    /// A value, if there is one and it is valid, of what is at one place or, if it is a list, at several.
    private mutating func valid<Value>(
        _ given: SettingValue?,
        _ form: SettingForm<Value>,
        at origin: Location,
        _ places: [Location] = [],
        prefix: String = ""
    ) -> Found<Value>? {
        guard let given else { return nil }
        let (value, faults) = form.value(given, in: environment)
        for fault in faults {
            let place = places.isEmpty ? origin : fault.index.map { places[$0] } ?? origin
            mistakes.append(ConfigurationMistake(place, "\(prefix)\(fault)"))
        }
        let wrong = Set(faults.map(\.index))
        let right = places.indices.filter { !wrong.contains($0) }.map { places[$0] }
        return value.map { Found(value: $0, written: form.write($0) ?? given, origin: origin, places: right) }
    }

    /// A value in the file, if there is one and it is valid.
    private mutating func fileValue<Value>(_ name: String, _ form: SettingForm<Value>) -> Found<Value>? {
        guard let entry = entries.first(where: { $0.name == name }) else { return nil }
        let (node, prefix) = (entry.value, "'\(name)': ")
        func location(_ node: ConfigurationNode) -> Location { .file(path: path, node.position) }
        if form.isList, let list = node.items {
            for item in list where item.text == nil {
                mistakes.append(ConfigurationMistake(location(item), "\(prefix)expected a text, found \(item.kind)"))
            }
            let items = list.filter { $0.text != nil }
            if items.count < list.count, form.isText || items.isEmpty { return nil }
            let given = SettingValue.list(items.compactMap(\.text))
            return valid(given, form, at: location(node), items.map(location), prefix: prefix)
        }
        if let text = node.text { return valid(.string(text), form, at: location(node), prefix: prefix) }
        let isInline = node.position.line == entry.position.line && node.position != entry.position
        let hint = form.isText && isInline ? "; put a text like this in quotes" : ""
        let message = "\(prefix)expected \(form.expectation), found \(node.kind)\(hint)"
        mistakes.append(ConfigurationMistake(location(node), message))
        return nil
    }
}

extension SettingsReader {
    /// Reads which outcomes to report.
    package mutating func read(whenDone property: inout WhenDone) {
        let summary = "which activities are reported when they end; cancelled ones never are"
        read("whenDone", &property, .choice, summary: summary)
    }

    /// Reads how long an activity must have lasted for that.
    package mutating func read(after property: inout Duration) {
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
    package var standard: SettingValue?
    package var example: SettingValue?
    /// Whether a section without it is an error.
    package var isRequired = false
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

    /// The environment variable of the setting: `INDICATOR_START_DELAY`, `INDICATOR_LOG_FILE_PATH`.
    var variable: String { Self.variable(of: key) }

    /// That of the setting with this full name: upper case, with `_` between a lowercase and an uppercase letter and in
    /// place of every other character.
    static func variable(of key: String) -> String {
        var variable = variablePrefix
        for character in key {
            if character.isUppercase, variable.last?.isLowercase == true { variable += "_" }
            variable.append(character.isLetter || character.isNumber ? character : "_")
        }
        return variable.uppercased()
    }
}
