import DisplayText
import Foundation
import IndicatorCore

/// Reads a configuration: code over environment over file over defaults.
///
/// An invalid value is reported and ignored, so that the next weaker layer applies; without another address than the
/// default, a backend with a wrong one is not used. Everything in the file is checked, used or not.
struct ConfigurationReader {
    private typealias Location = ConfigurationMistake.Location
    private typealias Backend = IndicatorConfiguration.Backend
    private typealias InCode = (ConfigurationValues) -> BackendSettingValue?

    /// A value, and where it comes from; `nil` for the defaults.
    private struct Found {
        var value: SettingValue
        var origin: Location?
        /// The locations of the elements of a list.
        var places: [Location] = []
    }

    private let source: ConfigurationSource
    /// The path of the file, if there is one.
    private let path: String?
    /// What the file has at its top level, by name.
    private var file: [String: ConfigurationNode.Entry] = [:]
    /// The names of sections with a kind, of which messages suggest one; not all of them, for each has a cost.
    private var namedSections: [String] = []
    /// Whether the file could be read; otherwise, what seems to be missing may be in it.
    private var isReadable = true

    private(set) var mistakes: [ConfigurationMistake] = []
    private var warnings: [ConfigurationMistake] = []
    private var effectiveSettings: [EffectiveSetting] = []

    private var registry: BackendRegistry { source.registry }

    /// Reads a file, or a text as its contents.
    init(_ source: ConfigurationSource, text: String? = nil, path: String?) {
        (self.source, self.path) = (source, path)
        guard let path else { return }
        do throws(TextProblem) {
            if let text { try parse(text) } else { try parse(ConfigurationFile.text(at: path)) }
        } catch {
            isReadable = false
            let isOfVariable = error.position == nil && source.givenFile?.isVariable == true
            let remark = "; the path is from the environment variable \(ConfigurationSource.fileVariable)"
            report(location(error.position), error.message + (isOfVariable ? remark : ""))
        }
    }

    private mutating func parse(_ text: String) throws(TextProblem) {
        let isJSON = path?.hasSuffix(".json") == true
        guard let root = try ConfigurationNode.root(of: text, isJSON: isJSON), !root.isNothing else { return }
        guard let entries = root.entries else {
            let found = root.text.flatMap { $0.contains(":") ? QuotedText.name($0) : nil } ?? root.kind
            throw TextProblem(position: root.position, "expected lines such as 'startDelay: 1', found \(found)")
        }
        file = Dictionary(entries.map { ($0.name, $0) }) { first, _ in first }
        let named = entries.map(\.name).filter { name in
            SectionName.isValid(name) && self.entries(of: name).contains { $0.name == ConfigurationValues.kindName }
        }
        namedSections = Array(named.prefix(20))
    }

    mutating func read() -> IndicatorConfiguration {
        var values = ConfigurationValues.standard(in: registry)
        var list: Found?
        for setting in ConfigurationValues.settings {
            list = value(of: setting.definition(defaults: values), SettingKey(name: setting.name), setting.written)
            list?.value.apply(to: &values)
        }
        // The list of backends is the last one.
        let names = values.backends ?? []
        let backends = backends(names, list, isAccessible: values.isAccessible == true)
        checkRest(backends.map(\.name), listed: names, at: list?.origin)
        checkVariables()
        return IndicatorConfiguration(
            file: path,
            values: values,
            backends: backends,
            effectiveSettings: effectiveSettings,
            warnings: warnings.inReadingOrder
        )
    }

    private func location(_ position: TextPosition?) -> Location { .file(path: path ?? "", position) }

    /// Where the section of a backend is.
    private func place(of name: String) -> Location? { file[name].map { location($0.position) } }

    /// What it has.
    private func entries(of name: String) -> [ConfigurationNode.Entry] { file[name]?.value.entries ?? [] }

    /// What the file has for a setting.
    private func entry(for key: SettingKey) -> ConfigurationNode.Entry? {
        key.section.map { entries(of: $0).first { $0.name == key.name } } ?? file[key.name]
    }

    private mutating func report(_ location: Location, _ message: String) {
        mistakes.append(ConfigurationMistake(location, message))
    }

    // MARK: - Values

    private mutating func value(of setting: SettingDefinition, _ key: SettingKey, _ inCode: InCode) -> Found? {
        let code = Location.code(key: key.description)
        let variable = Location.environment(variable: key.variable)
        let inFile = fileValue(of: setting, key)
        let found =
            valid(setting, inCode(source.overrides), code)
            ?? valid(setting, source.environmentText(key).map { .string($0) }, variable) ?? inFile
            ?? (valid(setting, inCode(source.defaults), code)?.value ?? setting.defaultValue.map(SettingValue.init))
            .map { Found(value: $0) }
        let text = found.map { setting.isSecret ? "(hidden)" : $0.value.written.configurationText }
        effectiveSettings.append(EffectiveSetting(key: key.description, value: text, location: found?.origin))
        if let found { warnAboutSecret(setting, found) }
        return found
    }

    /// A value, if there is one and it is valid, of what is at one place or, if it is a list, at several.
    private mutating func valid(
        _ setting: SettingDefinition,
        _ given: BackendSettingValue?,
        _ origin: Location,
        _ places: [Location] = [],
        prefix: String = ""
    ) -> Found? {
        guard let (value, faults) = given.map({ setting.value($0, in: source.environment) }) else { return nil }
        for fault in faults {
            report(places.isEmpty ? origin : fault.index.map { places[$0] } ?? origin, "\(prefix)\(fault)")
        }
        let wrong = Set(faults.map(\.index))
        let right = places.indices.filter { !wrong.contains($0) }.map { places[$0] }
        return value.map { Found(value: $0, origin: origin, places: right) }
    }

    /// A value in the file, if there is one and it is valid.
    private mutating func fileValue(of setting: SettingDefinition, _ key: SettingKey) -> Found? {
        guard let entry = entry(for: key) else { return nil }
        let (node, prefix) = (entry.value, "'\(entry.name)': ")
        var items: [ConfigurationNode] = []
        let given: BackendSettingValue
        if setting.shape.isList, let list = node.items {
            for item in list where item.text == nil {
                report(location(item.position), "\(prefix)expected a text, found \(item.kind)")
            }
            items = list.filter { $0.text != nil }
            given = .list(items.compactMap(\.text))
            if items.count < list.count, setting.shape == .texts || items.isEmpty { return nil }
        } else if let text = node.text {
            given = .string(text)
        } else {
            let isInline = node.position.line == entry.position.line && node.position != entry.position
            let hint = setting.shape.isText && isInline ? "; put a text like this in quotes" : ""
            report(location(node.position), "\(prefix)expected \(setting.expectation), found \(node.kind)\(hint)")
            return nil
        }
        return valid(setting, given, location(node.position), items.map { location($0.position) }, prefix: prefix)
    }

    // MARK: - Backends

    private mutating func backends(_ names: [String], _ list: Found?, isAccessible: Bool) -> [Backend] {
        var backends: [Backend] = []
        for (index, name) in names.enumerated() {
            let origin = list?.origin ?? .code(key: ConfigurationValues.backendsName)
            let place = list.flatMap { $0.places.isEmpty ? nil : $0.places[index] } ?? origin
            let isAutomatic = name == AutomaticBackends.name
            // By the user: what the app proposes is not worth a warning where there is no surface for it.
            let isNamed = list?.origin != nil && !isAutomatic
            for name in isAutomatic ? automatic.kinds.filter({ !names.contains($0) }) : [name] {
                guard let (kind, settings) = backend(name, place, isUsed: true) else { continue }
                var context = BackendContext(
                    name: name,
                    applicationName: source.applicationName,
                    logger: source.logger(ofNamed: isNamed),
                    isAccessible: isAccessible
                )
                context.isNamed = isNamed
                let location = self.place(of: name) ?? place
                backends.append(Backend(context: context, kind: kind, settings: settings, location: location))
            }
        }
        return backends
    }

    /// What `backends: auto` stands for.
    var automatic: AutomaticBackends {
        var place = AutomaticPlace(applicationName: source.applicationName, environment: source.environment)
        place.text = { text(of: SettingKey(section: $0, name: $1))?.text }
        return AutomaticBackends(registry, in: place)
    }

    /// The text that a setting of a section has, checked or not, from the strongest source.
    private func text(of key: SettingKey) -> (text: String, location: Location)? {
        func inCode(_ values: ConfigurationValues) -> (text: String, location: Location)? {
            key.section.flatMap { values.settings[$0]?[key.name]?.text }.map { ($0, .code(key: key.description)) }
        }
        let node = entry(for: key)?.value
        return inCode(source.overrides)
            ?? source.environmentText(key).map { ($0, .environment(variable: key.variable)) }
            ?? node?.text.map { ($0, location(node?.position)) } ?? inCode(source.defaults)
    }

    /// Checks a backend. Returns its kind and its settings; `nil` if it is invalid.
    ///
    /// - Parameters:
    ///   - place: where it is named; of one that is not used, where its settings are.
    ///   - isUsed: whether it is listed.
    private mutating func backend(_ name: String, _ place: Location, isUsed: Bool) -> (BackendKind, BackendKind.Values)?
    {
        let before = mistakes.count
        guard let kind = kind(of: name, at: place, isUsed: isUsed) else { return nil }
        let isSectionWrong = mistakes.count > before
        var values: BackendKind.Values = [:]
        var isComplete = true
        for setting in kind.settings {
            let start = mistakes.count
            let key = SettingKey(section: name, name: setting.name)
            guard isUsed else {
                _ = fileValue(of: setting, key)
                continue
            }
            let found = value(of: setting, key) { $0.settings[name]?[setting.name] }
            values[setting.name] = found?.value
            let isReported = mistakes.count > start
            let isMissing = setting.isRequired && found == nil
            let isWrongAddress = setting.meaning == .address && isReported && found?.origin == nil
            if isMissing || isWrongAddress { isComplete = false }
            if isMissing, !isReported, !isSectionWrong, isReadable {
                report(self.place(of: name) ?? place, "'\(name)' needs '\(setting.name)', \(setting.expectation)")
            }
        }
        let known = kind.settings.map(\.name) + [ConfigurationValues.kindName]
        func suggestion(_ name: String) -> String {
            NearestName.suggestion(for: name, among: known, listing: "settings of \(kind.name)")
        }
        for entry in entries(of: name) where !known.contains(entry.name) {
            let message = "unknown key \(QuotedText.name(entry.name)) in '\(name)'\(suggestion(entry.name))"
            report(location(entry.position), message)
        }
        for key in [source.overrides, source.defaults].flatMap({ $0.settings[name]?.keys.map(\.self) ?? [] })
        where !known.contains(key) {
            report(.code(key: "\(name).\(key)"), "unknown setting of '\(name)'\(suggestion(key))")
        }
        return isComplete ? (kind, values) : nil
    }

    /// The kind of a backend: the one that it is named after, or the one that is given.
    private mutating func kind(of name: String, at place: Location, isUsed: Bool) -> BackendKind? {
        let section = file[name]?.value
        let key = SettingKey(section: name, name: ConfigurationValues.kindName)
        let inFile = entry(for: key)?.value
        let own = registry.kind(named: name)
        if let inFile, inFile.text == nil || own != nil && inFile.text != name {
            let fault = "a section named '\(name)' is of that kind; give the other one another name"
            let message = inFile.text == nil ? "expected the name of a kind, found \(inFile.kind)" : fault
            report(location(inFile.position), "'kind': \(message)")
            return nil
        }
        if let own {
            if let section, section.entries == nil, !section.isNothing {
                let expected = "a section with the settings of \(name)"
                report(location(section.position), "'\(name)': expected \(expected), found \(section.kind)")
            }
            return own
        }
        let given = text(of: key)
        let kindName = given?.text ?? name
        if let kind = registry.kind(named: kindName) {
            if SectionName.isValid(name) {
                let effective = EffectiveSetting(key: key.description, value: kind.name, location: given?.location)
                if isUsed { effectiveSettings.append(effective) }
                return kind
            }
            let message = "'\(QuotedText.shortened(name))' cannot name a backend; \(SectionName.expectation)"
            report(self.place(of: name) ?? place, message)
        } else if let reason = registry.reasonsForMissing[kindName] {
            // Without the kind, its settings are not known.
            if isUsed { report(place, "the backend '\(name)' cannot be used: \(reason)") }
        } else if mayBeOfApp(kindName), section == nil || section?.entries != nil {
            let message = "the backend \(QuotedText.name(kindName)) is unknown here; the app may have it"
            if isUsed { warnings.append(ConfigurationMistake(given?.location ?? place, message)) }
        } else if let given {
            let (names, missing) = (registry.names, registry.missingNames)
            let end = NearestName.suggestion(for: kindName, among: names, unlisted: missing, listing: "known kinds")
            report(given.location, "unknown kind \(QuotedText.name(kindName))\(end)")
        } else if isReadable {
            report(place, isUsed || section == nil ? unknownBackend(name) : unknownKey(name))
        }
        return nil
    }

    /// Whether an unknown kind may be one of the app's own: it is a name, and no misspelled one.
    private func mayBeOfApp(_ kind: String) -> Bool {
        let known = ConfigurationValues.settings.map(\.name) + registry.names + registry.missingNames
        return source.acceptsKindsOfApps && SectionName.isValid(kind)
            && NearestName.find(for: kind, among: known) == nil
    }

    private func unknownBackend(_ name: String) -> String {
        let listing = "expected a section with a 'kind', or one of"
        let (names, missing) = (registry.names + namedSections, registry.missingNames)
        return "unknown backend \(QuotedText.name(name))"
            + NearestName.suggestion(for: name, among: names, unlisted: missing, listing: listing)
    }

    private func unknownKey(_ name: String) -> String {
        let message = "unknown key \(QuotedText.name(name))"
        let parts = name.split(separator: ".").map(String.init)
        if parts.count == 2, registry.names.contains(parts[0]), SectionName.isValid(parts[1]) {
            return "\(message); write '\(parts[0]): {\(parts[1]): …}'"
        }
        let owner = registry.kinds.first { file[$0.name] != nil && $0.settings.contains { $0.name == name } }
        if let owner { return "\(message); it is a setting of '\(owner.name)', below which it must be indented" }
        let candidates = ConfigurationValues.settings.map(\.name) + registry.names
        let listing = "it is no section with a 'kind', and known keys are"
        return message
            + NearestName.suggestion(for: name, among: candidates, unlisted: registry.missingNames, listing: listing)
    }

    // MARK: - Warnings

    /// Checks the sections of the file, and of code, that no backend uses.
    private mutating func checkRest(_ used: [String], listed: [String], at origin: Location?) {
        var unused: [ConfigurationMistake] = []
        let inCode = [source.overrides, source.defaults].flatMap(\.settings.keys)
        let sections = Set(file.keys).subtracting(ConfigurationValues.settings.map(\.name))
        for name in sections.union(inCode).subtracting(used) {
            let place = place(of: name) ?? .code(key: name)
            guard let (kind, _) = backend(name, place, isUsed: false), sections.contains(name) else { continue }
            // What fits elsewhere may have a section.
            if listed.contains(AutomaticBackends.name), kind.name == name, kind.fit != nil { continue }
            let message = "the section '\(name)' is not used; to use it, list it in 'backends'"
            unused.append(ConfigurationMistake(place, message))
        }
        // A list in a variable or in code may be for one run; with mistakes, it may be another one.
        if case .file = origin ?? location(nil), mistakes.isEmpty { warnings += unused }
    }

    /// Warns of variables that have no effect and nearly the name of one that would have.
    private mutating func checkVariables() {
        let given = source.environment.keys.filter {
            $0.hasPrefix(SettingKey.variablePrefix) && $0 != ConfigurationSource.fileVariable
        }
        var known = Set(effectiveSettings.map { SettingKey.variable(of: $0.key) })
        guard !known.isSuperset(of: given) else { return }
        for kind in registry.kinds {
            known.formUnion(kind.settings.map { SettingKey(section: kind.name, name: $0.name).variable })
        }
        func words(_ variable: String) -> String { String(variable.dropFirst(SettingKey.variablePrefix.count)) }
        for variable in given.sorted() where !known.contains(variable) {
            guard let nearest = NearestName.find(for: words(variable), among: known.map(words).sorted()) else {
                continue
            }
            let message = "there is no such setting, did you mean \(SettingKey.variablePrefix)\(nearest)?"
            warnings.append(ConfigurationMistake(.environment(variable: variable), message))
        }
    }

    /// Warns if every user can read a secret.
    private mutating func warnAboutSecret(_ setting: SettingDefinition, _ found: Found) {
        guard let origin = found.origin else { return }
        var path: String?
        if setting.meaning == .secretFile { path = found.value.written.text }
        if setting.isSecret, case .file(let file, _) = origin { path = file }
        if let warning = path.flatMap(SecretFile.warning) {
            warnings.append(ConfigurationMistake(origin, "'\(setting.name)': \(warning)"))
        }
    }
}
