/// A line that a user has typed in a shell, as a label without secrets.
package struct TypedCommand: Sendable, Hashable {
    /// The line without the assignments before its commands, such as `API_TOKEN=s3cr3t`; those after `env`, `export`
    /// and the like are left out, too. Everything after a quote that is not closed is left out.
    package private(set) var label = ""
    /// The name of its first command, without its folder.
    package private(set) var name = ""

    /// The commands that are not reported by default: the user works in them, or has seen them end.
    private static let ignored: Set<String> = [
        "bat", "bg", "btop", "emacs", "exit", "fg", "gdb", "helix", "htop", "hx", "journalctl", "kak", "less", "lldb",
        "man", "mc", "more", "mosh", "most", "nano", "nvim", "ranger", "screen", "ssh", "su", "tig", "tmux", "top",
        "vi",
        "view", "vim", "vimdiff", "w3m", "watch",
    ]

    /// The commands that are not reported by default without arguments: with some, they run a program.
    private static let ignoredAlone: Set<String> = ["bash", "fish", "python3", "sh", "sqlite3", "zsh"]

    /// Whether it is not reported by default.
    package var isIgnored: Bool { Self.ignored.contains(name) || Self.ignoredAlone.contains(label) }

    /// The commands after which assignments, or another command, may follow.
    private static let prefixes: Set<String> = [
        "builtin", "command", "declare", "doas", "env", "exec", "export", "local", "nice", "nohup", "readonly", "set",
        "sudo", "time", "typeset",
    ]

    package init(_ line: String) {
        var rest = Substring(line)
        var words: [Substring] = []
        var isCommandNext = true
        while let word = Self.takeWord(&rest) {
            if word.allSatisfy(Self.separators.contains) {
                isCommandNext = true
            } else if isCommandNext, Self.isAssignment(word) {
                continue
            } else if isCommandNext, !Self.prefixes.contains(String(word)), !word.hasPrefix("-") {
                isCommandNext = false
                if name.isEmpty { name = word.split(separator: "/").last.map(String.init) ?? "" }
            }
            words.append(word)
        }
        label = words.joined(separator: " ").replacing(" ;", with: ";")
    }

    /// Whether a word assigns to a variable: `NAME=value`, `NAME+=value`, `NAME[index]=value`.
    private static func isAssignment(_ word: Substring) -> Bool {
        let name = word.prefix { $0 != "=" && $0 != "[" && $0 != "+" }
        return word.contains("=") && name.first?.isNumber == false
            && name.allSatisfy { $0 == "_" || $0.isLetter || $0.isNumber }
    }

    private static let separators: Set<Character> = [";", "&", "|", "(", ")", "\n"]

    /// The next word or separator. `nil` at the end, and where a quote or a parenthesis is not closed.
    private static func takeWord(_ rest: inout Substring) -> Substring? {
        rest = rest.drop { $0 == " " || $0 == "\t" }
        guard let first = rest.first else { return nil }
        let start = rest
        guard !separators.contains(first) else {
            rest = rest.drop(while: separators.contains)
            return start[..<rest.startIndex]
        }
        /// The ends of what is open.
        var open: [Character] = []
        /// Whether the open single quote is `$'…'`, in which a backslash escapes.
        var isEscaping = false
        while let character = rest.first {
            if open.isEmpty, character.isWhitespace || separators.contains(character), character != "(" { break }
            rest.removeFirst()
            // A backslash before a single quote within single quotes is an escape in fish and none in bash: in doubt,
            // the quote is not closed.
            if character == "\\", open.last == "'", !isEscaping, rest.first == "'" { return nil }
            switch (character, open.last) {
            case ("\\", let end) where end != "'" || isEscaping:
                if !rest.isEmpty { rest.removeFirst() }
            case (let character, let end?) where character == end: open.removeLast()
            case (_, "'"?): break
            case ("'", let end) where end != "\"":
                open.append("'")
                isEscaping = start[..<rest.startIndex].hasSuffix("$'")
            case ("\"", _), ("`", _): open.append(character)
            case ("(", let end) where end != "\"" || start[..<rest.startIndex].hasSuffix("$("): open.append(")")
            case ("{", _) where start[..<rest.startIndex].hasSuffix("${"): open.append("}")
            default: break
            }
        }
        return open.isEmpty ? start[..<rest.startIndex] : nil
    }
}
