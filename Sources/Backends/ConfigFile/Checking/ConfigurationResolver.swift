import IndicatorCore

/// Puts the layers together: code over environment over file over defaults, and says who said what.
struct ConfigurationResolver {
    private let file: CheckedFile?
    private let registry: BackendRegistry
    private let environment: [String: String]
    private let overrides: ConfigurationValues
    private let defaults: ConfigurationValues
    private let layers: LayeredValues
    /// The sections of the file, by name.
    private let sections: [String: CheckedFile.Section]

    private(set) var mistakes: [ConfigurationMistake]
    private(set) var warnings: [ConfigurationMistake] = []
    private(set) var effectiveSettings: [EffectiveSetting] = []

    init(
        file: CheckedFile?,
        registry: BackendRegistry,
        environment: [String: String],
        overrides: ConfigurationValues,
        defaults: ConfigurationValues
    ) {
        self.file = file
        self.registry = registry
        self.environment = environment
        self.overrides = overrides
        self.defaults = defaults
        layers = LayeredValues(environment: environment, file: file)
        sections = Dictionary((file?.sections ?? []).map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        mistakes = file?.mistakes ?? []
    }

    // MARK: - The indicator's own settings

    mutating func resolveEnabled() -> Bool {
        let setting = TopLevelSetting.enabled
        if case .boolean(let value) = resolve(setting, key: SettingKey(name: setting.name)) { return value }
        return true
    }

    mutating func resolveDelays() -> IndicatorDelays {
        var delays = IndicatorDelays.standard
        for setting in TopLevelSetting.delays {
            guard let name = IndicatorDelays.Setting(rawValue: setting.name),
                case .duration(let value) = resolve(setting, key: SettingKey(name: setting.name))
            else { continue }
            // Cannot fail for a value that was checked.
            delays = (try? delays.replacing(name, with: value)) ?? delays
        }
        return delays
    }

    mutating func resolveObserve() -> [String] {
        let list = resolveList(TopLevelSetting.observe, default: ObservedNotifications.defaultNames)
        let known = ObservedNotifications.names
        for item in list.items where !known.contains(item.name) {
            let suggestion = NearestName.suggestion(for: item.name, among: known, listing: "known notifications")
            report(item.location, "'observe': unknown notifications '\(SettingText.shortened(item.name))'\(suggestion)")
        }
        return list.items.map(\.name).filter(known.contains)
    }

    // MARK: - Backends

    mutating func resolveBackends() -> [IndicatorConfiguration.Backend] {
        let standard = BackendRegistry.defaultBackends.filter { registry.kind(named: $0) != nil }
        let list = resolveList(TopLevelSetting.backends, default: standard)
        var backends: [IndicatorConfiguration.Backend] = []
        for item in list.items where mistakes.count < ConfigurationFileChecker.largestNumberOfMistakes {
            if let backend = resolveBackend(item) { backends.append(backend) }
        }
        warnAboutUnusedSections(list)
        return backends
    }

    private mutating func resolveBackend(_ item: ListItem) -> IndicatorConfiguration.Backend? {
        let name = item.name
        guard file?.wrongSections.contains(name) != true else { return nil }
        let section = sections[name]
        let kindName = explicitKind(of: name) ?? section?.kindName ?? name
        guard let kind = registry.kind(named: kindName) else {
            if let reason = registry.reasonForMissing(kindName) {
                report(item.location, "the backend '\(name)' cannot be used: \(reason)")
            } else if let variable = kindVariable(of: name) {
                reportUnknownKind(kindName, at: .environment(variable: variable))
            } else if explicitKind(of: name) != nil {
                reportUnknownKind(kindName, at: .code(key: SettingKey(section: name, name: "kind").description))
            } else if file?.isReadable != false {
                reportUnknownBackend(item)
            }
            return nil
        }
        guard SectionName.isValid(name) else {
            report(
                item.location,
                "'\(SettingText.shortened(name))' cannot name a backend; expected \(SectionName.expectation)"
            )
            return nil
        }
        if name != kind.name { addKind(of: name, kind: kind, section: section) }
        return IndicatorConfiguration.Backend(
            name: name,
            kind: kind,
            settings: settings(of: name, kind: kind, section: section, listedAt: item.location),
            location: section.flatMap { section in file?.location(section.position) } ?? item.location
        )
    }

    private mutating func settings(
        of name: String,
        kind: BackendKind,
        section: CheckedFile.Section?,
        listedAt location: ConfigurationMistake.Location
    ) -> BackendSettings {
        var values: [String: BackendSettingValue] = [:]
        for setting in kind.settings {
            let key = SettingKey(section: name, name: setting.name)
            let mistakesBefore = mistakes.count
            if let value = resolve(setting, key: key) {
                values[setting.name] = value
            } else if setting.isRequired, mistakes.count == mistakesBefore, file?.wrongKeys.contains(key) != true {
                let place = section.flatMap { section in file?.location(section.position) } ?? location
                report(place, "'\(name)' needs '\(setting.name)', \(setting.type.expectation)")
            }
        }
        for unknown in overrides.settings[name, default: [:]].keys.sorted()
        where unknown != TopLevelSetting.kind && !kind.settings.contains(where: { $0.name == unknown }) {
            let suggestion = NearestName.suggestion(
                for: unknown,
                among: kind.settings.map(\.name),
                listing: "settings of \(kind.name)"
            )
            report(
                .code(key: SettingKey(section: name, name: unknown).description),
                "unknown setting of '\(name)'\(suggestion)"
            )
        }
        return BackendSettings(values, definitions: kind.settings)
    }

    private mutating func addKind(of name: String, kind: BackendKind, section: CheckedFile.Section?) {
        let key = SettingKey(section: name, name: TopLevelSetting.kind)
        let source: SettingSource
        if overrides.kindName(of: name) != nil {
            source = .code
        } else if let variable = kindVariable(of: name) {
            source = .environment(variable: variable)
        } else if let value = file?.values[key], let path = file?.path {
            source = .file(path: path, line: value.position.line)
        } else {
            source = .default
        }
        effectiveSettings.append(
            EffectiveSetting(backend: name, name: TopLevelSetting.kind, value: kind.name, source: source)
        )
    }

    /// The kind that code or the environment gives a backend. One that is named after a kind is of that kind.
    private func explicitKind(of name: String) -> String? {
        guard registry.kind(named: name) == nil else { return nil }
        return overrides.kindName(of: name)
            ?? layers.environmentText(SettingKey(section: name, name: TopLevelSetting.kind))
            ?? (sections[name] == nil ? defaults.kindName(of: name) : nil)
    }

    private func kindVariable(of name: String) -> String? {
        let key = SettingKey(section: name, name: TopLevelSetting.kind)
        guard overrides.kindName(of: name) == nil, layers.environmentText(key) != nil else { return nil }
        return layers.variable(of: key)
    }

    private mutating func reportUnknownKind(_ kindName: String, at location: ConfigurationMistake.Location) {
        let suggestion = NearestName.suggestion(for: kindName, among: registry.knownNames, listing: "known kinds")
        report(location, "unknown kind '\(SettingText.shortened(kindName))'\(suggestion)")
    }

    private mutating func reportUnknownBackend(_ item: ListItem) {
        guard !item.name.isEmpty else {
            return report(item.location, "'backends': expected a name, found an empty text")
        }
        let own = file?.sections.map(\.name).filter { !registry.knownNames.contains($0) } ?? []
        if item.name.contains(where: \.isWhitespace) {
            return report(
                item.location,
                "'backends': expected a name, found '\(SettingText.shortened(item.name))'; put commas between names"
            )
        }
        let suggestion = NearestName.suggestion(
            for: item.name,
            among: registry.knownNames + own,
            listing: "expected a section with a 'kind', or one of"
        )
        report(item.location, "unknown backend '\(SettingText.shortened(item.name))'\(suggestion)")
    }

    private mutating func warnAboutUnusedSections(_ list: ResolvedList) {
        guard let file, file.isReadable else { return }
        let reason: String
        switch list.source {
        case .file: reason = "'backends' does not list it"
        case .default where !list.items.isEmpty:
            reason = "without 'backends' there are only \(list.items.map(\.name).joined(separator: " and "))"
        default: return
        }
        let used = Set(list.items.map(\.name))
        for section in file.sections where !used.contains(section.name) {
            warnings.append(
                ConfigurationMistake(
                    file.location(section.position),
                    "the section '\(section.name)' is not used: \(reason)"
                )
            )
        }
    }

    // MARK: - Single values

    /// The value of a setting, `nil` when there is none or when it is wrong.
    private mutating func resolve(_ setting: BackendSetting, key: SettingKey) -> BackendSettingValue? {
        let (value, source) = strongestValue(of: setting, key: key)
        effectiveSettings.append(
            EffectiveSetting(
                backend: key.section,
                name: key.name,
                value: value?.configurationText,
                source: source
            )
        )
        return value
    }

    private mutating func strongestValue(
        of setting: BackendSetting,
        key: SettingKey
    ) -> (BackendSettingValue?, SettingSource) {
        if let value = overrides.value(key) { return (checked(value, for: setting, key: key), .code) }
        guard let found = layers.text(key) else {
            let value = defaults.value(key).flatMap { checked($0, for: setting, key: key) }
            return (value ?? setting.defaultValue, .default)
        }
        do {
            if let variable = found.variable {
                let text = SettingText(text: found.value, origin: .environment, environment: environment)
                let source = SettingSource.environment(variable: variable)
                do { return (try text.value(for: setting), source) } catch {
                    report(.environment(variable: variable), error.message)
                    return (nil, source)
                }
            }
            let text = SettingText(text: found.value, origin: .file(isQuoted: false), environment: environment)
            let line = file?.values[key]?.position.line ?? 1
            return (try? text.value(for: setting), .file(path: file?.path ?? "", line: line))
        }
    }

    private mutating func checked(
        _ value: BackendSettingValue,
        for setting: BackendSetting,
        key: SettingKey
    ) -> BackendSettingValue? {
        do {
            return try setting.checked(value, environment: environment)
        } catch {
            report(.code(key: key.description), error.message)
            return nil
        }
    }

    // MARK: - Lists

    private struct ListItem {
        var name: String
        var location: ConfigurationMistake.Location
    }

    private struct ResolvedList {
        var items: [ListItem]
        var source: SettingSource
    }

    private mutating func resolveList(_ name: String, default standard: [String]) -> ResolvedList {
        let list = strongestList(name, default: standard)
        effectiveSettings.append(
            EffectiveSetting(
                backend: nil,
                name: name,
                value: "[\(list.items.map(\.name).joined(separator: ", "))]",
                source: list.source
            )
        )
        return list
    }

    private mutating func strongestList(_ name: String, default standard: [String]) -> ResolvedList {
        if let names = overrides.list(name) {
            return list(names, at: .code(key: name), from: .code)
        }
        guard let found = layers.list(name) else {
            let names = file?.wrongKeys.contains(SettingKey(name: name)) == true ? [] : defaults.list(name) ?? standard
            return list(names, at: .code(key: name), from: .default)
        }
        if let variable = found.variable {
            return list(found.value, at: .environment(variable: variable), from: .environment(variable: variable))
        }
        guard let file, let list = file.lists[name] else { return ResolvedList(items: [], source: .default) }
        return ResolvedList(
            items: list.names.map { ListItem(name: $0.text, location: file.location($0.position)) },
            source: .file(path: file.path, line: list.position.line)
        )
    }

    private mutating func list(
        _ names: [String],
        at location: ConfigurationMistake.Location,
        from source: SettingSource
    ) -> ResolvedList {
        var items: [ListItem] = []
        var seen: Set<String> = []
        for name in names {
            if !seen.insert(name).inserted {
                report(location, "'\(SettingText.shortened(name))' is there more than once")
            } else {
                items.append(ListItem(name: name, location: location))
            }
        }
        return ResolvedList(items: items, source: source)
    }

    // MARK: -

    private mutating func report(_ location: ConfigurationMistake.Location, _ message: String) {
        mistakes.append(ConfigurationMistake(location, message))
    }

    /// Variables that look like settings and are none.
    mutating func warnAboutUnknownVariables() {
        var known: Set<String> = [ConfigurationFileLocator.variable]
        for name in TopLevelSetting.names { known.insert(layers.variable(of: SettingKey(name: name))) }
        var sections: [(name: String, kind: BackendKind)] = registry.kinds.map { ($0.name, $0) }
        for section in file?.sections ?? [] {
            if let kind = section.kindName.flatMap(registry.kind(named:)) { sections.append((section.name, kind)) }
        }
        for setting in effectiveSettings {
            guard let backend = setting.backend else { continue }
            known.insert(layers.variable(of: SettingKey(section: backend, name: setting.name)))
        }
        for (name, kind) in sections {
            for setting in kind.settings.map(\.name) + [TopLevelSetting.kind] {
                known.insert(layers.variable(of: SettingKey(section: name, name: setting)))
            }
        }
        let given = environment.filter { $0.key.hasPrefix(LayeredValues.prefix) && !$0.value.isEmpty }.keys
        for variable in given.sorted() where !known.contains(variable) {
            // Other programs may use the prefix, too, so only what looks like a slip is worth a word.
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
