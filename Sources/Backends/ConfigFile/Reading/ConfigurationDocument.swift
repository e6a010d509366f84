import Yams

/// A problem at a place in a file.
struct TextProblem: Hashable {
    var position: TextPosition
    var message: String
}

/// A config file as YAML sees it: maps, lists and scalars with their positions, before anybody asks what they mean.
///
/// JSON is a subset of YAML, so a `.json` file is read the same way and its mistakes are reported the same way.
struct ConfigurationDocument {
    /// What is at the top; `nil` when the file is empty or could not be read at all.
    var root: Node?
    /// What is wrong with the YAML itself.
    var problems: [TextProblem] = []
    /// The keys of the parts that could not be read. Whatever refers to them may well be right.
    var unreadableKeys: Set<String> = []
    /// The text itself, as far as it was read.
    var text = PositionedText("")
    /// The names of keys that had to be renamed to get past Yams, by position.
    var originalKeys: [TextPosition: String] = [:]

    /// One `key: value` of a map.
    struct Entry {
        var name: String
        var position: TextPosition
        var isPlain: Bool
        var value: Node
    }

    /// The entries of a map, the first of each name, with problems for keys that are not plain names.
    func entries(of mapping: Node.Mapping) -> (entries: [Entry], problems: [TextProblem]) {
        var entries: [Entry] = []
        var problems: [TextProblem] = []
        var lines: [String: Int] = [:]
        for (key, value) in mapping {
            let position = key.position
            guard case .scalar(let scalar) = key else {
                problems.append(
                    TextProblem(position: position, message: "expected a name before ':', found \(key.kind)")
                )
                continue
            }
            let name = originalKeys[position] ?? scalar.string
            if let line = lines[name] {
                let where_ = line == position.line ? "on the same line" : "on line \(line)"
                problems.append(
                    TextProblem(
                        position: position,
                        message: "duplicate key '\(SettingText.shortened(name))', which is there already \(where_)"
                    )
                )
                continue
            }
            lines[name] = position.line
            entries.append(Entry(name: name, position: position, isPlain: scalar.style == .plain, value: value))
        }
        return (entries, problems)
    }
}

extension Node {
    var position: TextPosition {
        TextPosition(line: max(mark?.line ?? 1, 1), column: max(mark?.column ?? 1, 1))
    }

    /// What a message calls it.
    var kind: String {
        switch self {
        case .scalar(let scalar):
            if isNothing { return "nothing" }
            return scalar.string.isEmpty ? "an empty text" : "'\(SettingText.shortened(scalar.string))'"
        case .sequence: return "a list"
        case .mapping: return "a section ('key: value')"
        case .alias: return "an alias"
        }
    }

    /// Whether there is no value: nothing at all, or one of YAML's spellings of it.
    var isNothing: Bool {
        guard case .scalar(let scalar) = self, scalar.style == .plain else { return false }
        return ["", "~", "null", "Null", "NULL"].contains(scalar.string)
    }

    /// A type that was given explicitly, such as `!!str`.
    var explicitTag: String? {
        let tag: Tag
        switch self {
        case .scalar(let scalar):
            // Yams gives every text in quotes the tag of texts.
            guard scalar.style == .plain else { return nil }
            tag = scalar.tag
        case .sequence(let sequence): tag = sequence.tag
        case .mapping(let mapping): tag = mapping.tag
        case .alias: return nil
        }
        guard !tag.rawValue.isEmpty else { return nil }
        let core = "tag:yaml.org,2002:"
        let isCore = tag.rawValue.hasPrefix(core)
        return SettingText.shortened(isCore ? "!!" + tag.rawValue.dropFirst(core.count) : tag.rawValue)
    }
}
