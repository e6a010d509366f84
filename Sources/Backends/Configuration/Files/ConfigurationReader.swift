import IndicatorCore
import Foundation
import Logging

/// Reads a configuration: code over environment over file over defaults.
///
/// An invalid value is reported and ignored, so that the next weaker layer applies; without another address than the
/// default, a backend with a wrong one is not used. Everything in the file is checked, used or not.
struct ConfigurationReader {
    private typealias Location = ConfigurationMistake.Location
    private typealias Backend = IndicatorConfiguration.Backend

    private let source: ConfigurationSource
    /// The path of the file, if there is one.
    private let path: String?
    /// What the file has at its top level.
    private var file: [String: ConfigurationNode] = [:]
    /// Whether the file could be read; otherwise, what seems to be missing may be in it.
    private var isReadable = true

    private(set) var mistakes: [ConfigurationMistake] = []
    private var warnings: [ConfigurationMistake] = []
    private var settings: [Setting] = []

    private var registry: BackendRegistry { source.registry }

    /// Reads a file, or a text as its contents.
    init(_ source: ConfigurationSource, text: String? = nil, path: String?) {
        (self.source, self.path) = (source, path)
        guard let path else { return }
        do throws(ConfigurationError) {
            let text = if let text { text } else { try ConfigurationFile.text(at: path) }
            guard let root = try ConfigurationNode.root(of: text, path: path), !root.isNothing else { return }
            guard let entries = root.entries else {
                let found = root.text.flatMap { $0.contains(":") ? QuotedText.name($0) : nil } ?? root.kind
                throw ConfigurationError(root.place, "expected lines such as 'startDelay: 1', found \(found)")
            }
            file = entries
        } catch {
            isReadable = false
            let remark = "; the path is from the environment variable \(ConfigurationSource.fileVariable)"
            for mistake in error.mistakes {
                let isOfPath =
                    mistake.location == .file(path: path, nil) && source.path == nil && source.givenPath == path
                report(mistake.location, mistake.message + (isOfPath ? remark : ""))
            }
        }
    }

    mutating func read() -> IndicatorConfiguration {
        var reader = reader(of: nil)
        var configuration = IndicatorConfiguration(&reader, in: registry)
        finish(reader, isUsed: true)
        // The last one of them.
        let list = reader.settings.last
        configuration.backends = backends(configuration, at: list?.places ?? [], isOfUser: list?.location != nil)
        checkRest(configuration, at: list?.location)
        checkVariables()
        (configuration.file, configuration.settings) = (path, settings)
        configuration.warnings = warnings.inReadingOrder
        return configuration
    }

    /// Where the section of a backend is.
    private func place(of name: String) -> Location? { file[name]?.keyPlace }

    private mutating func report(_ location: Location, _ message: String) {
        mistakes.append(ConfigurationMistake(location, message))
    }

    /// What reads a section; `nil` for the top level.
    private func reader(of section: String?) -> SettingsReader {
        var reader = SettingsReader(section: section, entries: section.map { file[$0]?.entries ?? [:] } ?? file)
        (reader.overrides, reader.defaults) = (source.overrides, source.defaults)
        reader.environment = source.environment
        return reader
    }

    private mutating func finish(_ reader: SettingsReader, isUsed: Bool) {
        mistakes += reader.mistakes
        warnings += reader.warnings
        if isUsed { settings += reader.settings }
    }

    /// The full names of what code sets, and the part of one before the dot.
    private var codeKeys: [String] { Array(source.overrides.keys) + source.defaults.keys }
    private func section(of key: String) -> String { String(key.prefix { $0 != "." }) }

    // MARK: - Backends

    private mutating func backends(_ own: IndicatorConfiguration, at places: [Location], isOfUser: Bool) -> [Backend] {
        var backends: [Backend] = []
        for (index, name) in own.names.enumerated() {
            let place = places.isEmpty ? .code(key: IndicatorConfiguration.listName) : places[index]
            let isAutomatic = name == AutomaticFit.name
            // By the user: what the app proposes is not worth a warning where there is no surface for it.
            let isNamed = isOfUser && !isAutomatic
            let chosen = isAutomatic ? automatic.filter(\.fit.isChosen).map(\.kind) : [name]
            for name in chosen where !isAutomatic || !own.names.contains(name) {
                guard var backend = backend(name, place, isUsed: true) else { continue }
                backend.context.logger = source.logger(ofNamed: isNamed)
                (backend.context.isAccessible, backend.context.isNamed) = (own.isAccessible, isNamed)
                backends.append(backend)
            }
        }
        return backends
    }

    private func context(_ name: String) -> BackendContext {
        let (app, logger) = (source.applicationName, source.logger)
        return BackendContext(name: name, applicationName: app, logger: logger, environment: source.environment)
    }

    /// What `backends: auto` stands for.
    var automatic: [(kind: String, fit: AutomaticFit)] {
        let fits = registry.kinds.compactMap { kind in
            var reader = reader(of: kind.name)
            return kind.configured(&reader).fit.map { (kind: kind.name, fit: $0(context(kind.name))) }
        }
        let replaced = fits.filter(\.fit.isChosen).reduce(into: [:]) { $0.merge($1.fit.replaced) { first, _ in first } }
        return fits.map { kind, fit in (kind, replaced[kind].map { AutomaticFit(false, $0) } ?? fit) }
    }

    /// Checks a backend; `nil` if it is invalid.
    ///
    /// - Parameters:
    ///   - place: where it is named; of one that is not used, where its settings are.
    ///   - isUsed: whether it is listed.
    private mutating func backend(_ name: String, _ place: Location, isUsed: Bool) -> Backend? {
        let before = mistakes.count
        guard let kind = kind(of: name, at: place, isUsed: isUsed) else { return nil }
        let isSectionWrong = mistakes.count > before
        var reader = reader(of: name)
        let configured = kind.configured(&reader)
        finish(reader, isUsed: isUsed)
        if isUsed, !isSectionWrong, isReadable {
            for setting in reader.missing {
                report(self.place(of: name) ?? place, "'\(name)' needs '\(setting.name)', \(setting.expectation)")
            }
        }
        let known = reader.settings.map(\.name) + [IndicatorConfiguration.kindName]
        let inCode = codeKeys.filter { section(of: $0) == name }
        let given =
            reader.entries.map { ($0, $1.keyPlace) }
            + inCode.map { (String($0.dropFirst(name.count + 1)), .code(key: $0)) }
        for (key, place) in given where !known.contains(key) {
            report(
                place,
                "unknown key \(QuotedText.name(key)) in '\(name)'"
                    + NearestName.suggestion(for: key, among: known, listing: "settings of \(kind.name)")
            )
        }
        if isUsed, !reader.isComplete { return nil }
        let (context, location) = (context(name), self.place(of: name) ?? place)
        return Backend(context: context, kind: kind, values: reader.values, configured: configured, location: location)
    }

    /// The kind of a backend: the one that it is named after, or the one that is given.
    private mutating func kind(of name: String, at place: Location, isUsed: Bool) -> BackendKind? {
        let section = file[name]
        let inFile = section?.entries?[IndicatorConfiguration.kindName]
        let own = registry.kind(named: name)
        if let inFile, inFile.text == nil || own != nil && inFile.text != name {
            let fault = "a section named '\(name)' is of that kind; give the other one another name"
            let message = inFile.text == nil ? "expected the name of a kind, found \(inFile.kind)" : fault
            report(inFile.place, "'kind': \(message)")
            return nil
        }
        if let own {
            if let section, section.entries == nil, !section.isNothing {
                let expected = "a section with the settings of \(name)"
                report(section.place, "'\(name)': expected \(expected), found \(section.kind)")
            }
            return own
        }
        var (reader, given) = (reader(of: name), String?.none)
        reader.read(IndicatorConfiguration.kindName, &given, .text, summary: "the kind of the section")
        let (kindName, origin) = (given ?? name, reader.settings[0].location)
        let others = IndicatorConfiguration.topLevelNames + registry.names + registry.missingNames
        let isSection = section == nil || section?.entries != nil
        let isMisspelled = NearestName.find(for: kindName, among: others) != nil
        if let kind = registry.kind(named: kindName) {
            if name.isSectionName {
                if isUsed { settings += reader.settings }
                return kind
            }
            let expected = "expected letters, digits, '-' and '_' after a letter, and not 'auto'"
            let message = "'\(QuotedText.shortened(name))' cannot name a backend; \(expected)"
            report(self.place(of: name) ?? place, message)
        } else if let reason = registry.missing[kindName] {
            // Without the kind, its settings are not known.
            if isUsed { report(place, "the backend '\(name)' cannot be used: \(reason)") }
        } else if source.acceptsKindsOfApps, kindName.isSectionName, !isMisspelled, isSection {
            let message = "the backend \(QuotedText.name(kindName)) is unknown here; the app may have it"
            warnings.append(ConfigurationMistake(origin ?? place, message))
        } else if given != nil {
            let place = origin ?? .code(key: "\(name).\(IndicatorConfiguration.kindName)")
            report(place, unknown("kind", kindName, among: registry.names, listing: "known kinds"))
        } else if isReadable {
            report(place, isUsed ? unknownBackend(name) : unknownKey(name))
        }
        return nil
    }

    private func unknown(_ noun: String, _ name: String, among names: [String], listing: String) -> String {
        let missing = registry.missingNames
        return "unknown \(noun) \(QuotedText.name(name))"
            + NearestName.suggestion(for: name, among: names, unlisted: missing, listing: listing)
    }

    private func unknownBackend(_ name: String) -> String {
        let listing = "expected a section with a 'kind', or one of"
        // Not all of them, for each has a cost.
        let sections = file.filter { $0.key.isSectionName && $0.value.entries?[IndicatorConfiguration.kindName] != nil }
        return unknown("backend", name, among: registry.names + sections.keys.sorted().prefix(20), listing: listing)
    }

    private func unknownKey(_ name: String) -> String {
        let message = "unknown key \(QuotedText.name(name))"
        let parts = name.split(separator: ".").map(String.init)
        if parts.count == 2, registry.names.contains(parts[0]), parts[1].isSectionName {
            return "\(message); write '\(parts[0]): {\(parts[1]): …}'"
        }
        let owner = registry.kinds.first { file[$0.name] != nil && $0.settings.contains { $0.name == name } }
        if let owner { return "\(message); it is a setting of '\(owner.name)', below which it must be indented" }
        let listing = "it is no section with a 'kind', and known keys are"
        return unknown("key", name, among: IndicatorConfiguration.topLevelNames + registry.names, listing: listing)
    }

    // MARK: - Warnings

    /// Checks the sections of the file, and of code, that no backend uses.
    private mutating func checkRest(_ configuration: IndicatorConfiguration, at origin: Location?) {
        var unused: [ConfigurationMistake] = []
        let inCode = codeKeys.filter { !IndicatorConfiguration.topLevelNames.contains($0) }.map(section)
        let sections = Set(file.keys).subtracting(IndicatorConfiguration.topLevelNames)
        for name in sections.union(inCode).subtracting(configuration.backends.map(\.name)) {
            let (place, before) = (place(of: name) ?? .code(key: name), warnings)
            let unlisted = backend(name, place, isUsed: false)
            // Where it is listed, there is one already.
            if configuration.names.contains(name) { warnings = before }
            guard let unlisted, sections.contains(name) else { continue }
            // What fits elsewhere may have a section.
            let isAutomatic = unlisted.kind.name == name && unlisted.configured.fit != nil
            if configuration.names.contains(AutomaticFit.name), isAutomatic { continue }
            let message = "the section '\(name)' is not used; to use it, list it in 'backends'"
            unused.append(ConfigurationMistake(place, message))
        }
        // A list in a variable or in code may be for one run; with mistakes, it may be another one.
        if case .file = origin ?? .file(path: "", nil), mistakes.isEmpty { warnings += unused }
    }

    /// Warns of variables that have no effect and nearly the name of one that would have.
    private mutating func checkVariables() {
        let prefix = Setting.variablePrefix
        let given = source.environment.keys.filter { $0.hasPrefix(prefix) && $0 != ConfigurationSource.fileVariable }
        var known = Set(settings.map(\.variable))
        guard !known.isSuperset(of: given) else { return }
        known.formUnion(registry.kinds.flatMap(\.settings).map(\.variable))
        let names = known.map { String($0.dropFirst(prefix.count)) }.sorted()
        for variable in given where !known.contains(variable) {
            let nearest = NearestName.find(for: String(variable.dropFirst(prefix.count)), among: names)
            guard let nearest else { continue }
            let message = "there is no such setting, did you mean \(prefix)\(nearest)?"
            warnings.append(ConfigurationMistake(.environment(variable: variable), message))
        }
    }
}
