import DisplayText

/// The contents of a config file: its values, each parsed once, their positions, and the mistakes.
struct FileValues {
    typealias Location = ConfigurationMistake.Location
    typealias ListItem = (name: String, location: Location)
    private typealias Entry = ConfigurationNode.Entry

    /// The section of a backend.
    struct Section {
        var location: Location
        /// Its kind, if known.
        var kindName: String?
        /// The location of its `kind`, if the file has it.
        var kindLocation: Location?
    }

    /// Stop after this many mistakes: a file with more is not a config file, and comparing names is slow.
    static let largestNumberOfMistakes = 1000

    let path: String
    /// The text; `nil` if the file could not be read.
    let text: String?
    /// Whether the whole file could be read; if not, what seems to be missing may be in the unread part.
    private(set) var isComplete = true
    private(set) var values: [SettingKey: (value: BackendSettingValue, location: Location)] = [:]
    /// The names in `backends` and `observe`, with their locations.
    private(set) var lists: [String: [ListItem]] = [:]
    private(set) var sections: [String: Section] = [:]
    /// The settings and sections that are present but invalid; their mistakes were reported.
    private(set) var wrong: Set<SettingKey> = []
    private(set) var mistakes: [ConfigurationMistake] = []
    private(set) var warnings: [ConfigurationMistake] = []

    private let source: ConfigurationSource

    private var registry: BackendRegistry { source.registry }

    /// Reads a file.
    init(path: String, source: ConfigurationSource) {
        do {
            self.init(text: try ConfigurationFileContents(path: path).text, path: path, source: source)
        } catch {
            self.init(text: nil, path: path, source: source)
            isComplete = false
            var message = error.message
            if error.position == nil, source.givenFile?.isVariable == true {
                message += "; the path is from the environment variable \(ConfigurationSource.fileVariable)"
            }
            mistakes = [ConfigurationMistake(error.position.map(location) ?? .wholeFile(path: path), message)]
        }
    }

    /// Reads a text as the contents of a file.
    init(text: String?, path: String, source: ConfigurationSource) {
        self.text = text
        self.path = path
        self.source = source
        read(ConfigurationDocument(text ?? "", isJSON: path.hasSuffix(".json")))
    }

    private func location(_ position: TextPosition) -> Location {
        .file(path: path, line: position.line, column: position.column)
    }

    private mutating func report(_ position: TextPosition, _ message: String, of key: SettingKey? = nil) {
        mistakes.append(ConfigurationMistake(location(position), message))
        if let key { wrong.insert(key) }
    }

    private mutating func read(_ document: ConfigurationDocument) {
        for problem in document.problems.prefix(Self.largestNumberOfMistakes) {
            report(problem.position, problem.message)
        }
        guard let root = document.root else { return isComplete = document.problems.isEmpty }
        if root.isNothing { return }
        guard case .section(let entries) = root.content else {
            isComplete = false
            var found = root.kind
            // Without what follows, which may be a secret.
            if case .scalar(let text, _) = root.content, let colon = text.firstIndex(of: ":"),
                !text[..<colon].contains(where: \.isWhitespace)
            {
                found = "'\(QuotedText.shortened(String(text[...colon])))…'; put a space after the ':'"
            }
            return report(root.position, "expected 'key: value' lines, found \(found)")
        }
        for entry in entries {
            guard mistakes.count < Self.largestNumberOfMistakes else { return isComplete = false }
            read(entry)
        }
    }

    private mutating func read(_ entry: Entry) {
        let key = SettingKey(name: entry.name)
        if let setting = TopLevelSetting.all(in: registry).first(where: { $0.name == entry.name }) {
            readValue(entry, setting, key)
        } else if registry.reasonForMissing(entry.name) != nil {
            // Without the kind, its settings are not known.
            sections[entry.name] = Section(location: location(entry.position), kindName: entry.name)
        } else {
            readSection(entry, key)
        }
    }

    // MARK: - Values

    private mutating func readValue(_ entry: Entry, _ setting: SettingDefinition, _ key: SettingKey) {
        switch setting.type {
        case .choices, .names: return readList(entry, setting, key)
        case .strings where entry.value.items != nil: return readList(entry, setting, key)
        default: break
        }
        let position = entry.value.position
        let isText = [.string, .strings, .path].contains(setting.type)
        let expected = setting.type.expectation
        guard let scalar = scalar(entry, expecting: expected, isText: isText, isSecret: setting.isSecret) else {
            wrong.insert(key)
            return
        }
        let origin = SettingText.Origin.file(isQuoted: scalar.isQuoted)
        do {
            let text = SettingText(text: scalar.text, origin: origin, environment: source.environment)
            values[key] = (try text.value(for: setting), location(position))
        } catch {
            report(position, "'\(entry.name)': \(error.message)", of: key)
        }
    }

    /// The scalar that an entry must have as its value.
    ///
    /// - Parameter isSecret: whether messages must not quote it, in whatever way YAML reads it.
    private mutating func scalar(
        _ entry: Entry,
        expecting expected: String,
        isText: Bool = false,
        isSecret: Bool = false
    ) -> (text: String, isQuoted: Bool)? {
        let value = entry.value
        if let tag = value.tag {
            let found =
                isSecret
                ? "a value that begins with '!' must be in quotes" : "the type '\(tag)' is not supported; remove it"
            report(value.position, "'\(entry.name)': \(found)")
            return nil
        }
        var found = value.kind
        let isInline = value.position.line == entry.position.line
        switch value.content {
        case .scalar("", isQuoted: false): found = "nothing after '\(entry.name):'"
        case .scalar(let text, _) where value.isNothing:
            let hint = isText ? "; put it in quotes to use it as a string" : ""
            found = "'\(text)', an empty value\(hint)"
        case .scalar where value.isAlias:
            if isSecret { found = "an alias" } else if isText { found += Self.quotes(around: "*") }
        case .scalar(let text, let isQuoted): return (text, isQuoted)
        case .list where isInline: if isText { found += Self.quotes(around: "[") }
        case .section where isInline: if isText { found += Self.quotes(around: "{") }
        case .list, .section: break
        }
        report(entry.placeOfValue, "'\(entry.name)': expected \(expected), found \(found)")
        return nil
    }

    private static func quotes(around first: Character) -> String {
        "; put quotes around a string that begins with '\(first)'"
    }

    /// Reads the value of a setting that is a list. The builder resolves names.
    private mutating func readList(_ entry: Entry, _ setting: SettingDefinition, _ key: SettingKey) {
        // The only word that needs no list.
        let isAutomatic =
            entry.name == TopLevelSetting.backendsName && entry.value.text == AutomaticBackends.name
        guard let items = isAutomatic ? [entry.value] : entry.value.items else {
            let found = entry.value.isNothing ? "nothing; write [] for none" : entry.value.kind
            return report(
                entry.placeOfValue,
                "'\(entry.name)': expected a list such as [\(setting.exampleWords)], found \(found)",
                of: key
            )
        }
        var texts: [(text: String, position: TextPosition)] = []
        var seen: Set<String> = []
        for item in items {
            guard let text = item.text else {
                let expected = setting.type == .strings ? "a string" : "a name"
                report(item.position, "'\(entry.name)': expected \(expected), found \(item.tag ?? item.kind)", of: key)
                continue
            }
            if !seen.insert(text).inserted, setting.type != .strings {
                report(item.position, "'\(QuotedText.shortened(text))' is duplicated in '\(entry.name)'")
            } else {
                texts.append((text, item.position))
            }
        }
        if setting.type != .names, !wrong.contains(key) {
            for (index, failure) in SettingText.problems(in: texts.map(\.text), of: setting) {
                let position = texts.isEmpty ? entry.value.position : texts[index].position
                report(position, "'\(entry.name)': \(failure.message)", of: key)
            }
        }
        let isNames = setting.type == .names
        // The other names are checked, too.
        guard isNames || !wrong.contains(key) else { return }
        values[key] = (.list(texts.map(\.text)), location(isNames ? entry.position : entry.value.position))
        if isNames { lists[entry.name] = texts.map { ($0.text, location($0.position)) } }
    }

    // MARK: - Sections

    /// Reads a section that is named after its kind, or has another name and a `kind`.
    private mutating func readSection(_ entry: Entry, _ key: SettingKey) {
        let isKind = registry.kind(named: entry.name) != nil
        let stronger = isKind ? entry.name : source.strongerKind(of: entry.name)?.name
        var section = Section(location: location(entry.position), kindName: stronger)
        if isKind { sections[entry.name] = section }
        guard case .section(let entries) = entry.value.content, entry.value.tag == nil || !isKind else {
            guard isKind else { return report(entry.position, unknownKey(entry)) }
            if entry.value.isNothing, entry.value.tag == nil { return }
            var found = entry.value.tag.map { "the type '\($0)'" } ?? entry.value.kind
            // It may be a setting without the space: `password:secret`.
            if hasSecret(entry.name), case .scalar = entry.value.content {
                found = "a text; put a space after each ':'"
            }
            let expected = "a section with the settings of \(entry.name)"
            return report(entry.value.position, "'\(entry.name)': expected \(expected), found \(found)", of: key)
        }
        let expected = isKind ? "'\(entry.name)'" : "the name of a kind"
        if let kind = entries.first(where: { $0.name == TopLevelSetting.kind }) {
            guard let name = scalar(kind, expecting: expected)?.text else {
                if !isKind { wrong.insert(key) }
                return
            }
            if isKind, name != entry.name {
                let hint = "give one of kind '\(QuotedText.shortened(name))' another name"
                let message = "'kind': a section named '\(entry.name)' is of that kind; \(hint)"
                return report(kind.value.position, message, of: key)
            }
            guard registry.knownNames.contains(name) || source.mayBeOfApp(name) else {
                return report(kind.value.position, registry.unknownKind(name), of: key)
            }
            section.kindLocation = location(kind.value.position)
            section.kindName = stronger ?? name
        } else if stronger == nil, !source.mayBeOfApp(entry.name) {
            let name = QuotedText.shortened(entry.name)
            if let nearest = NearestName.find(for: entry.name, among: TopLevelSetting.names + registry.knownNames) {
                return report(entry.position, "unknown key '\(name)', did you mean '\(nearest)'?")
            }
            let expected = "expected the name of a kind as the section's name or as its 'kind'"
            let known = NearestName.suggestion(for: entry.name, among: registry.knownNames, listing: expected)
            return report(entry.position, "the section '\(name)' has no 'kind'\(known)", of: key)
        }
        guard SectionName.isValid(entry.name) else {
            let name = QuotedText.shortened(entry.name)
            let message = "'\(name)' cannot name a backend; expected \(SectionName.expectation)"
            return report(entry.position, message, of: key)
        }
        sections[entry.name] = section
        guard let kind = section.kindName.flatMap(registry.kind(named:)) else { return }
        for setting in entries where setting.name != TopLevelSetting.kind {
            guard mistakes.count < Self.largestNumberOfMistakes else { return isComplete = false }
            readSetting(setting, in: entry.name, kind)
        }
    }

    private mutating func readSetting(_ entry: Entry, in section: String, _ kind: BackendKind) {
        if let setting = kind.settings.first(where: { $0.name == entry.name }) {
            return readValue(entry, setting, SettingKey(section: section, name: entry.name))
        }
        let known = kind.settings.map(\.name) + [TopLevelSetting.kind]
        let suggestion = NearestName.suggestion(for: entry.name, among: known, listing: "settings of \(kind.name)")
        report(entry.position, "unknown key '\(QuotedText.shortened(entry.name))' in '\(section)'\(suggestion)")
    }

    private func hasSecret(_ kind: String) -> Bool {
        registry.kind(named: kind)?.settings.contains(where: \.isSecret) == true
    }

    private func unknownKey(_ entry: Entry) -> String {
        let message = "unknown key '\(QuotedText.shortened(entry.name))'"
        let parts = entry.name.split(separator: ".", maxSplits: 1).map(String.init)
        if parts.count == 2, registry.knownNames.contains(parts[0]) {
            let value = hasSecret(parts[0]) ? nil : entry.value.text
            let section = QuotedText.shortened("\(parts[0]): {\(parts[1]): \(value ?? "…")}")
            return "\(message); the settings of a backend are in its section: write '\(section)'"
        }
        let candidates = TopLevelSetting.names + registry.knownNames
        return message + NearestName.suggestion(for: entry.name, among: candidates, listing: "known keys")
    }
}

extension SettingDefinition {
    /// Two elements of a list, for messages.
    fileprivate var exampleWords: String {
        if case .choices(let choices) = type { return choices.prefix(2).joined(separator: ", ") }
        return if case .list(let names) = example { names.joined(separator: ", ") } else { "" }
    }
}

extension BackendRegistry {
    /// The message about a kind that is neither registered nor known to be missing in this build.
    func unknownKind(_ name: String) -> String {
        let suggestion = NearestName.suggestion(for: name, among: knownNames, listing: "known kinds")
        return "unknown kind '\(QuotedText.shortened(name))'\(suggestion)"
    }
}
