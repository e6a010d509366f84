import Foundation
import IndicatorCore

/// Where a configuration comes from: what it takes to read it, and to read it again.
struct ConfigurationSource: Sendable {
    var applicationName: String
    var path: String?
    var environment: [String: String]
    var registry: BackendRegistry
    var overrides = ConfigurationValues()
    var defaults = ConfigurationValues()

    var locator: ConfigurationFileLocator {
        ConfigurationFileLocator(applicationName: applicationName, path: path, environment: environment)
    }

    /// Reads the configuration. Where there is a mistake in it, a weaker layer or the default holds.
    func read() -> (configuration: IndicatorConfiguration, mistakes: [ConfigurationMistake]) {
        var builder = ConfigurationBuilder(self, file: locator.locate().map { FileValues(path: $0, source: self) })
        let configuration = builder.build()
        return (configuration, builder.mistakes.inReadingOrder)
    }

    /// Reads the configuration.
    ///
    /// - Throws: ``ConfigurationError`` with every mistake.
    func load() throws(ConfigurationError) -> IndicatorConfiguration {
        let (configuration, mistakes) = read()
        guard mistakes.isEmpty else { throw ConfigurationError(mistakes) }
        return configuration
    }

    /// The text of a setting's environment variable. An empty one counts as not set.
    func environmentText(_ key: SettingKey) -> String? {
        environment[key.variable].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The kind that code or the environment gives a backend, which is stronger than what the file says.
    func strongerKind(of backend: String) -> (name: String, location: ConfigurationMistake.Location)? {
        let key = SettingKey(section: backend, name: TopLevelSetting.kind)
        if let name = overrides.kindName(of: backend) { return (name, .code(key: key.description)) }
        return environmentText(key).map { ($0, .environment(variable: key.variable)) }
    }
}

/// Merges the layers of a configuration: code over environment over file over defaults.
///
/// A value that is wrong is reported and left out, so that the next weaker layer holds for it.
struct ConfigurationBuilder {
    private let source: ConfigurationSource
    private let file: FileValues?

    private(set) var mistakes: [ConfigurationMistake]
    private var warnings: [ConfigurationMistake]
    private var effectiveSettings: [EffectiveSetting] = []

    private var registry: BackendRegistry { source.registry }

    init(_ source: ConfigurationSource, file: FileValues?) {
        self.source = source
        self.file = file
        mistakes = file?.mistakes ?? []
        warnings = file?.warnings ?? []
    }

    mutating func build() -> IndicatorConfiguration {
        let isEnabled = value(of: TopLevelSetting.enabled, SettingKey(name: TopLevelSetting.enabled.name))
        var delays = IndicatorDelays.standard
        for setting in TopLevelSetting.delays {
            guard let name = IndicatorDelays.Setting(rawValue: setting.name),
                case .duration(let value) = value(of: setting, SettingKey(name: setting.name))
            else { continue }
            // Cannot fail for a value that was checked.
            delays = (try? delays.replacing(name, with: value)) ?? delays
        }
        let observe = observedNames()
        let backends = backends()
        warnAboutUnknownVariables()
        return IndicatorConfiguration(
            applicationName: source.applicationName,
            file: file?.path,
            isEnabled: isEnabled != .boolean(false),
            delays: delays,
            observe: observe,
            backends: backends,
            effectiveSettings: effectiveSettings,
            warnings: warnings.inReadingOrder,
            fileText: file?.text
        )
    }

    private mutating func report(_ location: ConfigurationMistake.Location, _ message: String) {
        mistakes.append(ConfigurationMistake(location, message))
    }

    // MARK: - Single values

    /// The value of a setting; `nil` when there is none.
    private mutating func value(of setting: BackendSetting, _ key: SettingKey) -> BackendSettingValue? {
        let (value, origin) = strongestValue(of: setting, key)
        effectiveSettings.append(
            EffectiveSetting(backend: key.section, name: key.name, value: value?.configurationText, source: origin)
        )
        return value
    }

    private mutating func strongestValue(
        of setting: BackendSetting,
        _ key: SettingKey
    ) -> (BackendSettingValue?, SettingSource) {
        if let value = checked(source.overrides.value(key), setting, key) { return (value, .code) }
        if let text = source.environmentText(key) {
            let text = SettingText(text: text, origin: .environment, environment: source.environment)
            do throws(SettingText.Failure) {
                return (try text.value(for: setting), .environment(variable: key.variable))
            } catch {
                report(.environment(variable: key.variable), error.message)
            }
        }
        if let file, let found = file.values[key] {
            return (found.value, .file(path: file.path, line: found.position.line))
        }
        return (checked(source.defaults.value(key), setting, key) ?? setting.defaultValue, .default)
    }

    /// A value that was given in code, when it is right.
    private mutating func checked(
        _ value: BackendSettingValue?,
        _ setting: BackendSetting,
        _ key: SettingKey
    ) -> BackendSettingValue? {
        do throws(SettingText.Failure) {
            return try value.map { value throws(SettingText.Failure) in
                try setting.checked(value, environment: source.environment)
            }
        } catch {
            report(.code(key: key.description), error.message)
            return nil
        }
    }

    // MARK: - Lists

    private typealias ListItem = (name: String, location: ConfigurationMistake.Location)

    private mutating func list(_ setting: TopLevelSetting.List) -> (items: [ListItem], source: SettingSource) {
        let (items, origin) = strongestList(setting)
        let names = items.map { SettingText.escaped($0.name) }.joined(separator: ", ")
        effectiveSettings.append(
            EffectiveSetting(backend: nil, name: setting.name, value: "[\(names)]", source: origin)
        )
        return (items, origin)
    }

    private mutating func strongestList(_ setting: TopLevelSetting.List) -> ([ListItem], SettingSource) {
        let key = SettingKey(name: setting.name)
        if let names = source.overrides.list(setting.name) {
            return (items(names, at: .code(key: setting.name)), .code)
        }
        if let text = source.environmentText(key) {
            let names = text.split(separator: ",", omittingEmptySubsequences: false)
                .map { $0.trimmingCharacters(in: .whitespaces) }
            let variable = key.variable
            return (items(names, at: .environment(variable: variable)), .environment(variable: variable))
        }
        if let file, let list = file.lists[setting.name] {
            let items = list.names.map { (name: $0.text, location: file.location($0.position)) }
            return (items, .file(path: file.path, line: list.position.line))
        }
        let names =
            source.defaults.list(setting.name)
            ?? setting.defaultNames.filter { name in
                setting.name != TopLevelSetting.backends.name || registry.kind(named: name) != nil
            }
        return (items(names, at: .code(key: setting.name)), .default)
    }

    private mutating func items(_ names: [String], at location: ConfigurationMistake.Location) -> [ListItem] {
        var seen: Set<String> = []
        return names.compactMap { name in
            if seen.insert(name).inserted { return (name, location) }
            report(location, "'\(SettingText.shortened(name))' is there more than once")
            return nil
        }
    }

    private mutating func observedNames() -> [String] {
        let known = TopLevelSetting.notifications.map(\.name)
        return list(TopLevelSetting.observe).items.compactMap { name, location in
            if known.contains(name) { return name }
            let suggestion = NearestName.suggestion(for: name, among: known, listing: "known notifications")
            report(location, "'observe': unknown notifications '\(SettingText.shortened(name))'\(suggestion)")
            return nil
        }
    }

    // MARK: - Backends

    private mutating func backends() -> [IndicatorConfiguration.Backend] {
        let (items, origin) = list(TopLevelSetting.backends)
        let isNamed = origin != .default || source.defaults.backends != nil
        var backends: [IndicatorConfiguration.Backend] = []
        for item in items where mistakes.count < FileValues.largestNumberOfMistakes {
            if let backend = backend(item, isNamed: isNamed) { backends.append(backend) }
        }
        warnAboutUnusedSections(items.map(\.name), origin)
        return backends
    }

    /// The backend that a list names; `nil` when that cannot be made.
    private mutating func backend(_ item: ListItem, isNamed: Bool) -> IndicatorConfiguration.Backend? {
        let name = item.name
        let section = file?.sections[name]
        guard let kind = kind(of: item, section) else { return nil }
        guard SectionName.isValid(name) else {
            let shown = SettingText.shortened(name)
            report(item.location, "'\(shown)' cannot name a backend; expected \(SectionName.expectation)")
            return nil
        }
        let location = section.flatMap { section in file?.location(section.position) } ?? item.location
        var values: [String: BackendSettingValue] = [:]
        var isComplete = true
        for setting in kind.settings {
            let key = SettingKey(section: name, name: setting.name)
            let mistakesBefore = mistakes.count
            values[setting.name] = value(of: setting, key)
            guard setting.isRequired, values[setting.name] == nil else { continue }
            isComplete = false
            let isReported =
                mistakes.count > mistakesBefore
                || file.map { $0.wrong.contains(key) || $0.wrong.contains(SettingKey(name: name)) } == true
            if !isReported { report(location, "'\(name)' needs '\(setting.name)', \(setting.type.expectation)") }
        }
        reportUnknownOverrides(of: name, kind)
        guard isComplete else { return nil }
        return IndicatorConfiguration.Backend(
            name: name,
            kind: kind,
            settings: BackendSettings(values, definitions: kind.settings),
            location: location,
            isNamed: isNamed
        )
    }

    /// The kind of a backend; one that is named after a kind is of that kind.
    private mutating func kind(of item: ListItem, _ section: FileValues.Section?) -> BackendKind? {
        let name = item.name
        if let kind = registry.kind(named: name) { return kind }
        let stronger = source.strongerKind(of: name)
        guard stronger != nil || file?.wrong.contains(SettingKey(name: name)) != true else { return nil }
        let fallback = section == nil ? source.defaults.kindName(of: name) : nil
        let kindName = stronger?.name ?? section?.kindName ?? fallback ?? name
        if let kind = registry.kind(named: kindName) {
            addKind(of: name, kind, stronger?.location, section)
            return kind
        }
        if let reason = registry.reasonForMissing(kindName) {
            report(item.location, "the backend '\(name)' cannot be used: \(reason)")
        } else if let location = stronger?.location {
            report(location, registry.unknownKind(kindName))
        } else if fallback != nil {
            report(.code(key: "\(name).\(TopLevelSetting.kind)"), registry.unknownKind(kindName))
        } else if file?.isComplete != false {
            report(item.location, unknownBackend(name))
        }
        return nil
    }

    private mutating func addKind(
        of name: String,
        _ kind: BackendKind,
        _ stronger: ConfigurationMistake.Location?,
        _ section: FileValues.Section?
    ) {
        let origin: SettingSource =
            switch stronger {
            case .code: .code
            case .environment(let variable): .environment(variable: variable)
            default:
                if let file, let position = section?.kindPosition {
                    .file(path: file.path, line: position.line)
                } else {
                    .default
                }
            }
        effectiveSettings.append(
            EffectiveSetting(backend: name, name: TopLevelSetting.kind, value: kind.name, source: origin)
        )
    }

    private func unknownBackend(_ name: String) -> String {
        if name.isEmpty { return "'backends': expected a name, found an empty text" }
        let shown = SettingText.shortened(name)
        if name.contains(where: \.isWhitespace) {
            return "'backends': expected a name, found '\(shown)'; put commas between names"
        }
        let own = (file?.sections.keys.sorted() ?? []).filter { !registry.knownNames.contains($0) }
        let suggestion = NearestName.suggestion(
            for: name,
            among: registry.knownNames + own,
            listing: "expected a section with a 'kind', or one of"
        )
        return "unknown backend '\(shown)'\(suggestion)"
    }

    private mutating func reportUnknownOverrides(of name: String, _ kind: BackendKind) {
        let known = kind.settings.map(\.name)
        for unknown in source.overrides.settings[name, default: [:]].keys.sorted()
        where unknown != TopLevelSetting.kind && !known.contains(unknown) {
            let suggestion = NearestName.suggestion(for: unknown, among: known, listing: "settings of \(kind.name)")
            report(.code(key: "\(name).\(unknown)"), "unknown setting of '\(name)'\(suggestion)")
        }
    }

    // MARK: - Warnings

    private mutating func warnAboutUnusedSections(_ names: [String], _ origin: SettingSource) {
        guard let file, file.isComplete, !file.wrong.contains(SettingKey(name: TopLevelSetting.backends.name)) else {
            return
        }
        let reason: String
        switch origin {
        case .file: reason = "'backends' does not list it"
        case .default where !names.isEmpty:
            reason = "without 'backends' there are only \(names.joined(separator: " and "))"
        default: return
        }
        for (name, section) in file.sections where !names.contains(name) {
            warnings.append(
                ConfigurationMistake(
                    file.location(section.position),
                    "the section '\(name)' is not used: \(reason)"
                )
            )
        }
    }

    /// Variables that look like settings and are none.
    private mutating func warnAboutUnknownVariables() {
        var known: Set<String> = [ConfigurationFileLocator.variable]
        for name in TopLevelSetting.names { known.insert(SettingKey(name: name).variable) }
        for setting in effectiveSettings {
            known.insert(SettingKey(section: setting.backend, name: setting.name).variable)
        }
        var sections = registry.kinds.map { (name: $0.name, kind: $0) }
        for (name, section) in file?.sections ?? [:] {
            if let kind = section.kindName.flatMap(registry.kind(named:)) { sections.append((name, kind)) }
        }
        for (name, kind) in sections {
            for setting in kind.settings.map(\.name) + [TopLevelSetting.kind] {
                known.insert(SettingKey(section: name, name: setting).variable)
            }
        }
        let given = source.environment.filter { $0.key.hasPrefix(SettingKey.variablePrefix) && !$0.value.isEmpty }
        for variable in given.keys.sorted() where !known.contains(variable) {
            // Other programs may use the prefix, too, so only what looks like a slip is reported.
            guard let nearest = NearestName.find(for: variable, among: known.sorted()) else { continue }
            warnings.append(
                ConfigurationMistake(
                    .environment(variable: variable),
                    "there is no setting of that name, did you mean '\(nearest)'?"
                )
            )
        }
    }
}
