import DisplayText
import Foundation
import IndicatorCore
import Logging

/// Merges the layers of a configuration: code over environment over file over defaults.
///
/// An invalid value is reported and ignored, so that the next weaker layer applies.
struct ConfigurationBuilder {
    private typealias Location = ConfigurationMistake.Location
    /// A value, and where it comes from; `nil` for the defaults.
    private typealias Found = (value: BackendSettingValue?, origin: Location?, places: [Location])
    /// A name in a list, and where it is.
    private typealias Item = (name: String, location: Location)

    private let source: ConfigurationSource
    private let file: FileValues?

    private(set) var mistakes: [ConfigurationMistake]
    private var warnings: [ConfigurationMistake] = []
    private var effectiveSettings: [EffectiveSetting] = []
    /// What `backends: auto` stands for, if it is used.
    private var automatic: AutomaticBackends?

    private var registry: BackendRegistry { source.registry }

    init(_ source: ConfigurationSource, file: FileValues?) {
        self.source = source
        self.file = file
        mistakes = file?.mistakes ?? []
    }

    mutating func build() -> IndicatorConfiguration {
        var values: [String: BackendSettingValue] = [:]
        for setting in GeneralSettings.definitions {
            values[setting.name] = value(of: setting, SettingKey(name: setting.name)).value
        }
        let general = GeneralSettings(values)
        let observe = observedNames()
        let backends = backends(isAccessible: general.isAccessible)
        reportUnknownNamesInCode()
        warnAboutUnknownVariables()
        return IndicatorConfiguration(
            file: file?.path,
            general: general,
            observe: observe,
            backends: backends,
            automatic: automatic,
            effectiveSettings: effectiveSettings,
            warnings: warnings.inReadingOrder
        )
    }

    private mutating func report(_ location: Location, _ message: String) {
        mistakes.append(ConfigurationMistake(location, message))
    }

    private mutating func addEffective(_ key: SettingKey, _ value: String?, _ origin: Location?) {
        effectiveSettings.append(EffectiveSetting(backend: key.section, name: key.name, value: value, location: origin))
    }

    // MARK: - Single values

    /// The value of a setting, and where it comes from; `nil` for the defaults.
    private mutating func value(of setting: SettingDefinition, _ key: SettingKey) -> Found {
        let found = strongestValue(of: setting, key)
        let text = setting.isSecret && found.value != nil ? "(hidden)" : found.value?.configurationText
        addEffective(key, text, found.origin)
        if let origin = found.origin, let warning = Self.warning(about: setting, found.value, origin) {
            warnings.append(ConfigurationMistake(origin, "'\(setting.name)': \(warning)"))
        }
        return found
    }

    /// Whether every user can read a secret.
    private static func warning(
        about setting: SettingDefinition,
        _ value: BackendSettingValue?,
        _ origin: Location
    ) -> String? {
        if setting.isSecretFile, case .string(let path) = value { return SecretFile.warning(path) }
        guard setting.isSecret, value != nil, case .file(let path, _, _) = origin else { return nil }
        return SecretFile.warning(path)
    }

    private mutating func strongestValue(of setting: SettingDefinition, _ key: SettingKey) -> Found {
        let inCode = Location.code(key: key.description)
        let variable = Location.environment(variable: key.variable)
        let (source, environment) = (source, source.environment)
        func checked(_ values: ConfigurationValues) throws -> BackendSettingValue? {
            try values.value(key).map { try setting.value($0, in: environment) }
        }
        if let value = valid(inCode, { try checked(source.overrides) }) { return (value, inCode, []) }
        let text = source.environmentText(key)
        if let value = valid(variable, { try text.map { try setting.value(of: $0, in: environment) } }) {
            return (value, variable, [])
        }
        if let found = file?.values[key] { return (found.value, found.location, found.places) }
        return (valid(inCode) { try checked(source.defaults) } ?? setting.defaultValue, nil, [])
    }

    /// A value, if there is one and it is valid.
    private mutating func valid(
        _ location: Location,
        _ read: () throws -> BackendSettingValue?
    ) -> BackendSettingValue? {
        do { return try read() } catch { report(location, "\(error)") }
        return nil
    }

    // MARK: - Lists

    /// The names in a list, and where it comes from; `nil` for the defaults.
    private mutating func list(_ setting: SettingDefinition) -> (items: [Item], origin: Location?) {
        let (value, origin, places) = value(of: setting, SettingKey(name: setting.name))
        let items = (value?.list ?? []).enumerated().map { index, name in
            (name, places.indices.contains(index) ? places[index] : origin ?? .code(key: setting.name))
        }
        return (items, origin)
    }

    private mutating func observedNames() -> [String] {
        let known = TopLevelSetting.notifications.map(\.name)
        return list(TopLevelSetting.observe).items.compactMap { name, location in
            if known.contains(name) { return name }
            let suggestion = NearestName.suggestion(for: name, among: known, listing: "known notifications")
            report(location, "'observe': unknown notifications '\(QuotedText.shortened(name))'\(suggestion)")
            return nil
        }
    }

    // MARK: - Backends

    private mutating func backends(isAccessible: Bool) -> [IndicatorConfiguration.Backend] {
        let (items, origin) = list(TopLevelSetting.backends(in: registry))
        let chosen = automaticKinds(items)
        var backends: [IndicatorConfiguration.Backend] = []
        for item in items {
            let isAutomatic = item.name == AutomaticBackends.name
            for item in isAutomatic ? chosen.map({ (name: $0, location: item.location) }) : [item] {
                guard let (kind, values, location) = backend(item) else { continue }
                // By the user: what the app proposes is not worth a warning where there is no surface for it.
                let isNamed = origin != nil && !isAutomatic
                var context = BackendContext(
                    name: item.name,
                    applicationName: source.applicationName,
                    logger: source.logger(ofNamed: isNamed),
                    isAccessible: isAccessible
                )
                context.isNamed = isNamed
                backends.append(.init(context: context, kind: kind, values: values, location: location))
            }
        }
        warnAboutUnusedSections(items.map(\.name) + (automatic?.choices.map(\.kind) ?? []), origin)
        return backends
    }

    /// The kinds that `auto` stands for, if it is listed: those of this build that are not listed themselves.
    private mutating func automaticKinds(_ items: [Item]) -> [String] {
        guard items.contains(where: { $0.name == AutomaticBackends.name }) else { return [] }
        let place = AutomaticPlace(
            applicationName: source.applicationName,
            environment: source.environment,
            text: { [source, inFile = file?.values ?? [:]] section, name in
                let key = SettingKey(section: section, name: name)
                return source.overrides.value(key)?.text ?? source.environmentText(key) ?? inFile[key]?.value.text
                    ?? source.defaults.value(key)?.text
            }
        )
        let automatic = AutomaticBackends(registry, in: place)
        self.automatic = automatic
        return automatic.kinds.filter { kind in !items.contains { $0.name == kind } }
    }

    /// The backend for a name in the list; `nil` if it is invalid.
    private mutating func backend(
        _ item: Item
    ) -> (kind: BackendKind, values: BackendKind.Values, location: Location)? {
        let name = item.name
        guard let kind = kind(of: item) else { return nil }
        guard SectionName.isValid(name) else {
            report(item.location, SectionName.problem(with: name))
            return nil
        }
        let location = file?.sections[name]?.location ?? item.location
        var values: [String: BackendSettingValue] = [:]
        var isComplete = true
        for setting in kind.settings {
            let key = SettingKey(section: name, name: setting.name)
            let mistakesBefore = mistakes.count
            values[setting.name] = value(of: setting, key).value
            guard setting.isRequired, values[setting.name] == nil else { continue }
            isComplete = false
            let isWrong = file.map { !$0.wrong.isDisjoint(with: [key, SettingKey(name: name)]) } ?? false
            guard !isWrong, mistakes.count == mistakesBefore else { continue }
            report(location, "'\(name)' needs '\(setting.name)', \(setting.type.expectation)")
        }
        return isComplete ? (kind, values, location) : nil
    }

    /// The kind of a backend: the one that it is named after, or the one that is given.
    private mutating func kind(of item: Item) -> BackendKind? {
        let name = item.name
        if let kind = registry.kind(named: name) { return kind }
        if file?.wrong.contains(SettingKey(name: name)) == true { return nil }
        let given = file?.sections[name]?.kind ?? source.kind(of: name)
        let kindName = given?.name ?? name
        if let kind = registry.kind(named: kindName) {
            addEffective(SettingKey(section: name, name: TopLevelSetting.kind), kind.name, given?.location)
            return kind
        }
        if source.mayBeOfApp(kindName) {
            let message = "the backend '\(QuotedText.shortened(kindName))' is unknown here; the app may have it"
            warnings.append(ConfigurationMistake(given?.location ?? item.location, message))
        } else if let reason = registry.reasonForMissing(kindName) {
            report(item.location, "the backend '\(name)' cannot be used: \(reason)")
        } else if let given {
            report(given.location, registry.unknownKind(kindName))
        } else if file?.isReadable != false {
            report(item.location, unknownBackend(name))
        }
        return nil
    }

    private func unknownBackend(_ name: String) -> String {
        let own = (file?.sections.keys.sorted() ?? []).filter { !registry.knownNames.contains($0) }
        let listing = "expected a section with a 'kind', or one of"
        return "unknown backend '\(QuotedText.shortened(name))'"
            + NearestName.suggestion(for: name, among: registry.knownNames + own, listing: listing)
    }

    /// Reports what code sets that no backend has, used or not: nothing else would show that it has no effect.
    private mutating func reportUnknownNamesInCode() {
        for (name, values) in [source.overrides, source.defaults].flatMap(\.settings) {
            let kindName = (file?.sections[name]?.kind ?? source.kind(of: name))?.name
            guard let kind = registry.kind(named: name) ?? kindName.flatMap(registry.kind(named:)) else {
                // A wrong `kind` is reported where a list names its backend.
                let isKnown = kindName != nil || registry.reasonForMissing(name) != nil
                if !isKnown, file?.wrong.contains(SettingKey(name: name)) != true {
                    report(.code(key: name), unknownBackend(name))
                }
                continue
            }
            let known = kind.settings.map(\.name)
            for unknown in values.keys where unknown != TopLevelSetting.kind && !known.contains(unknown) {
                let suggestion =
                    NearestName.suggestion(for: unknown, among: known, listing: "settings of \(kind.name)")
                report(.code(key: "\(name).\(unknown)"), "unknown setting of '\(name)'\(suggestion)")
            }
        }
    }

    // MARK: - Warnings

    private mutating func warnAboutUnusedSections(_ names: [String], _ origin: Location?) {
        guard let file, file.isReadable, !file.wrong.contains(SettingKey(name: TopLevelSetting.backendsName)) else {
            return
        }
        let reason: String
        switch origin {
        case .file: reason = "'backends' does not list it"
        case nil where !names.isEmpty:
            reason = "without 'backends' only \(names.joined(separator: " and ")) are used"
        default: return
        }
        for (name, section) in file.sections where !names.contains(name) {
            warnings.append(ConfigurationMistake(section.location, "the section '\(name)' is not used: \(reason)"))
        }
    }

    /// Warns about variables that look like misspelled settings.
    private mutating func warnAboutUnknownVariables() {
        var keys = effectiveSettings.map { SettingKey(section: $0.backend, name: $0.name) }
        let ownSections = file?.sections.map { ($0.key, $0.value.kind.flatMap { registry.kind(named: $0.name) }) } ?? []
        for case (let name, let kind?) in registry.kinds.map({ ($0.name, $0) }) + ownSections {
            keys += (kind.settings.map(\.name) + [TopLevelSetting.kind]).map { SettingKey(section: name, name: $0) }
        }
        let known = Set(keys.map(\.variable) + [ConfigurationSource.fileVariable])
        let given = source.environment.filter { $0.key.hasPrefix(SettingKey.variablePrefix) && !$0.value.isEmpty }
        for variable in given.keys.sorted() where !known.contains(variable) {
            // Other programs may use the prefix too, so only probable typos are reported.
            guard let nearest = NearestName.find(for: variable, among: known.sorted()) else { continue }
            let message = "unknown setting, did you mean '\(nearest)'?"
            warnings.append(ConfigurationMistake(.environment(variable: variable), message))
        }
    }
}
