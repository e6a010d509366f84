import DisplayText
import Foundation
import IndicatorCore

/// Reads a configuration: code over environment over file over defaults.
///
/// An invalid value is reported and ignored, so that the next weaker layer applies; without another address than the
/// default, a backend with a wrong one is not used. Everything in the file is checked, used or not.
struct ConfigurationReader {
    private typealias Location = ConfigurationMistake.Location
    private typealias InCode = (ConfigurationValues) -> BackendSettingValue?

    /// A value, and where it comes from; `nil` for the defaults.
    private struct Found {
        var value: SettingValue?
        var origin: Location?
        /// The locations of the elements of a list.
        var places: [Location] = []
    }

    private let source: ConfigurationSource
    /// The path of the file, if there is one.
    private let path: String?
    /// What the file has at its top level, by name.
    private var file: [String: ConfigurationNode.Entry] = [:]
    /// Whether the file could be read; otherwise, what seems to be missing may be in it.
    private var isReadable = true

    private(set) var mistakes: [ConfigurationMistake] = []
    private var warnings: [ConfigurationMistake] = []
    private var effectiveSettings: [EffectiveSetting] = []
    /// What `backends: auto` stands for, if it is used.
    private var automatic: AutomaticBackends?

    private var registry: BackendRegistry { source.registry }

    /// Reads a file, or a text as its contents.
    init(_ source: ConfigurationSource, text: String? = nil, path: String?) {
        (self.source, self.path) = (source, path)
        guard let path else { return }
        do throws(TextProblem) {
            if let text { try parse(text) } else { try parse(ConfigurationFileContents(path: path).text) }
        } catch {
            isReadable = false
            let isOfVariable = error.position == nil && source.givenFile?.isVariable == true
            let remark = "; the path is from the environment variable \(ConfigurationSource.fileVariable)"
            report(location(error.position), error.message + (isOfVariable ? remark : ""))
        }
    }

    private mutating func parse(_ text: String) throws(TextProblem) {
        guard let root = try ConfigurationNode(text, isJSON: path?.hasSuffix(".json") == true), !root.isNothing else {
            return
        }
        guard let entries = root.entries else {
            var found = root.kind
            if case .scalar(let text, _) = root.content, let colon = text.firstIndex(of: ":") {
                // Without what follows, which may be a secret, but with a space that is none.
                let next = text[text.index(after: colon)...].prefix(1).filter(\.isWhitespace)
                found = "'\(QuotedText.shortened(String(text[...colon]) + next))…'"
            }
            throw TextProblem(position: root.position, "expected lines such as 'startDelay: 1', found \(found)")
        }
        file = Dictionary(entries.map { ($0.name, $0) }) { first, _ in first }
    }

    mutating func read() -> IndicatorConfiguration {
        var values = ConfigurationValues.standard(in: registry)
        var list = Found()
        for setting in ConfigurationValues.settings {
            let found = value(of: setting.definition(defaults: values), SettingKey(name: setting.name), setting.written)
            found.value?.apply(to: &values)
            if setting.name == ConfigurationValues.backendsName { list = found }
        }
        let names = values.backends ?? []
        let backends = backends(names, list, isAccessible: values.isAccessible == true)
        checkRest(backends.map(\.name), list.origin)
        return IndicatorConfiguration(
            file: path,
            values: values,
            backends: backends,
            effectiveSettings: effectiveSettings,
            warnings: warnings.inReadingOrder
        )
    }

    private func location(_ position: TextPosition?) -> Location {
        .file(path: path ?? "", position)
    }

    private mutating func report(_ location: Location, _ message: String) {
        mistakes.append(ConfigurationMistake(location, message))
    }

    // MARK: - Values

    private mutating func value(of setting: SettingDefinition, _ key: SettingKey, _ inCode: InCode) -> Found {
        let code = Location.code(key: key.description)
        let variable = Location.environment(variable: key.variable)
        let inFile = fileValue(of: setting, key)
        var found: Found
        if let value = valid(setting, inCode(source.overrides), code) {
            found = Found(value: value, origin: code)
        } else if let value = valid(setting, source.environmentText(key).map { .string($0) }, variable) {
            found = Found(value: value, origin: variable)
        } else {
            found = inFile ?? Found(value: valid(setting, inCode(source.defaults), code))
        }
        found.value = found.value ?? setting.defaultValue.map(SettingValue.init)
        let text = setting.isSecret && found.value != nil ? "(hidden)" : found.value?.written.configurationText
        effectiveSettings.append(EffectiveSetting(setting: key, value: text, location: found.origin))
        warnAboutSecret(setting, found)
        return found
    }

    /// A value, if there is one and it is valid.
    private mutating func valid(
        _ setting: SettingDefinition,
        _ given: BackendSettingValue?,
        _ location: Location,
        _ prefix: String = ""
    ) -> SettingValue? {
        guard let given else { return nil }
        do { return try setting.value(given, in: source.environment) } catch { report(location, "\(prefix)\(error)") }
        return nil
    }

    /// A value in the file, if there is one and it is valid.
    private mutating func fileValue(of setting: SettingDefinition, _ key: SettingKey) -> Found? {
        let section = key.section.map { file[$0]?.value.entries ?? [] }
        guard let entry = section.map({ $0.first { $0.name == key.name } }) ?? file[key.name] else { return nil }
        let node = entry.value
        let before = mistakes.count
        var places: [Location] = []
        let given: BackendSettingValue
        if setting.shape.isList, let items = node.items {
            for item in items where item.text == nil {
                report(location(item.position), "'\(entry.name)': expected a text, found \(item.kind)")
            }
            var elements = items.compactMap { item in item.text.map { (text: $0, place: location(item.position)) } }
            for (index, fault) in setting.faults(in: .list(elements.map(\.text))).reversed() {
                report(elements.remove(at: index).place, "'\(entry.name)': \(fault)")
            }
            // Of names and words, the others are used.
            guard mistakes.count == before || setting.shape != .texts && !elements.isEmpty else { return nil }
            (given, places) = (.list(elements.map(\.text)), elements.map(\.place))
        } else if let text = node.text {
            given = .string(text)
        } else {
            let isInline = node.position.line == entry.position.line && !node.isEmpty
            let hint = setting.shape.isText && isInline ? "; put a text like this in quotes" : ""
            let message = "'\(entry.name)': expected \(setting.expectation), found \(node.kind)\(hint)"
            report(location(node.isEmpty ? entry.position : node.position), message)
            return nil
        }
        let origin = location(node.position)
        let value = valid(setting, given, origin, "'\(entry.name)': ")
        return value.map { Found(value: $0, origin: origin, places: places) }
    }

    // MARK: - Backends

    private mutating func backends(
        _ names: [String],
        _ list: Found,
        isAccessible: Bool
    ) -> [IndicatorConfiguration.Backend] {
        let chosen = names.contains(AutomaticBackends.name) ? automaticKinds().filter { !names.contains($0) } : []
        var backends: [IndicatorConfiguration.Backend] = []
        for (index, name) in names.enumerated() {
            let key = ConfigurationValues.backendsName
            let place = list.places.indices.contains(index) ? list.places[index] : list.origin ?? .code(key: key)
            let isAutomatic = name == AutomaticBackends.name
            // By the user: what the app proposes is not worth a warning where there is no surface for it.
            let isNamed = list.origin != nil && !isAutomatic
            for name in isAutomatic ? chosen : [name] {
                guard let (kind, settings) = backend(name, at: place, isUsed: true) else { continue }
                var context = BackendContext(
                    name: name,
                    applicationName: source.applicationName,
                    logger: source.logger(ofNamed: isNamed),
                    isAccessible: isAccessible
                )
                context.isNamed = isNamed
                let section = file[name].map { location($0.position) }
                backends.append(.init(context: context, kind: kind, settings: settings, location: section ?? place))
            }
        }
        return backends
    }

    /// The kinds that `auto` stands for.
    private mutating func automaticKinds() -> [String] {
        let place = AutomaticPlace(
            applicationName: source.applicationName,
            environment: source.environment,
            text: { [self] in text(of: SettingKey(section: $0, name: $1))?.text }
        )
        let automatic = AutomaticBackends(registry, in: place)
        self.automatic = automatic
        return automatic.kinds
    }

    /// The text that a setting of a section has, checked or not, from the strongest source.
    private func text(of key: SettingKey) -> (text: String, location: Location)? {
        func inCode(_ values: ConfigurationValues) -> (text: String, location: Location)? {
            key.section.flatMap { values.settings[$0]?[key.name]?.text }.map { ($0, .code(key: key.description)) }
        }
        let node = key.section.flatMap { file[$0]?.value.entries?.first { $0.name == key.name }?.value }
        return inCode(source.overrides)
            ?? source.environmentText(key).map { ($0, .environment(variable: key.variable)) }
            ?? node?.text.map { ($0, location(node?.position)) } ?? inCode(source.defaults)
    }

    /// Checks a backend. Returns its kind and its settings; `nil` if it is invalid.
    ///
    /// - Parameters:
    ///   - place: where it is named; of one that is not used, where its settings are.
    ///   - isUsed: whether it is listed.
    private mutating func backend(
        _ name: String,
        at place: Location,
        isUsed: Bool
    ) -> (kind: BackendKind, settings: BackendKind.Values)? {
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
            values[setting.name] = found.value
            let isReported = mistakes.count > start
            let isMissing = setting.isRequired && found.value == nil
            let isWrongAddress = setting.meaning == .address && isReported && found.origin == nil
            if isMissing || isWrongAddress { isComplete = false }
            if isMissing, !isReported, !isSectionWrong, isReadable {
                let place = file[name].map { location($0.position) } ?? place
                report(place, "'\(name)' needs '\(setting.name)', \(setting.expectation)")
            }
        }
        let known = kind.settings.map(\.name) + [ConfigurationValues.kindName]
        func suggestion(_ name: String) -> String {
            NearestName.suggestion(for: name, among: known, listing: "settings of \(kind.name)")
        }
        for entry in file[name]?.value.entries ?? [] where !known.contains(entry.name) {
            let message = "unknown key '\(QuotedText.shortened(entry.name))' in '\(name)'\(suggestion(entry.name))"
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
        let inFile = section?.entries?.first { $0.name == ConfigurationValues.kindName }?.value
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
        let key = SettingKey(section: name, name: ConfigurationValues.kindName)
        let given = text(of: key)
        let kindName = given?.text ?? name
        if let kind = registry.kind(named: kindName) {
            if SectionName.isValid(name) {
                let effective = EffectiveSetting(setting: key, value: kind.name, location: given?.location)
                if isUsed { effectiveSettings.append(effective) }
                return kind
            }
            report(file[name].map { location($0.position) } ?? place, SectionName.problem(with: name))
        } else if let reason = registry.reasonsForMissing[kindName] {
            // Without the kind, its settings are not known.
            if isUsed { report(place, "the backend '\(name)' cannot be used: \(reason)") }
        } else if mayBeOfApp(kindName), section == nil || section?.entries != nil {
            let message = "the backend '\(QuotedText.shortened(kindName))' is unknown here; the app may have it"
            if isUsed { warnings.append(ConfigurationMistake(given?.location ?? place, message)) }
        } else if let given {
            let suggestion = NearestName.suggestion(for: kindName, among: registry.knownNames, listing: "known kinds")
            report(given.location, "unknown kind '\(QuotedText.shortened(kindName))'\(suggestion)")
        } else if isReadable {
            report(place, isUsed || section == nil ? unknownBackend(name) : unknownKey(name))
        }
        return nil
    }

    /// Whether an unknown kind may be one of the app's own: it is a name, and no misspelled one.
    private func mayBeOfApp(_ kind: String) -> Bool {
        let known = ConfigurationValues.settings.map(\.name) + registry.knownNames
        return source.acceptsKindsOfApps && SectionName.isValid(kind)
            && NearestName.find(for: kind, among: known) == nil
    }

    private func unknownBackend(_ name: String) -> String {
        let own = file.keys.sorted().filter { file[$0]?.value.entries?.contains { $0.name == "kind" } == true }
        let listing = "expected a section with a 'kind', or one of"
        return "unknown backend '\(QuotedText.shortened(name))'"
            + NearestName.suggestion(for: name, among: registry.knownNames + own, listing: listing)
    }

    private func unknownKey(_ name: String) -> String {
        let message = "unknown key '\(QuotedText.shortened(name))'"
        let parts = name.split(separator: ".", maxSplits: 1).map(String.init)
        if parts.count == 2, registry.knownNames.contains(parts[0]) {
            return "\(message); write '\(QuotedText.shortened("\(parts[0]): {\(parts[1]): …}"))'"
        }
        let owner = registry.kinds.first { file[$0.name] != nil && $0.settings.contains { $0.name == name } }
        if let owner { return "\(message); it is a setting of '\(owner.name)', below which it must be indented" }
        let candidates = ConfigurationValues.settings.map(\.name) + registry.knownNames
        let listing = "it is no section with a 'kind', and known keys are"
        return message + NearestName.suggestion(for: name, among: candidates, listing: listing)
    }

    // MARK: - What is not used

    /// Checks the sections of the file, and of code, that no backend uses.
    private mutating func checkRest(_ used: [String], _ origin: Location?) {
        let settings = ConfigurationValues.settings.map(\.name)
        var unused: [(name: String, location: Location)] = []
        for (name, entry) in file where !settings.contains(name) && !used.contains(name) {
            let isKnown = backend(name, at: location(entry.position), isUsed: false) != nil
            if isKnown { unused.append((name, location(entry.position))) }
        }
        let inCode = Set([source.overrides, source.defaults].flatMap(\.settings.keys))
        for name in inCode where file[name] == nil && !used.contains(name) {
            _ = backend(name, at: .code(key: name), isUsed: false)
        }
        // With mistakes, the list may be another one.
        guard mistakes.isEmpty else { return }
        let reason: String
        switch origin {
        case .file: reason = "'backends' does not list it"
        case nil where !used.isEmpty: reason = "without 'backends' only \(used.joined(separator: " and ")) are used"
        default: return
        }
        // What fits elsewhere may have a section.
        let automatic = automatic?.choices.map { $0.kind } ?? []
        for (name, location) in unused where !automatic.contains(name) {
            warnings.append(ConfigurationMistake(location, "the section '\(name)' is not used: \(reason)"))
        }
    }

    // MARK: - Warnings

    /// Warns if every user can read a secret.
    private mutating func warnAboutSecret(_ setting: SettingDefinition, _ found: Found) {
        guard let origin = found.origin, let value = found.value?.written else { return }
        let warning: String? =
            if setting.meaning == .secretFile, let path = value.text {
                SecretFile.warning(path)
            } else if setting.isSecret, case .file(let path, _) = origin {
                SecretFile.warning(path)
            } else {
                nil
            }
        if let warning { warnings.append(ConfigurationMistake(origin, "'\(setting.name)': \(warning)")) }
    }
}
