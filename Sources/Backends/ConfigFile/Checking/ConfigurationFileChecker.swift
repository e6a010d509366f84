import Yams

/// Checks what a config file says against what there is to say: names, types, values.
struct ConfigurationFileChecker {
    private let registry: BackendRegistry
    private let environment: [String: String]
    /// The kind of a section when something stronger than the file says it.
    private let strongerKind: (String) -> String?
    private let document: ConfigurationDocument
    private var file: CheckedFile
    /// Where a value was found to be wrong.
    private var wrongPositions: Set<TextPosition> = []

    private init(
        text: String,
        path: String,
        registry: BackendRegistry,
        environment: [String: String],
        strongerKind: @escaping (String) -> String?
    ) {
        self.registry = registry
        self.environment = environment
        self.strongerKind = strongerKind
        document = ConfigurationDocumentParser.parse(text)
        file = CheckedFile(path: path)
    }

    /// Reads and checks a file. What is wrong is in the result's `mistakes`.
    static func check(
        fileAt path: String,
        registry: BackendRegistry,
        environment: [String: String],
        strongerKind: @escaping (String) -> String? = { _ in nil }
    ) -> (file: CheckedFile, text: String?) {
        do {
            let text = try ConfigurationFileContents(path: path).text
            return (check(text: text, path: path, registry: registry, environment: environment, strongerKind), text)
        } catch {
            var file = CheckedFile(path: path)
            file.report(error.position, error.message)
            file.isReadable = false
            return (file, nil)
        }
    }

    /// Checks a text as if it were a file's.
    static func check(
        text: String,
        path: String,
        registry: BackendRegistry,
        environment: [String: String],
        _ strongerKind: @escaping (String) -> String? = { _ in nil }
    ) -> CheckedFile {
        var checker = Self(
            text: text,
            path: path,
            registry: registry,
            environment: environment,
            strongerKind: strongerKind
        )
        checker.checkRoot()
        return checker.file
    }

    private mutating func checkRoot() {
        file.wrongSections = document.unreadableKeys
        file.wrongKeys = Set(document.unreadableKeys.map { SettingKey(name: $0) })
        file.isReadable = document.root != nil || document.problems.isEmpty
        for problem in document.problems { file.report(problem.position, problem.message) }
        guard let root = document.root, !root.isNothing else { return }
        guard case .mapping(let mapping) = root else {
            file.isReadable = false
            let lacksSpace = root.scalar?.string.contains(/^\w+:\S/) == true
            let hint = lacksSpace ? "; put a space after the ':'" : ""
            return file.report(root.position, "expected 'key: value' lines, found \(root.kind)\(hint)")
        }
        for entry in entries(of: mapping) {
            guard file.mistakes.count < Self.largestNumberOfMistakes else {
                file.isReadable = false
                return
            }
            check(entry)
        }
    }

    /// How many mistakes are looked for: what has more is no config file, nobody reads on, and comparing names takes its time.
    static let largestNumberOfMistakes = 1000

    private mutating func entries(of mapping: Node.Mapping) -> [ConfigurationDocument.Entry] {
        let (entries, problems) = document.entries(of: mapping)
        for problem in problems { file.report(problem.position, problem.message) }
        return entries.filter { entry in
            guard entry.name == "<<", entry.isPlain else { return true }
            file.report(entry.position, "merge keys ('<<') are not supported; write the settings out")
            return false
        }
    }

    private mutating func check(_ entry: ConfigurationDocument.Entry) {
        if let setting = TopLevelSetting.scalar(named: entry.name) {
            checkScalar(entry, key: SettingKey(name: entry.name), setting: setting)
        } else if TopLevelSetting.lists.contains(entry.name) {
            checkList(entry)
        } else if registry.kind(named: entry.name) != nil {
            checkSection(entry)
        } else if registry.reasonForMissing(entry.name) != nil {
            // Without the kind, nobody knows its settings.
            file.sections.append(CheckedFile.Section(name: entry.name, position: entry.position, kindName: entry.name))
        } else if case .mapping(let mapping) = entry.value {
            checkNamedSection(entry, mapping)
        } else {
            reportUnknown(entry)
        }
    }

    private mutating func reportUnknown(_ entry: ConfigurationDocument.Entry) {
        let candidates = TopLevelSetting.names + registry.knownNames
        let suggestion = NearestName.suggestion(for: entry.name, among: candidates, listing: "known keys")
        file.report(entry.position, "unknown key '\(SettingText.shortened(entry.name))'\(suggestion)")
    }

    // MARK: - Values

    private mutating func checkScalar(
        _ entry: ConfigurationDocument.Entry,
        key: SettingKey,
        setting: BackendSetting
    ) {
        let position = entry.value.position
        // An alias leads here again; what it stands for is wrong once.
        guard !wrongPositions.contains(position), let scalar = scalar(entry, expecting: setting.type) else {
            file.wrongKeys.insert(key)
            return
        }
        let origin = SettingText.Origin.file(isQuoted: scalar.style != .plain)
        do {
            let text = SettingText(text: scalar.string, origin: origin, environment: environment)
            _ = try text.value(for: setting)
            file.values[key] = CheckedFile.Value(text: scalar.string, position: position)
        } catch {
            file.wrongKeys.insert(key)
            wrongPositions.insert(position)
            file.report(position, "'\(entry.name)': \(error.message)")
        }
    }

    /// The scalar that an entry must have as its value.
    private mutating func scalar(
        _ entry: ConfigurationDocument.Entry,
        expecting type: BackendSetting.ValueType
    ) -> Node.Scalar? {
        scalar(entry, expecting: type.expectation, isText: type == .string || type == .path)
    }

    private mutating func scalar(
        _ entry: ConfigurationDocument.Entry,
        expecting expected: String,
        isText: Bool = false
    ) -> Node.Scalar? {
        let value = entry.value
        if let tag = value.explicitTag {
            file.report(value.position, "'\(entry.name)': the type '\(tag)' is not supported; remove it")
            return nil
        }
        if value.isNothing {
            let text = value.scalar?.string ?? ""
            let hint = isText ? "; put it in quotes if it is the text" : ""
            let found =
                text.isEmpty ? "nothing after '\(entry.name):'" : "'\(text)', which means nothing in YAML\(hint)"
            let position = text.isEmpty ? entry.position : value.position
            file.report(position, "'\(entry.name)': expected \(expected), found \(found)")
            return nil
        }
        if case .scalar(let scalar) = value { return scalar }
        var hint = ""
        if isText, let bracket = document.text[value.position], bracket == "{" || bracket == "[" {
            hint = "; put quotes around a text that begins with '\(bracket)'"
        }
        file.report(value.position, "'\(entry.name)': expected \(expected), found \(value.kind)\(hint)")
        return nil
    }

    private mutating func checkList(_ entry: ConfigurationDocument.Entry) {
        let example = entry.name == TopLevelSetting.observe ? "[indicator, alamofire]" : "[terminalTitle, logFile]"
        let key = SettingKey(name: entry.name)
        guard case .sequence(let sequence) = entry.value else {
            let found = entry.value.isNothing ? "nothing; write [] for none" : entry.value.kind
            let position = entry.value.isNothing ? entry.position : entry.value.position
            file.wrongKeys.insert(key)
            return file.report(position, "'\(entry.name)': expected a list such as \(example), found \(found)")
        }
        var list = CheckedFile.List(names: [], position: entry.position)
        var seen: Set<String> = []
        for item in sequence {
            guard case .scalar(let scalar) = item, !item.isNothing, item.explicitTag == nil else {
                file.wrongKeys.insert(key)
                file.report(item.position, "'\(entry.name)': expected a name, found \(item.explicitTag ?? item.kind)")
                continue
            }
            if !seen.insert(scalar.string).inserted {
                file.report(
                    item.position,
                    "'\(SettingText.shortened(scalar.string))' is in '\(entry.name)' more than once"
                )
            } else {
                list.names.append(CheckedFile.Value(text: scalar.string, position: item.position))
            }
        }
        file.lists[entry.name] = list
    }

    // MARK: - Sections

    /// A section that is named after a kind.
    private mutating func checkSection(_ entry: ConfigurationDocument.Entry) {
        var section = CheckedFile.Section(name: entry.name, position: entry.position, kindName: entry.name)
        defer { file.sections.append(section) }
        if entry.value.isNothing, entry.value.explicitTag == nil { return }
        guard case .mapping(let mapping) = entry.value, entry.value.explicitTag == nil else {
            file.wrongSections.insert(entry.name)
            let found = entry.value.explicitTag.map { "the type '\($0)'" } ?? entry.value.kind
            return file.report(
                entry.value.position,
                "'\(entry.name)': expected a section with the settings of \(entry.name), found \(found)"
            )
        }
        let entries = entries(of: mapping)
        if let kind = entries.first(where: { $0.name == TopLevelSetting.kind }),
            let scalar = scalar(kind, expecting: "'\(entry.name)'"), scalar.string != entry.name
        {
            section.kindName = nil
            file.wrongSections.insert(entry.name)
            file.report(
                kind.value.position,
                "'kind': a section named '\(entry.name)' is of that kind; give one of kind "
                    + "'\(SettingText.shortened(scalar.string))' another name"
            )
            return
        }
        checkSettings(entries, of: section)
    }

    /// A section under a name of its own, which must say its kind.
    private mutating func checkNamedSection(_ entry: ConfigurationDocument.Entry, _ mapping: Node.Mapping) {
        let stronger = strongerKind(entry.name)
        let entries = entries(of: mapping)
        guard let kind = entries.first(where: { $0.name == TopLevelSetting.kind }) else {
            if stronger != nil {
                return addNamedSection(entry, kindName: stronger, entries)
            }
            let candidates = TopLevelSetting.names + registry.knownNames
            if let nearest = NearestName.find(for: entry.name, among: candidates) {
                return file.report(
                    entry.position,
                    "unknown key '\(SettingText.shortened(entry.name))', did you mean '\(nearest)'?"
                )
            }
            file.wrongSections.insert(entry.name)
            return file.report(
                entry.position,
                "the section '\(SettingText.shortened(entry.name))' has no 'kind'; expected the name of a kind as the "
                    + "section's name or as its 'kind': \(registry.knownNames.joined(separator: ", "))"
            )
        }
        guard let scalar = scalar(kind, expecting: "the name of a kind") else {
            file.wrongSections.insert(entry.name)
            return
        }
        if registry.kind(named: scalar.string) == nil, registry.reasonForMissing(scalar.string) == nil {
            file.wrongSections.insert(entry.name)
            let suggestion = NearestName.suggestion(
                for: scalar.string,
                among: registry.knownNames,
                listing: "known kinds"
            )
            return file.report(
                kind.value.position,
                "unknown kind '\(SettingText.shortened(scalar.string))'\(suggestion)"
            )
        }
        file.values[SettingKey(section: entry.name, name: TopLevelSetting.kind)] =
            CheckedFile.Value(text: scalar.string, position: kind.value.position)
        addNamedSection(entry, kindName: stronger ?? scalar.string, entries)
    }

    private mutating func addNamedSection(
        _ entry: ConfigurationDocument.Entry,
        kindName: String?,
        _ entries: [ConfigurationDocument.Entry]
    ) {
        guard SectionName.isValid(entry.name) else {
            file.wrongSections.insert(entry.name)
            return file.report(
                entry.position,
                "'\(SettingText.shortened(entry.name))' cannot name a backend; expected \(SectionName.expectation)"
            )
        }
        let section = CheckedFile.Section(name: entry.name, position: entry.position, kindName: kindName)
        file.sections.append(section)
        checkSettings(entries, of: section)
    }

    private mutating func checkSettings(_ entries: [ConfigurationDocument.Entry], of section: CheckedFile.Section) {
        guard let kind = section.kindName.flatMap(registry.kind(named:)) else { return }
        for entry in entries where entry.name != TopLevelSetting.kind {
            guard let setting = kind.settings.first(where: { $0.name == entry.name }) else {
                let suggestion = NearestName.suggestion(
                    for: entry.name,
                    among: kind.settings.map(\.name) + [TopLevelSetting.kind],
                    listing: "settings of \(kind.name)"
                )
                let name = SettingText.shortened(entry.name)
                file.report(entry.position, "unknown key '\(name)' in '\(section.name)'\(suggestion)")
                continue
            }
            checkScalar(entry, key: SettingKey(section: section.name, name: entry.name), setting: setting)
        }
    }
}

extension BackendSetting.ValueType {
    /// What a message says that a value of this type is.
    var expectation: String {
        switch self {
        case .string: "a text"
        case .path: "the path of a file"
        case .boolean: "true or false"
        case .integer: "a whole number"
        case .seconds: "a number of seconds"
        case .size: "a number of bytes such as 1 MiB"
        case .choice(let choices): choices.joined(separator: ", ")
        }
    }
}
