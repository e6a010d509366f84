import DisplayText

/// The contents of a config file: its values, each parsed once, their positions, and the mistakes.
struct FileValues {
    typealias Location = ConfigurationMistake.Location
    private typealias Entry = ConfigurationNode.Entry

    /// The value of a setting.
    struct Value {
        var value: BackendSettingValue
        var location: Location
        /// The locations of the elements of a list.
        var places: [Location] = []
    }

    /// The section of a backend.
    struct Section {
        var location: Location
        /// Its kind, if it is not named after it, and where that is given.
        var kind: (name: String, location: Location)?
    }

    let path: String
    /// Whether the file could be read; otherwise, what seems to be missing may be in it.
    private(set) var isReadable = true
    private(set) var values: [SettingKey: Value] = [:]
    private(set) var sections: [String: Section] = [:]
    /// The settings and sections that are present but invalid; their mistakes were reported.
    private(set) var wrong: Set<SettingKey> = []
    private(set) var mistakes: [ConfigurationMistake] = []

    private let source: ConfigurationSource

    private var registry: BackendRegistry { source.registry }

    /// Reads a file.
    init(path: String, source: ConfigurationSource) {
        do {
            self.init(text: try ConfigurationFileContents(path: path).text, path: path, source: source)
        } catch {
            self.init(text: nil, path: path, source: source)
            isReadable = false
            var message = error.message
            if error.position == nil, source.givenFile?.isVariable == true {
                message += "; the path is from the environment variable \(ConfigurationSource.fileVariable)"
            }
            mistakes = [ConfigurationMistake(error.position.map(location) ?? .wholeFile(path: path), message)]
        }
    }

    /// Reads a text as the contents of a file.
    init(text: String?, path: String, source: ConfigurationSource) {
        self.path = path
        self.source = source
        let document = ConfigurationDocument(text ?? "", isJSON: path.hasSuffix(".json"))
        for problem in document.problems { report(problem.position, problem.message) }
        if case .section(let entries)? = document.root?.content {
            for entry in entries { read(entry) }
        } else if let root = document.root, !root.isNothing {
            var found = root.kind
            if case .scalar(let text, _) = root.content, let colon = text.firstIndex(of: ":") {
                // Without what follows, which may be a secret, but with a space that is none.
                let next = text[text.index(after: colon)...].prefix(1).filter(\.isWhitespace)
                found = "'\(QuotedText.shortened(String(text[...colon]) + next))…'"
            }
            report(root.position, "expected lines such as 'startDelay: 1', found \(found)")
            isReadable = false
        } else {
            isReadable = document.problems.isEmpty
        }
    }

    private func location(_ position: TextPosition) -> Location {
        .file(path: path, line: position.line, column: position.column)
    }

    private mutating func report(_ position: TextPosition, _ message: String, of key: SettingKey? = nil) {
        mistakes.append(ConfigurationMistake(location(position), message))
        if let key { wrong.insert(key) }
    }

    private mutating func read(_ entry: Entry) {
        if let setting = TopLevelSetting.all(in: registry).first(where: { $0.name == entry.name }) {
            readValue(entry, setting, SettingKey(name: entry.name))
        } else if registry.reasonForMissing(entry.name) != nil {
            // Without the kind, its settings are not known.
            sections[entry.name] = Section(location: location(entry.position))
        } else {
            readSection(entry, SettingKey(name: entry.name))
        }
    }

    // MARK: - Values

    private mutating func readValue(_ entry: Entry, _ setting: SettingDefinition, _ key: SettingKey) {
        let value = entry.value
        if let text = value.text {
            do {
                let result = try setting.value(of: text, in: source.environment)
                values[key] = Value(value: result, location: location(value.position))
            } catch {
                report(value.position, "'\(entry.name)': \(error)", of: key)
            }
        } else if setting.type.isList, let items = value.items {
            readList(items, entry, setting, key)
        } else {
            let isInline = value.position.line == entry.position.line && !value.isEmpty
            let hint = setting.type.isText && isInline ? "; put a text like this in quotes" : ""
            let message = "'\(entry.name)': expected \(setting.type.expectation), found \(value.kind)\(hint)"
            report(value.isEmpty ? entry.position : value.position, message, of: key)
        }
    }

    /// Reads a list, of which nothing is split. The builder resolves names.
    private mutating func readList(
        _ items: [ConfigurationNode],
        _ entry: Entry,
        _ setting: SettingDefinition,
        _ key: SettingKey
    ) {
        for item in items where item.text == nil {
            report(item.position, "'\(entry.name)': expected a text, found \(item.kind)", of: key)
        }
        var elements = items.compactMap { item in item.text.map { (text: $0, position: item.position) } }
        let faults = setting.faults(in: elements.map(\.text))
        for (index, fault) in faults.reversed() {
            report(elements.remove(at: index).position, "'\(entry.name)': \(fault)", of: key)
        }
        // Of names, the others are used, and checked.
        guard setting.type == .names || !wrong.contains(key) else { return }
        do {
            let list = try setting.value(.list(elements.map(\.text)), in: source.environment)
            let position = setting.type == .names ? entry.position : entry.value.position
            values[key] = Value(
                value: list,
                location: location(position),
                places: elements.map { location($0.position) }
            )
        } catch {
            report(entry.value.position, "'\(entry.name)': \(error)", of: key)
        }
    }

    // MARK: - Sections

    /// Reads a section that is named after its kind, or has another name and a `kind`.
    private mutating func readSection(_ entry: Entry, _ key: SettingKey) {
        let name = entry.name
        let ownKind = registry.kind(named: name)
        guard case .section(let entries) = entry.value.content, !entry.value.hasTag else {
            if ownKind == nil { return report(entry.position, unknownKey(name)) }
            sections[name] = Section(location: location(entry.position))
            if entry.value.isNothing { return }
            let expected = "a section with the settings of \(name)"
            return report(entry.value.position, "'\(name)': expected \(expected), found \(entry.value.kind)", of: key)
        }
        var section = Section(location: location(entry.position))
        if let kind = entries.first(where: { $0.name == TopLevelSetting.kind }) {
            guard let kindName = kind.value.text else {
                let message = "'kind': expected the name of a kind, found \(kind.value.kind)"
                return report(kind.value.position, message, of: key)
            }
            if ownKind != nil, kindName != name {
                let message = "'kind': a section named '\(name)' is of that kind; give the other one another name"
                return report(kind.value.position, message, of: key)
            }
            section.kind = (kindName, location(kind.value.position))
        }
        if ownKind == nil {
            section.kind = source.kind(of: name, inFile: section.kind)
            guard let (kindName, place) = section.kind else {
                return source.mayBeOfApp(name) ? () : report(entry.position, unknownKey(name))
            }
            guard registry.knownNames.contains(kindName) || source.mayBeOfApp(kindName) else {
                mistakes.append(ConfigurationMistake(place, registry.unknownKind(kindName)))
                wrong.insert(key)
                return
            }
            guard SectionName.isValid(name) else {
                return report(entry.position, SectionName.problem(with: name), of: key)
            }
        }
        sections[name] = section
        guard let kind = ownKind ?? section.kind.flatMap({ registry.kind(named: $0.name) }) else { return }
        for entry in entries where entry.name != TopLevelSetting.kind {
            if let setting = kind.settings.first(where: { $0.name == entry.name }) {
                readValue(entry, setting, SettingKey(section: name, name: entry.name))
                continue
            }
            let known = kind.settings.map(\.name) + [TopLevelSetting.kind]
            let suggestion = NearestName.suggestion(for: entry.name, among: known, listing: "settings of \(kind.name)")
            report(entry.position, "unknown key '\(QuotedText.shortened(entry.name))' in '\(name)'\(suggestion)")
        }
    }

    private func unknownKey(_ name: String) -> String {
        let message = "unknown key '\(QuotedText.shortened(name))'"
        let parts = name.split(separator: ".", maxSplits: 1).map(String.init)
        if parts.count == 2, registry.knownNames.contains(parts[0]) {
            return "\(message); write '\(QuotedText.shortened("\(parts[0]): {\(parts[1]): …}"))'"
        }
        let candidates = TopLevelSetting.names + registry.knownNames
        let listing = "it is no section with a 'kind', and known keys are"
        return message + NearestName.suggestion(for: name, among: candidates, listing: listing)
    }
}

extension BackendRegistry {
    /// The message about a kind that is neither registered nor known to be missing in this build.
    func unknownKind(_ name: String) -> String {
        let suggestion = NearestName.suggestion(for: name, among: knownNames, listing: "known kinds")
        return "unknown kind '\(QuotedText.shortened(name))'\(suggestion)"
    }
}
