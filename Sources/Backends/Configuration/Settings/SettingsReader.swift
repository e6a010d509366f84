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

    /// What the file, a variable or code has for a setting.
    private struct Given {
        var value: SettingValue
        var location: Location
        /// The locations of the elements of a list in the file.
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
        validate: (Value) -> String? = { _ in nil }
    ) {
        let standard = isRequired ? nil : property
        if let value = value(name, summary, form, standard, example, isRequired, validate) { property = value }
    }

    /// Reads a setting that may be without a value: then the property is `nil`, and the kind decides.
    public mutating func read<Value: Sendable>(
        _ name: String,
        _ property: inout Value?,
        _ form: SettingForm<Value>,
        example: Value? = nil,
        summary: String,
        validate: (Value) -> String? = { _ in nil }
    ) {
        if let value = value(name, summary, form, property, example, false, validate) { property = value }
    }

    /// The value of the first that has a valid one: code, the environment, the file, the defaults. Of a list, what is
    /// valid in it.
    private mutating func value<Value>(
        _ name: String,
        _ summary: String,
        _ form: SettingForm<Value>,
        _ standard: Value?,
        _ example: Value?,
        _ isRequired: Bool,
        _ validate: (Value) -> String?
    ) -> Value? {
        let before = mistakes.count
        var value: Value?
        var setting = Setting(
            section: section,
            name: name,
            summary: summary,
            expectation: form.expectation,
            standard: standard.map(form.write),
            example: example.map(form.write),
            isRequired: isRequired
        )
        let (variable, code) = (setting.variable, Location.code(key: setting.key))
        func take(_ given: Given?) {
            guard let given else { return }
            let (valid, faults) = form.value(given.value, in: environment, validate)
            var (prefix, places) = ("", given.places)
            if case .file = given.location { prefix = "'\(name)': " }
            for fault in faults.reversed() {
                var place = given.location
                if let index = fault.index, places.indices.contains(index) { place = places.remove(at: index) }
                mistakes.append(ConfigurationMistake(place, "\(prefix)\(fault)"))
            }
            guard let valid, value == nil else { return }
            value = valid
            values[name] = form.write(valid)
            (setting.location, setting.places) = (given.location, places)
        }
        if isUsed {
            take(overrides[name].map { Given(value: $0, location: code) })
            // An empty variable counts as not set.
            if value == nil, let text = environment[variable], !text.isEmpty {
                take(Given(value: .string(text), location: .environment(variable: variable)))
            }
        }
        take(given(name, form))
        if isUsed, value == nil {
            take(defaults[name].map { Given(value: $0, location: code) })
            setting.location = nil
        }
        let isReported = mistakes.count > before
        if value == nil { values[name] = setting.standard }
        setting.value = values[name].map { form.isSecret ? "(hidden)" : $0.configurationText }
        settings.append(setting)
        let isMissing = setting.isRequired && value == nil
        if isMissing, !isReported { missing.append(setting) }
        if isMissing || form.isAddress && isReported && setting.location == nil { isComplete = false }
        if isUsed, let location = setting.location {
            // A secret that every user can read.
            var path = form.isSecretFile ? values[name]?.text : nil
            if form.isSecret, case .file(let file, _) = location { path = file }
            if let warning = path.flatMap(SecretFile.warning) {
                warnings.append(ConfigurationMistake(location, "'\(name)': \(warning)"))
            }
        }
        return value
    }

    /// What the file has for a setting, if that is a text or, for a list, texts.
    private mutating func given<Value>(_ name: String, _ form: SettingForm<Value>) -> Given? {
        guard let entry = entries.first(where: { $0.name == name }) else { return nil }
        let node = entry.value
        func location(_ node: ConfigurationNode) -> Location { .file(path: path, node.position) }
        func report(_ node: ConfigurationNode, _ expected: String, hint: String = "") {
            let message = "'\(name)': expected \(expected), found \(node.kind)\(hint)"
            mistakes.append(ConfigurationMistake(location(node), message))
        }
        if let text = node.text { return Given(value: .string(text), location: location(node)) }
        if form.isList, let list = node.items {
            for item in list where item.text == nil { report(item, "a text") }
            let items = list.filter { $0.text != nil }
            if items.count < list.count, form.content == .texts || items.isEmpty { return nil }
            let texts = SettingValue.list(items.compactMap(\.text))
            return Given(value: texts, location: location(node), places: items.map(location))
        }
        let isInline = node.position.line == entry.position.line && node.position != entry.position
        let mayNeedQuotes = isInline && form.content != .word && form.content != .names
        report(node, form.expectation, hint: mayNeedQuotes ? "; put a text like this in quotes" : "")
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
