/// What may be shown of a command: its name, and of a program that is known to have subcommands, targets or the like
/// its first argument, such as `build` in `cargo build`. Any other argument may be long, or secret.
package struct CommandLabel: Sendable, Hashable {
    /// The name of the command, without its folder; "command" if it has none.
    package let name: String
    /// The name, and the first argument if that is a plain word. Only for a comparison.
    fileprivate let command: String

    /// Makes the label of a command and its arguments.
    package init(_ command: some Sequence<String>) {
        var words = command.makeIterator()
        name = words.next()?.split(separator: "/").last.map(String.init) ?? "command"
        let word = words.next() ?? ""
        let isPlain = word.first?.isLetter == true && word.allSatisfy { $0.isASCII && ($0.isLowercase || $0 == "-") }
        self.command = isPlain && word.count <= 20 ? "\(name) \(word)" : name
    }

    /// What is shown.
    package var text: String { Self.programs.contains(name) ? command : name }

    /// The programs whose first argument is a subcommand, a target, another program or the like.
    private static let programs: Set<String> = [
        "apt", "apt-cache", "apt-get", "aptitude", "az", "bazel", "borg", "brew", "btrfs", "bun", "bundle", "cabal",
        "cargo", "cmake", "composer", "conda", "dart", "deno", "dnf", "doas", "docker", "docker-compose", "dotnet",
        "env", "flatpak", "flutter", "gcloud", "gh", "git", "glab", "gmake", "go", "gradle", "gradlew", "helm", "hg",
        "jj", "just", "kubectl", "make", "meson", "minikube", "mix", "mvn", "mvnw", "nala", "nice", "ninja", "nix",
        "nohup", "npm", "npx", "nx", "opam", "pip", "pip3", "pipx", "pnpm", "podman", "poetry", "rails", "rake",
        "rclone", "restic", "rustup", "sbt", "setsid", "snap", "stack", "sudo", "svn", "swift", "swiftly", "systemctl",
        "task", "terraform", "time", "tofu", "tox", "uv", "vagrant", "yarn", "yum", "zfs", "zig", "zpool", "zypper",
    ]
}

/// A line that a user has typed in a shell: what may be shown of it, and whether the user wants to know its end.
///
/// It reads what bash, zsh and fish have in common. Everything that it is not sure of has no label.
package struct ShellLine: Sendable, Hashable {
    /// The first command of the line, of a pipeline its last one that is not a filter; `nil` without a sure one. What
    /// only sets or prints something (`cd`, `echo`) is named if there is nothing else.
    package private(set) var label: CommandLabel?
    /// The last command of the line, which is the one that the user has seen end; `nil` if that is not sure.
    private var last: CommandLabel?
    /// Whether the last command has an argument other than options.
    private var hasArgument = false
    /// The place of the label's command in the last pipeline; `nil` if it is in an earlier one.
    private var place: Int?
    /// How many commands the last pipeline has.
    private var count = 0
    /// Whether each pipeline after that of the label is only run if the one before has succeeded.
    private var isChain = true
    /// Whether a pipeline has the opposite status (`!`).
    private var isNegated = false

    /// The commands that are not reported by default: the user works in them, or has seen them end.
    private static let ignored: Set<String> = [
        "bat", "batcat", "btop", "emacs", "gdb", "helix", "htop", "hx", "journalctl", "kak", "less", "lldb", "man",
        "mc", "more", "mosh", "most", "nano", "nvim", "ranger", "screen", "ssh", "su", "tig", "tmux", "top", "vi",
        "view", "vim", "vimdiff", "visudo", "w3m", "watch",
    ]

    /// The commands that are not reported by default without a script or another program to run.
    private static let ignoredAlone: Set<String> = [
        "R", "bash", "dash", "doas", "fish", "ghci", "irb", "ksh", "lua", "mysql", "node", "perl", "php", "psql",
        "python", "python3", "ruby", "sh", "sqlite3", "sudo", "swift", "zsh",
    ]

    /// Whether its end is not reported.
    ///
    /// - Parameter names: the commands to ignore instead of the usual ones, separated by spaces; or by colons, where
    ///   also the first argument can be named: `vim:git log`.
    package func isIgnored(names: String? = nil) -> Bool {
        guard let last, !["bg", "fg"].contains(last.name) else { return last != nil }
        guard let names else {
            return Self.ignored.contains(last.name) || Self.ignoredAlone.contains(last.name) && !hasArgument
        }
        return names.split(separator: names.contains(":") ? ":" : " ").contains {
            $0 == last.name || $0 == last.command
        }
    }

    /// The exit status of the label's command, or of a chain (`&&`) that it begins; `nil` if that is not known, also
    /// where the shell has run another pipeline: of one that is in no history, bash knows only the last command.
    ///
    /// - Parameters:
    ///   - status: that of the line.
    ///   - statuses: those of the commands of its last pipeline.
    package func status(_ status: Int32, ofPipeline statuses: [Int32]) -> Int32? {
        if statuses.count > 1, count != statuses.count { return place == nil && isChain && status != 0 ? status : nil }
        if let place, count > 1 || isNegated, count == statuses.count {
            // By SIGPIPE (13): the next one has read enough.
            return statuses[place] == 128 + 13 && place + 1 < count ? status : statuses[place]
        }
        return place != nil || isChain ? status : nil
    }

    // MARK: - Reading

    /// The words before a command.
    private static let reserved: Set<String> = [
        "!", "always", "and", "begin", "coproc", "do", "done", "elif", "else", "end", "fi", "if", "nocorrect", "noglob",
        "not", "or", "then", "until", "while", "{", "}",
    ]

    /// What begins and ends a group of commands.
    private static let begins: Set<String> = ["(", "begin", "for", "if", "select", "until", "while", "{"]
    private static let ends: Set<String> = [")", "done", "end", "fi", "}"]

    /// The beginning of a variable's assignment. Immutable, as `piece`.
    private nonisolated(unsafe) static let assignment = /[A-Za-z_]\w*(?:\[.*\])?\+?=/

    /// The words after which nothing is sure.
    private static let unsure: Set<String> = ["[[", "case", "foreach", "function", "in", "repeat", "switch"]

    /// The commands that only set or print something.
    private static let settings: Set<String> = [
        ".", ":", "[", "alias", "cd", "contains", "declare", "echo", "export", "hash", "history", "local", "print",
        "printf", "pushd", "read", "readonly", "set", "source", "string", "test", "trap", "true", "type", "typeset",
    ]

    /// The commands that pass on what others write.
    private static let filters: Set<String> = [
        "awk", "base64", "bat", "batcat", "bzip2", "cat", "ccze", "column", "cut", "egrep", "fgrep", "fmt", "fold",
        "gawk", "grep", "gunzip", "gzip", "head", "hexdump", "jq", "less", "lolcat", "lz4", "md5sum", "more", "most",
        "nl", "od", "paste", "pigz", "pv", "rev", "rg", "sed", "sha256sum", "sort", "sponge", "tac", "tail", "tee",
        "tr", "ts", "uniq", "wc", "xxd", "xz", "zcat", "zstd",
    ]

    /// The commands that run another one: their options of one letter without a value, and how many arguments come
    /// before the other command. After any other option, nothing is sure.
    private static let prefixes: [String: (options: String, arguments: Int)] = [
        "builtin": ("", 0), "chrt": ("", 1), "command": ("p", 0), "doas": ("n", 0), "env": ("i", 0), "exec": ("cl", 0),
        "ionice": ("t", 0), "nice": ("", 0), "nohup": ("", 0), "setsid": ("cfw", 0), "stdbuf": ("", 0),
        "sudo": ("AEHPSbikns", 0), "taskset": ("", 1), "timeout": ("v", 1),
    ]

    /// Reads a line.
    ///
    /// - Parameter aliases: the definitions of aliases, as `alias` prints them in bash and fish.
    package init(_ line: String, aliases: String) {
        var definitions: [String: String] = [:]
        for line in aliases.split(separator: "\n") where line.hasPrefix("alias ") {
            let parts = line.dropFirst(6).split(maxSplits: 1) { $0 == "=" || $0 == " " }
            var words = ShellWords(String(parts.last ?? ""))
            guard parts.count == 2, case .word(let word)? = words.next() else { continue }
            definitions[String(parts[0])] = word.text
        }
        read(line, definitions)
    }

    private mutating func read(_ line: String, _ definitions: [String: String]) {
        enum State {
            /// Before a command, of which the name comes next.
            case command
            /// After one of ``prefixes``: its options, and how many words to skip.
            case prefix(String, Int)
            case arguments
            case skipped
        }
        var state = State.command
        var current: [String] = []
        var aliases = definitions
        var setting: CommandLabel?
        /// Of the current pipeline, the last command that is not a filter, and the first filter, with their places; a
        /// group has none, since its status is not that of its first command.
        var (command, filter): ((label: CommandLabel, place: Int?)?, (label: CommandLabel, place: Int?)?)
        /// How many commands it has so far, and what is before it.
        var (length, link) = (0, "")
        /// Whether there was a label before each group that is open; and the label of one that has just ended.
        var (isLabelled, group): ([Bool], CommandLabel?) = ([], nil)
        func add(_ found: CommandLabel, at place: Int?) {
            if Self.settings.contains(found.name) {
                setting = setting ?? found
            } else if Self.filters.contains(found.name) {
                filter = filter ?? (found, place)
            } else {
                command = (found, place)
            }
            length += 1
        }
        /// Ends the current command, and with it the pipeline unless another one follows.
        func finish(before separator: String = "") {
            // Behind a pipe, a group is a part of the pipeline.
            let isPiped = ["|", "|&"].contains(separator) || separator == "(" && current.isEmpty
            if !current.isEmpty {
                let found = CommandLabel(current)
                last = found
                hasArgument = current.dropFirst().contains { !$0.hasPrefix("-") }
                add(found, at: length)
            } else if let group, isPiped {
                (label, length) = (nil, 0)
                add(group, at: nil)
            }
            (current, group) = ([], nil)
            guard !isPiped, length > 0 else { return }
            if label == nil {
                (label, place) = ((command ?? filter)?.label, (command ?? filter)?.place)
                isChain = label == nil || place != nil
            } else {
                (place, isChain) = (nil, isChain && link == "&&")
            }
            (count, length, link) = (length, 0, separator)
            (command, filter) = (nil, nil)
        }
        /// Notes a word or an operator that begins or ends a group.
        func nest(_ text: String) {
            if Self.begins.contains(text) { isLabelled.append(label != nil) }
            if Self.ends.contains(text) { group = isLabelled.popLast() == false ? label : nil }
        }
        var words = ShellWords(line)
        reading: while let token = words.next() {
            guard case .word(let word) = token else {
                guard case .separator(let text) = token else { break }
                // The rest of `for ((…))`, or an arithmetic command.
                if case .skipped = state, text.hasPrefix("(") { break }
                finish(before: text)
                text.forEach { nest(String($0)) }
                state = .command
                if text == "((" { break }
                continue
            }
            if case .arguments = state {
                current.append(word.isPlain && !word.hasEqualsSign ? word.text : word.text.hasPrefix("-") ? "-" : "=")
                continue
            }
            if case .skipped = state { continue }
            if case .prefix(let options, let count) = state {
                if word.text.hasPrefix("-"), word.text != "--" {
                    guard word.text.dropFirst().allSatisfy(options.contains) else { break }
                } else if count > 0, word.text != "--" {
                    state = .prefix(options, count - 1)
                    continue
                }
            }
            if word.text.hasPrefix("-") || word.text.prefixMatch(of: Self.assignment) != nil { continue }
            current = []
            if word.isPlain { nest(word.text) }
            switch word.text {
            // With an equals sign elsewhere, it is a program, such as zsh's `=name`.
            case let text
            where word.hasEqualsSign || !word.isLiteral || text.isEmpty || word.isPlain && Self.unsure.contains(text):
                last = nil
                break reading
            case "for" where word.isPlain, "select" where word.isPlain: state = .skipped
            // With an option, it is the program.
            case "time" where word.isPlain: state = .prefix("p", 0)
            case let text where word.isPlain && Self.reserved.contains(text):
                (state, isNegated) = (.command, isNegated || ["!", "not"].contains(text))
            // A shell replaces none of them within its own definition.
            case let text where word.isPlain && aliases[text] != nil:
                words.insert(aliases.removeValue(forKey: text) ?? "")
            default:
                current = [word.text]
                state = Self.prefixes[word.text].map { .prefix($0.options, $0.arguments) } ?? .arguments
            }
        }
        // What follows is not certain: neither is what `sudo` runs, nor that there is only a setting.
        if case .prefix = state, !words.isAtEnd { current = [] }
        finish()
        if !words.isAtEnd { last = nil }
        label = label ?? (words.isAtEnd ? setting : nil)
    }
}

/// The words of a line that a shell reads, without redirections and comments.
///
/// It ends at the first thing that is not certain in every shell, such as a quote that is not closed, or that is deeply
/// nested.
struct ShellWords: Sequence, IteratorProtocol {
    struct Word: Hashable {
        /// The word without its quotes.
        var text = ""
        /// Whether the shell replaces nothing in it.
        var isLiteral = true
        var isQuoted = false
        var hasEqualsSign = false

        var isPlain: Bool { isLiteral && !isQuoted }
    }

    enum Token: Hashable {
        case word(Word)
        /// A control operator, such as `;` or `&&`, or a line break.
        case separator(String)
    }

    /// A part of a word. In parentheses, comments, here-documents and `case` may have one, too: not certain.
    /// Immutable, and compiled once, atomically: that takes longer than to read a word.
    private nonisolated(unsafe) static let piece =
        #/
        (?<plain> [^\s;&|()<>'"`\\$]+ )
        | \\ (?<escaped> (?s:.) )
        | ' (?<single> (?: [^'\\] | \\ [^'] )* ) '
        | " (?<double> (?: [^"\\$`] | \\ (?s:.) | \$ (?! [(\{] ) | \$ \{ \w+ \}
            | \$ \( (?! [^)]* \bcase\b ) [^()'"`\\\#\n]* \) )* ) "
        | \$ (?: [\w?!@\#*$\-] | \( (?! [^)]* \bcase\b ) [^()'"`\\\#\n]* \) | \{ [^\{\}'"`\\]* \} )
        | ` [^'"`\\]* `
        | \( [^()'"`\\\#\n]* \)
        /#
    /// The beginning of a redirection, such as `2>`. Immutable, as `piece`.
    private nonisolated(unsafe) static let redirection =
        /(?:[0-9]+|\{[A-Za-z_]+\})?(?:<<<|<<-|<<|<&|<>|>>|>&|>\||<|>)|&>>?/

    private var rest: Substring = ""
    /// Whether a here-document follows the line.
    private var hasDocument = false

    init(_ line: String) { insert(line) }

    /// Inserts the definition of an alias, or the whole line.
    mutating func insert(_ line: String) {
        // A shell compares bytes. To Swift, a quote with an accent is no quote, and U+037E is a semicolon.
        let uncertain = line.firstIndex { character in
            if character.isWhitespace { return !" \t\n".contains(character) }
            let hasSyntax = character.unicodeScalars.contains { $0.isASCII && !$0.properties.isAlphabetic }
            return character.utf8.count > 1 && (hasSyntax || ";`".contains(character))
        }
        rest = (uncertain.map { line[..<$0] + "`" } ?? line[...]) + " " + rest
    }

    /// Whether the whole line has been read.
    var isAtEnd: Bool { rest.first.map { $0 == "#" } ?? true }

    mutating func next() -> Token? {
        while true {
            rest = rest.drop { $0 == " " || $0 == "\t" }
            guard let first = rest.first, first != "#" else { return nil }
            if rest.hasPrefix("\\\n") {
                rest.removeFirst(2)
            } else if first.isNewline {
                if hasDocument { return nil }
                rest.removeFirst()
                return .separator("\n")
            } else if let text = rest.prefixMatch(of: Self.redirection)?.0 {
                rest = rest[text.endIndex...]
                hasDocument = hasDocument || text.hasSuffix("<<") || text.hasSuffix("<<-")
                rest = rest.drop { $0 == " " || $0 == "\t" }
                guard takeWord() != nil else { return nil }
            } else if ";&|()".contains(first) {
                let text = rest.prefix { $0 == first || first == "|" && $0 == "&" }
                rest.removeFirst(text.count)
                return .separator(String(text))
            } else {
                return takeWord().map { .word($0) }
            }
        }
    }

    /// The next word; `nil` if its end is not certain. In single quotes, a backslash before the next one is text in
    /// bash, and an escape in fish.
    private mutating func takeWord() -> Word? {
        var word = Word()
        let start = rest.startIndex
        while let first = rest.first, !first.isWhitespace, !";&|)<>".contains(first) {
            guard let match = rest.prefixMatch(of: Self.piece) else { return nil }
            rest = rest[match.range.upperBound...]
            // Alone, one is a command, and the other a reserved word.
            let isCommand = ["[", "{"].contains(match.0) && word.text.isEmpty && rest.first?.isWhitespace != false
            word.text += match.plain ?? match.escaped ?? match.single ?? match.double ?? match.0
            word.isQuoted = word.isQuoted || match.plain == nil
            word.hasEqualsSign = word.hasEqualsSign || match.0.contains("=")
            if let plain = match.plain {
                // In fish, the rest may be behind spaces: `{a, b}`, `$x[1 2]`.
                let isOpen = plain.last { "{}".contains($0) } == "{" || plain.last { "[]".contains($0) } == "["
                if isOpen, !isCommand { return nil }
                word.isLiteral = word.isLiteral && (isCommand || !plain.contains(where: "*?[{".contains))
            } else if match.escaped == nil, match.single == nil {
                word.isLiteral = word.isLiteral && match.double?.contains("$") == false
            }
        }
        return start == rest.startIndex ? nil : word
    }
}
