package import ArgumentParser
import Foundation

/// Help texts, and messages about arguments, in lines that fit the terminal.
package enum HelpText {
    /// Wraps each line between words. What does not fit continues below the second column of a table, below the first
    /// argument of a usage, or else indented by two columns more than an indented line.
    package static func wrapped(_ text: String, to width: Int) -> String {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        return lines.map { wrapped($0, to: width) }.joined(separator: "\n")
    }

    private static func wrapped(_ line: Substring, to width: Int) -> String {
        guard TextWidth.columns(of: String(line)) > width else { return String(line) }
        let indentation = line.prefix { $0 == " " }
        var head = indentation
        var hanging = indentation.isEmpty || indentation.count > 10 ? indentation.count : indentation.count + 2
        if let start = line.prefixMatch(of: /USAGE: |Usage: | +[^ ]+(?: [^ ]+)* {2,}/), start.0.count < width / 2 {
            head = start.0
            hanging = head.count
        }
        // An option and its value stay together.
        let text = line.dropFirst(head.count).replacing(/\[[^\]]*\]/) { $0.0.replacing(" ", with: "\u{A0}") }
        let lines = TextWidth.wrapped(String(text), to: width - hanging)
        let indent = "\n" + String(repeating: " ", count: hanging)
        return head + lines.joined(separator: indent).replacing("\u{A0}", with: " ")
    }
}

extension ParsableCommand {
    /// Throws if the first argument should be a command and is not one: ArgumentParser would call it an unexpected
    /// argument of the default command.
    package static func requireCommand(in arguments: [String] = Array(CommandLine.arguments.dropFirst())) throws {
        let names = configuration.subcommands.compactMap { $0.configuration.commandName }
        guard let name = arguments.first, !name.hasPrefix("-"), !(names + ["help"]).contains(name) else { return }
        throw ValidationError("There is no command '\(name)'; the commands are \(names.joined(separator: ", ")).")
    }

    /// Prints the help that was asked for, or what an error says, and ends the process with its status.
    package static func end(with error: any Error) -> Never {
        let text = fullMessage(for: error, columns: 1000)
        // The others, such as completion scripts, are for programs.
        let isHelp = text.hasPrefix("OVERVIEW: ")
        guard isHelp || exitCode(for: error) != .success, !text.isEmpty else { exit(withError: error) }
        let lines = HelpText.wrapped(text, to: TerminalStyle.standardOutput().width) + "\n"
        try? (isHelp ? Output.standard : Output.error).write(lines)
        Foundation.exit(exitCode(for: error).rawValue)
    }
}
