import DisplayText
import Foundation
import IndicatorCore
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
    /// The names of sections with a kind, of which messages suggest one; not all of them, for each has a cost.
    private lazy var namedSections = Array(
        file.keys.sorted().lazy.filter { [file] name in
            SectionName.isValid(name) && file[name]?.entries?[ConfigurationValues.kindName] != nil
        }.prefix(20)
    )
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
                let isOfPath = mistake.location == .file(path: path, nil) && source.givenFile?.isVariable == true
                report(mistake.location, mistake.message + (isOfPath ? remark : ""))
            }
        }
    }

    mutating func read() -> IndicatorConfiguration {
        var values = ConfigurationValues.standard(in: registry)
        var reader = reader(of: nil)
        values.read(&reader)
        finish(reader)
        // The last one of them.
        let (list, names) = (reader.settings.last, values.backends ?? [])
        let backends = backends(names, list, isAccessible: values.isAccessible == true)
        checkRest(backends.map(\.name), listed: names, at: list?.location)
        checkVariables()
        return IndicatorConfiguration(
            file: path,
            values: values,
            backends: backends,
            settings: settings,
            warnings: warnings.inReadingOrder
        )
    }

    /// Where the section of a backend is.
    private func place(of name: String) -> Location? { file[name]?.keyPlace }

    private mutating func report(_ location: Location, _ message: String) {
        mistakes.append(ConfigurationMistake(location, message))
    }

    /// What reads a section; `nil` for the top level.
    private func reader(of section: String?, isUsed: Bool = true) -> SettingsReader {
        var reader = SettingsReader()
        (reader.section, reader.isUsed, reader.environment) = (section, isUsed, source.environment)
        reader.entries = section.map { file[$0]?.entries ?? [:] } ?? file
        func values(_ values: ConfigurationValues) -> [String: SettingValue] {
            section.map { values.settings[$0] ?? [:] } ?? values.recorded.values
        }
        (reader.overrides, reader.defaults) = (values(source.overrides), values(source.defaults))
        return reader
    }

    private mutating func finish(_ reader: SettingsReader) {
        mistakes += reader.mistakes
        warnings += reader.warnings
        if reader.isUsed { settings += reader.settings }
    }

    // MARK: - Backends

    private mutating func backends(_ names: [String], _ list: Setting?, isAccessible: Bool) -> [Backend] {
        var backends: [Backend] = []
        for (index, name) in names.enumerated() {
            let origin = list?.location ?? .code(key: ConfigurationValues.backendsName)
            let place = list.flatMap { $0.places.isEmpty ? nil : $0.places[index] } ?? origin
            let isAutomatic = name == AutomaticFit.name
            // By the user: what the app proposes is not worth a warning where there is no surface for it.
            let isNamed = list?.location != nil && !isAutomatic
            let chosen = isAutomatic ? automatic.filter(\.fit.isChosen).map(\.kind) : [name]
            for name in chosen where !isAutomatic || !names.contains(name) {
                guard var backend = backend(name, place, isUsed: true) else { continue }
                backend.context.logger = source.logger(ofNamed: isNamed)
                (backend.context.isAccessible, backend.context.isNamed) = (isAccessible, isNamed)
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
        var reader = reader(of: name, isUsed: isUsed)
        let configured = kind.configured(&reader)
        finish(reader)
        if isUsed, !isSectionWrong, isReadable {
            for setting in reader.missing {
                report(self.place(of: name) ?? place, "'\(name)' needs '\(setting.name)', \(setting.expectation)")
            }
        }
        let known = reader.settings.map(\.name) + [ConfigurationValues.kindName]
        let listing = "settings of \(kind.name)"
        func suggestion(_ name: String) -> String { NearestName.suggestion(for: name, among: known, listing: listing) }
        for (key, node) in reader.entries where !known.contains(key) {
            report(node.keyPlace, "unknown key \(QuotedText.name(key)) in '\(name)'\(suggestion(key))")
        }
        for key in [reader.overrides, reader.defaults].flatMap(\.keys) where !known.contains(key) {
            report(.code(key: "\(name).\(key)"), "unknown setting of '\(name)'\(suggestion(key))")
        }
        if isUsed, !reader.isComplete { return nil }
        let (context, location) = (context(name), self.place(of: name) ?? place)
        return Backend(context: context, kind: kind, values: reader.values, configured: configured, location: location)
    }

    /// The kind of a backend: the one that it is named after, or the one that is given.
    private mutating func kind(of name: String, at place: Location, isUsed: Bool) -> BackendKind? {
        let section = file[name]
        let inFile = section?.entries?[ConfigurationValues.kindName]
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
        reader.read(ConfigurationValues.kindName, &given, .text, summary: "the kind of the section")
        let (kindName, origin) = (given ?? name, reader.settings[0].location)
        if let kind = registry.kind(named: kindName) {
            if SectionName.isValid(name) {
                if isUsed { settings += reader.settings }
                return kind
            }
            let message = "'\(QuotedText.shortened(name))' cannot name a backend; \(SectionName.expectation)"
            report(self.place(of: name) ?? place, message)
        } else if let reason = registry.missing[kindName] {
            // Without the kind, its settings are not known.
            if isUsed { report(place, "the backend '\(name)' cannot be used: \(reason)") }
        } else if mayBeOfApp(kindName), section == nil || section?.entries != nil {
            let message = "the backend \(QuotedText.name(kindName)) is unknown here; the app may have it"
            warnings.append(ConfigurationMistake(origin ?? place, message))
        } else if given != nil {
            let place = origin ?? .code(key: "\(name).\(ConfigurationValues.kindName)")
            report(place, unknown("kind", kindName, among: registry.names, listing: "known kinds"))
        } else if isReadable {
            report(place, isUsed || section == nil ? unknownBackend(name) : unknownKey(name))
        }
        return nil
    }

    /// Whether an unknown kind may be one of the app's own: it is a name, and no misspelled one.
    private func mayBeOfApp(_ kind: String) -> Bool {
        let known = ConfigurationValues.names + registry.names + registry.missingNames
        return source.acceptsKindsOfApps && SectionName.isValid(kind)
            && NearestName.find(for: kind, among: known) == nil
    }

    private func unknown(_ noun: String, _ name: String, among names: [String], listing: String) -> String {
        let missing = registry.missingNames
        return "unknown \(noun) \(QuotedText.name(name))"
            + NearestName.suggestion(for: name, among: names, unlisted: missing, listing: listing)
    }

    private mutating func unknownBackend(_ name: String) -> String {
        let listing = "expected a section with a 'kind', or one of"
        return unknown("backend", name, among: registry.names + namedSections, listing: listing)
    }

    private func unknownKey(_ name: String) -> String {
        let message = "unknown key \(QuotedText.name(name))"
        let parts = name.split(separator: ".").map(String.init)
        if parts.count == 2, registry.names.contains(parts[0]), SectionName.isValid(parts[1]) {
            return "\(message); write '\(parts[0]): {\(parts[1]): …}'"
        }
        let owner = registry.kinds.first { file[$0.name] != nil && $0.settings.contains { $0.name == name } }
        if let owner { return "\(message); it is a setting of '\(owner.name)', below which it must be indented" }
        let listing = "it is no section with a 'kind', and known keys are"
        return unknown("key", name, among: ConfigurationValues.names + registry.names, listing: listing)
    }

    // MARK: - Warnings

    /// Checks the sections of the file, and of code, that no backend uses.
    private mutating func checkRest(_ used: [String], listed: [String], at origin: Location?) {
        var unused: [ConfigurationMistake] = []
        let inCode = [source.overrides, source.defaults].flatMap(\.settings.keys)
        let sections = Set(file.keys).subtracting(ConfigurationValues.names)
        for name in sections.union(inCode).subtracting(used) {
            let (place, before) = (place(of: name) ?? .code(key: name), warnings)
            let unlisted = backend(name, place, isUsed: false)
            // Where it is listed, there is one already.
            if listed.contains(name) { warnings = before }
            guard let unlisted, sections.contains(name) else { continue }
            // What fits elsewhere may have a section.
            let isAutomatic = unlisted.kind.name == name && unlisted.configured.fit != nil
            if listed.contains(AutomaticFit.name), isAutomatic { continue }
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
