import Yams

/// What a config file says: each value parsed once, with its position, and the mistakes.
struct FileValues {
    struct Value {
        var value: BackendSettingValue
        var position: TextPosition
    }

    /// A list of names.
    struct List {
        var names: [(text: String, position: TextPosition)] = []
        var position: TextPosition
    }

    /// The section of a backend.
    struct Section {
        var position: TextPosition
        /// Its kind, when that is known.
        var kindName: String?
        /// Where the file says its kind, when it does.
        var kindPosition: TextPosition?
    }

    /// How many mistakes are looked for: what has more is no config file, and comparing names takes its time.
    static let largestNumberOfMistakes = 1000

    let path: String
    /// The text; `nil` when the file could not be read.
    let text: String?
    /// Whether everything in the file could be looked at; otherwise what seems to be missing may be there.
    private(set) var isComplete = true
    private(set) var values: [SettingKey: Value] = [:]
    /// What `backends` and `observe` say.
    private(set) var lists: [String: List] = [:]
    private(set) var sections: [String: Section] = [:]
    /// The settings and sections that are there but wrong, which was reported.
    private(set) var wrong: Set<SettingKey> = []
    private(set) var mistakes: [ConfigurationMistake] = []
    private(set) var warnings: [ConfigurationMistake] = []

    private let source: ConfigurationSource
    private let document: ConfigurationDocument
    /// Where a value was found to be wrong.
    private var wrongPositions: Set<TextPosition> = []

    /// Reads a file.
    init(path: String, source: ConfigurationSource) {
        do {
            self.init(text: try ConfigurationFileContents(path: path).text, path: path, source: source)
        } catch {
            self.init(text: nil, path: path, source: source)
            isComplete = false
            let isVariable = source.locator.given?.isVariable == true
            let reason = isVariable ? "; the environment variable \(ConfigurationFileLocator.variable) names it" : ""
            let location = error.position.map(location)
            mistakes = [
                ConfigurationMistake(
                    location ?? .wholeFile(path: path),
                    error.message + (location == nil ? reason : "")
                )
            ]
        }
    }

    /// Reads a text as if it were a file's.
    init(text: String?, path: String, source: ConfigurationSource) {
        self.text = text
        self.path = path
        self.source = source
        document = ConfigurationDocument(text ?? "")
        readRoot()
    }

    func location(_ position: TextPosition) -> ConfigurationMistake.Location {
        .file(path: path, line: position.line, column: position.column)
    }

    private var registry: BackendRegistry { source.registry }

    private mutating func report(_ position: TextPosition, _ message: String) {
        mistakes.append(ConfigurationMistake(location(position), message))
    }

    private mutating func readRoot() {
        wrong = Set(document.unreadableKeys.map { SettingKey(name: $0) })
        isComplete = document.root != nil || document.problems.isEmpty
        for problem in document.problems { report(problem.position, problem.message) }
        warnings = document.warnings.map { ConfigurationMistake(location($0.position), $0.message) }
        guard let root = document.root, !root.isNothing else { return }
        guard case .mapping(let mapping) = root else {
            isComplete = false
            let lacksSpace = root.scalar?.string.contains(/^\w+:\S/) == true
            let hint = lacksSpace ? "; put a space after the ':'" : ""
            return report(root.position, "expected 'key: value' lines, found \(root.kind)\(hint)")
        }
        for entry in entries(of: mapping) {
            guard mistakes.count < Self.largestNumberOfMistakes else {
                isComplete = false
                return
            }
            read(entry)
        }
    }

    private mutating func entries(of mapping: Node.Mapping) -> [ConfigurationDocument.Entry] {
        let (entries, problems) = document.entries(of: mapping)
        for problem in problems.prefix(Self.largestNumberOfMistakes) { report(problem.position, problem.message) }
        return entries
    }

    private mutating func read(_ entry: ConfigurationDocument.Entry) {
        if let setting = TopLevelSetting.scalar(named: entry.name) {
            readValue(entry, key: SettingKey(name: entry.name), setting: setting)
        } else if let list = TopLevelSetting.lists.first(where: { $0.name == entry.name }) {
            readList(entry, list)
        } else if registry.kind(named: entry.name) != nil {
            readSection(entry)
        } else if registry.reasonForMissing(entry.name) != nil {
            // Without the kind, its settings are not known.
            sections[entry.name] = Section(position: entry.position, kindName: entry.name)
        } else if case .mapping(let mapping) = entry.value {
            readNamedSection(entry, mapping)
        } else {
            report(entry.position, unknownKey(entry))
        }
    }

    private func unknownKey(_ entry: ConfigurationDocument.Entry) -> String {
        let message = "unknown key '\(SettingText.shortened(entry.name))'"
        let parts = entry.name.split(separator: ".", maxSplits: 1).map(String.init)
        if parts.count == 2, registry.knownNames.contains(parts[0]) {
            let section = SettingText.shortened("\(parts[0]): {\(parts[1]): \(entry.value.scalar?.string ?? "…")}")
            return "\(message); the settings of a backend are in its section: write '\(section)'"
        }
        let candidates = TopLevelSetting.names + registry.knownNames
        return message + NearestName.suggestion(for: entry.name, among: candidates, listing: "known keys")
    }

    // MARK: - Values

    private mutating func readValue(
        _ entry: ConfigurationDocument.Entry,
        key: SettingKey,
        setting: BackendSetting
    ) {
        let position = entry.value.position
        let isText = setting.type == .string || setting.type == .path
        // An alias leads here again; what it stands for is wrong once.
        guard !wrongPositions.contains(position),
            let scalar = scalar(entry, expecting: setting.type.expectation, isText: isText)
        else {
            wrong.insert(key)
            return
        }
        let origin = SettingText.Origin.file(isQuoted: scalar.style != .plain)
        do {
            let text = SettingText(text: scalar.string, origin: origin, environment: source.environment)
            values[key] = Value(value: try text.value(for: setting), position: position)
        } catch {
            wrong.insert(key)
            wrongPositions.insert(position)
            report(position, "'\(entry.name)': \(error.message)")
        }
    }

    /// The scalar that an entry must have as its value.
    private mutating func scalar(
        _ entry: ConfigurationDocument.Entry,
        expecting expected: String,
        isText: Bool = false
    ) -> Node.Scalar? {
        let value = entry.value
        if let tag = value.explicitTag {
            report(value.position, "'\(entry.name)': the type '\(tag)' is not supported; remove it")
            return nil
        }
        if value.isNothing {
            let text = value.scalar?.string ?? ""
            let hint = isText ? "; put it in quotes if it is the text" : ""
            let found =
                text.isEmpty ? "nothing after '\(entry.name):'" : "'\(text)', which means nothing in YAML\(hint)"
            let position = text.isEmpty ? entry.position : value.position
            report(position, "'\(entry.name)': expected \(expected), found \(found)")
            return nil
        }
        if case .scalar(let scalar) = value { return scalar }
        var hint = ""
        if isText, let bracket = document.lines[value.position], bracket == "{" || bracket == "[" {
            hint = "; put quotes around a text that begins with '\(bracket)'"
        }
        report(value.position, "'\(entry.name)': expected \(expected), found \(value.kind)\(hint)")
        return nil
    }

    private mutating func readList(_ entry: ConfigurationDocument.Entry, _ setting: TopLevelSetting.List) {
        let key = SettingKey(name: entry.name)
        guard case .sequence(let sequence) = entry.value else {
            let example = "[\(setting.example.joined(separator: ", "))]"
            let found = entry.value.isNothing ? "nothing; write [] for none" : entry.value.kind
            let position = entry.value.isNothing ? entry.position : entry.value.position
            wrong.insert(key)
            return report(position, "'\(entry.name)': expected a list such as \(example), found \(found)")
        }
        var list = List(position: entry.position)
        var seen: Set<String> = []
        for item in sequence {
            guard case .scalar(let scalar) = item, !item.isNothing, item.explicitTag == nil else {
                wrong.insert(key)
                report(item.position, "'\(entry.name)': expected a name, found \(item.explicitTag ?? item.kind)")
                continue
            }
            if seen.insert(scalar.string).inserted {
                list.names.append((scalar.string, item.position))
            } else {
                let name = SettingText.shortened(scalar.string)
                report(item.position, "'\(name)' is in '\(entry.name)' more than once")
            }
        }
        lists[entry.name] = list
    }

    // MARK: - Sections

    /// A section that is named after a kind.
    private mutating func readSection(_ entry: ConfigurationDocument.Entry) {
        sections[entry.name] = Section(position: entry.position, kindName: entry.name)
        if entry.value.isNothing, entry.value.explicitTag == nil { return }
        guard case .mapping(let mapping) = entry.value, entry.value.explicitTag == nil else {
            let found = entry.value.explicitTag.map { "the type '\($0)'" } ?? entry.value.kind
            return reportSection(
                entry,
                entry.value.position,
                "'\(entry.name)': expected a section with the settings of \(entry.name), found \(found)"
            )
        }
        let entries = entries(of: mapping)
        if let kind = entries.first(where: { $0.name == TopLevelSetting.kind }),
            let scalar = scalar(kind, expecting: "'\(entry.name)'"), scalar.string != entry.name
        {
            return reportSection(
                entry,
                kind.value.position,
                "'kind': a section named '\(entry.name)' is of that kind; give one of kind "
                    + "'\(SettingText.shortened(scalar.string))' another name"
            )
        }
        readSettings(entries, of: entry.name, kind: registry.kind(named: entry.name))
    }

    /// A section under a name of its own, which must say its kind.
    private mutating func readNamedSection(_ entry: ConfigurationDocument.Entry, _ mapping: Node.Mapping) {
        let name = SettingText.shortened(entry.name)
        var section = Section(position: entry.position, kindName: source.strongerKind(of: entry.name)?.name)
        let entries = entries(of: mapping)
        if let kind = entries.first(where: { $0.name == TopLevelSetting.kind }) {
            guard let scalar = scalar(kind, expecting: "the name of a kind") else {
                wrong.insert(SettingKey(name: entry.name))
                return
            }
            guard registry.knownNames.contains(scalar.string) else {
                return reportSection(entry, kind.value.position, registry.unknownKind(scalar.string))
            }
            section.kindPosition = kind.value.position
            section.kindName = section.kindName ?? scalar.string
        } else if section.kindName == nil {
            let candidates = TopLevelSetting.names + registry.knownNames
            if let nearest = NearestName.find(for: entry.name, among: candidates) {
                return report(entry.position, "unknown key '\(name)', did you mean '\(nearest)'?")
            }
            return reportSection(
                entry,
                entry.position,
                "the section '\(name)' has no 'kind'; expected the name of a kind as the section's name or as its "
                    + "'kind': \(registry.knownNames.joined(separator: ", "))"
            )
        }
        guard SectionName.isValid(entry.name) else {
            let message = "'\(name)' cannot name a backend; expected \(SectionName.expectation)"
            return reportSection(entry, entry.position, message)
        }
        sections[entry.name] = section
        readSettings(entries, of: entry.name, kind: section.kindName.flatMap(registry.kind(named:)))
    }

    private mutating func reportSection(
        _ entry: ConfigurationDocument.Entry,
        _ position: TextPosition,
        _ message: String
    ) {
        wrong.insert(SettingKey(name: entry.name))
        report(position, message)
    }

    private mutating func readSettings(
        _ entries: [ConfigurationDocument.Entry],
        of section: String,
        kind: BackendKind?
    ) {
        guard let kind else { return }
        for entry in entries where entry.name != TopLevelSetting.kind {
            if let setting = kind.settings.first(where: { $0.name == entry.name }) {
                readValue(entry, key: SettingKey(section: section, name: entry.name), setting: setting)
                continue
            }
            let suggestion = NearestName.suggestion(
                for: entry.name,
                among: kind.settings.map(\.name) + [TopLevelSetting.kind],
                listing: "settings of \(kind.name)"
            )
            let name = SettingText.shortened(entry.name)
            report(entry.position, "unknown key '\(name)' in '\(section)'\(suggestion)")
            guard mistakes.count < Self.largestNumberOfMistakes else { return isComplete = false }
        }
    }
}

extension BackendRegistry {
    /// The message about a kind that is neither in this build nor missing in it.
    func unknownKind(_ name: String) -> String {
        let suggestion = NearestName.suggestion(for: name, among: knownNames, listing: "known kinds")
        return "unknown kind '\(SettingText.shortened(name))'\(suggestion)"
    }
}
