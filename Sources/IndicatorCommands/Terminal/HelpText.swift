package import ArgumentParser
import Foundation

/// Help texts and argument errors, wrapped to the terminal's width.
package enum HelpText {
    /// Wraps each line between words. Continuation lines are aligned with the second column of a table or the first
    /// argument of a usage. Those of other indented lines are indented by two more columns. Where a second column would
    /// begin in the right half, its lines begin at the left.
    package static func wrapped(_ text: String, to width: Int) -> String {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        return lines.map { wrapped($0, to: width) }.joined(separator: "\n")
    }

    private static func wrapped(_ line: Substring, to width: Int) -> String {
        guard TextWidth.columns(of: String(line)) > width else { return String(line) }
        let indentation = line.prefix { $0 == " " }
        var head = indentation.count < width / 2 ? indentation : indentation.prefix(4)
        var hanging = head.isEmpty || indentation.count > 10 ? head.count : head.count + 2
        // ArgumentParser's second column begins after 26 characters, of which an option may leave one as a space.
        let heads = /USAGE: |Usage: | {2}[-<].{22} (?=[^ ])| +[^ ]+(?: [^ ]+)* {2,}/
        if let start = line.prefixMatch(of: heads), start.0.count < width / 2 {
            head = start.0
            hanging = head.count
        }
        let room = width - hanging
        // Does not separate an option from its value, if they fit into a line.
        let text = line.dropFirst(max(head.count, indentation.count))
            .replacing(/\[[^\]]*\]/) { $0.0.count > room ? $0.0 : $0.0.replacing(" ", with: "\u{A0}")[...] }
        let lines = TextWidth.wrapped(String(text), to: room)
        let indent = "\n" + String(repeating: " ", count: hanging)
        return head + lines.joined(separator: indent).replacing("\u{A0}", with: " ")
    }
}

extension ParsableCommand {
    /// Throws if the first argument is not a command. ArgumentParser would report it as an unexpected argument of the
    /// default command.
    package static func requireCommand(in arguments: [String] = Array(CommandLine.arguments.dropFirst())) throws {
        let names = configuration.subcommands.compactMap { $0.configuration.commandName }
        guard let name = arguments.first, !name.hasPrefix("-"), !(names + ["help"]).contains(name) else { return }
        throw ValidationError("There is no command '\(name)'; the commands are \(names.joined(separator: ", ")).")
    }

    /// Prints the requested help or an error's message, and ends the process with its status.
    package static func end(with error: any Error) -> Never {
        let text = fullMessage(for: error, columns: 1000)
        // Other texts without an error, such as completion scripts, are not wrapped.
        let isHelp = text.hasPrefix("OVERVIEW: ")
        guard isHelp || exitCode(for: error) != .success, !text.isEmpty else { exit(withError: error) }
        let lines = HelpText.wrapped(text, to: TerminalStyle.standardOutput().width) + "\n"
        try? (isHelp ? Output.standard : Output.error).write(lines)
        Foundation.exit(exitCode(for: error).rawValue)
    }
}
