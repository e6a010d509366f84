/// What a config file says, after its checks: texts with their positions, and the mistakes.
struct CheckedFile {
    /// A value of the file that is right as far as the file goes.
    struct Value: Hashable {
        var text: String
        var position: TextPosition
    }

    /// A list of names.
    struct List {
        var names: [Value]
        var position: TextPosition
    }

    /// The section of a backend.
    struct Section {
        var name: String
        var position: TextPosition
        /// Its kind, when that is known.
        var kindName: String?
    }

    var path: String
    /// Whether everything in the file could be looked at; otherwise what seems to be missing may be there.
    var isReadable = true
    /// What `backends` and `observe` say, by name.
    var lists: [String: List] = [:]
    /// Every other value.
    var values: [SettingKey: Value] = [:]
    /// The settings that are there but wrong; nothing else is to be said about them.
    var wrongKeys: Set<SettingKey> = []
    /// The sections, in order.
    var sections: [Section] = []
    /// The names of sections that something is wrong with; nothing else is to be said about them.
    var wrongSections: Set<String> = []
    var mistakes: [ConfigurationMistake] = []

    func location(_ position: TextPosition) -> ConfigurationMistake.Location {
        .file(path: path, line: position.line, column: position.column)
    }

    mutating func report(_ position: TextPosition, _ message: String) {
        mistakes.append(ConfigurationMistake(location(position), message))
    }
}
