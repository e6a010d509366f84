import ArgumentParser
import Foundation
import IndicatorBackends
import IndicatorCommands
import IndicatorCore
import IndicatorReports

/// `indicator report`: says what a script is doing, to the `indicator exec` that runs it.
struct ReportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Report what a script is doing.",
        usage: "indicator report <state> [--progress <percent> | --done <n> --total <n>] [--id <id>] [<text>]",
        discussion: """
            Under 'indicator exec', the report changes what every backend shows of the command. Elsewhere, it goes \
            to the terminal if that is known to show it (OSC 7501), and otherwise nowhere. Each report replaces the \
            one before.

              <state>                 working, blocked (it waits for you), done, error,
                                      idle (nothing to do), clear (removes the record)
              <text>                  what is being done, or for other states a message;
                                      after '--' if it begins with '-'
              --progress <percent>    how much is done: 40 or 40%
              --done <n> --total <n>  the same, counted
              --id <id>               the part of the work, such as one of several files:
                                      names joined by '/'; 'clear' removes those below, too
              --kind <kind>           what it waits for: permission, question or auth

            It never waits, and its exit status is 0 even if nothing reads the report: a script must not fail because \
            of its indicator. Wrong usage is 64.

            EXAMPLES
              indicator report working --progress 40% "Copying photos"
              indicator report working --id disk2 --done 3 --total 7
              indicator report blocked --kind question "Overwrite the old copy?"
            """
    )

    @Argument(
        parsing: .captureForPassthrough,
        help: ArgumentHelp("The state, the options and the text, as above.", valueName: "words"),
        completion: .list(ProgramStatus.State.allCases.map(\.rawValue))
    )
    var words: [String] = []

    func validate() throws { _ = try Self.status(words[...]) }

    func run() throws { Self.send(try Self.status(words[...])) }

    /// Sends a report to the `indicator exec` that runs this program, or else to a terminal that shows it.
    static func send(_ status: ProgramStatus) {
        guard let path = getenv(ProgramReports.variable), path.pointee != 0 else { return status.writeToTerminal() }
        ProgramReports.send(status.body, to: String(cString: path))
    }

    /// Reads the words after `report`; without ArgumentParser, which takes longer than the report.
    static func status(_ words: ArraySlice<String>) throws -> ProgramStatus {
        let parts = words.split(separator: "--", maxSplits: 1, omittingEmptySubsequences: false)
        var (rest, texts, options) = (parts[0], [String](), [String: String]())
        while let word = rest.popFirst() {
            if ["--help", "-h"].contains(word) { throw CleanExit.helpRequest(Self.self) }
            if word == "--version" { throw CleanExit.message(Program.version) }
            if word.hasPrefix("-") {
                let pair = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
                options[pair[0]] = pair.count > 1 ? pair[1] : rest.popFirst() ?? ""
            } else {
                texts.append(word)
            }
        }
        texts += parts.dropFirst().joined()
        func take<Value>(_ option: String, _ expected: String, _ read: (String) -> Value?) throws -> Value? {
            guard let text = options.removeValue(forKey: option) else { return nil }
            if let value = read(text) { return value }
            throw ValidationError("\(option) is '\(text)'; it must be \(expected)")
        }
        guard let state = texts.first.flatMap(ProgramStatus.State.init) else {
            throw ValidationError("The state must be working, blocked, done, error, idle or clear")
        }
        var status = ProgramStatus(state)
        status.progress = try take("--progress", "40 or 40%") { text in
            Double(text.hasSuffix("%") ? String(text.dropLast()) : text).flatMap { Percentage($0 / 100)?.value }
        }
        status.kind = try take("--kind", "permission, question or auth", ProgramStatus.Kind.init)
        let names = "names joined by '/', at most 8, each of 1 to 32 letters, digits and '_.+-'"
        status.id = try take("--id", names) { ProgramStatus.isPath($0) ? $0 : nil }
        let done = try take("--done", "a whole number") { Int($0) }
        let total = try take("--total", "a whole number") { Int($0) }
        if let option = options.keys.first { throw ValidationError("Unknown option '\(option)'") }
        if (done == nil) != (total == nil) || status.progress != nil && done != nil {
            throw ValidationError("Use either --progress 40%, or both --done 3 and --total 7")
        }
        if let done, let total, total > 0 { status.progress = Percentage(Double(done) / Double(total))?.value }
        texts.removeFirst()
        // Programs such as Codex append JSON to the command that they run for an event.
        var event: [String: Any]?
        if let last = texts.last, last.first == "{" {
            event = try? JSONSerialization.jsonObject(with: Data(last.utf8)) as? [String: Any]
        }
        if event != nil { texts.removeLast() }
        if texts.count > 1 { throw ValidationError("Quote the text: indicator report working \"Copying photos\"") }
        let keys = ["message", "last-assistant-message", "title"]
        let text = texts.first ?? keys.compactMap { event?[$0] as? String }.first
        if state == .working { status.title = text } else { status.message = text }
        return status
    }
}
