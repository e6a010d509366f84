import ArgumentParser
import IndicatorCore
import Foundation
import IndicatorBackends
import IndicatorCommands
import IndicatorReports

/// `indicator report`: says what a script is doing, to the `indicator exec` that runs it.
struct ReportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Report what a script is doing.",
        usage: "indicator report <state> [--progress <percent> | --done <n> --total <n>] [--id <id>] [<text>]",
        discussion: """
            Under 'indicator exec', the report changes what is shown of the command, on every backend: the label, the \
            progress, that it waits for you, and how its work ended, even if the command goes on. Elsewhere, it goes \
            to the terminal if that is known to show it (OSC 7501), and otherwise nowhere.

            The states are working, blocked (it waits for you), done, error, idle (there is nothing to do) and clear \
            (what was reported is removed). Each report replaces the one before.

            <text> is what is being done, or for the other states a message. With --id, the report is about a part of \
            the work, such as one of several files; 'clear' also removes what is below: clear --id a removes a/b. \
            A text that begins with '-' needs '--' before it.

            It never waits, and its exit status is 0 even if nothing reads the report: a script must not fail because \
            of its indicator. Wrong usage is 64.

            EXAMPLES
              indicator exec ./backup.sh
                # in backup.sh:
                indicator report working --progress 40% "Copying photos"
                indicator report working --id disk2 --done 3 --total 7
                indicator report blocked --kind question "Overwrite the old copy?"
                indicator report error "The disk is full"
            """
    )

    @Argument(help: ArgumentHelp("working, blocked, done, error, idle or clear.", valueName: "state"))
    var state: ProgramStatus.State

    @Option(parsing: .unconditional, help: ArgumentHelp("How much is done: 40 or 40%.", valueName: "percent"))
    var progress: Percentage?

    @Option(parsing: .unconditional, help: ArgumentHelp("How many of --total are done.", valueName: "n"))
    var done: Int?

    @Option(parsing: .unconditional, help: ArgumentHelp("How many there are.", valueName: "n"))
    var total: Int?

    @Option(help: ArgumentHelp("The part of the work: names joined by '/'.", valueName: "id"))
    var id: String?

    @Option(help: ArgumentHelp("What it waits for: permission, question or auth.", valueName: "kind"))
    var kind: ProgramStatus.Kind?

    @Argument(help: ArgumentHelp("What is being done, or the message.", valueName: "text"))
    var text: [String] = []

    /// The text; that of the JSON which a program appends to the command that it runs for its events, as Codex does, if
    /// there is no other.
    private var texts: [String] {
        guard let last = text.last, last.first == "{",
            let event = try? JSONSerialization.jsonObject(with: Data(last.utf8)) as? [String: Any]
        else { return text }
        let messages = ["message", "last-assistant-message", "title"].compactMap { event[$0] as? String }
        return text.count > 1 ? text.dropLast() : Array(messages.prefix(1))
    }

    func validate() throws {
        if (done == nil) != (total == nil) || progress != nil && done != nil {
            throw ValidationError("Use either --progress 40%, or both --done 3 and --total 7")
        }
        if let id, !ProgramStatus.isPath(id) {
            let names = "names joined by '/', at most 8, each of 1 to 32 letters, digits and '_.+-'"
            throw ValidationError("--id is '\(id)'; it must be \(names)")
        }
        if texts.count > 1 { throw ValidationError("Quote the text: indicator report working \"Copying photos\"") }
    }

    /// Sends the report to the `indicator exec` that runs this program, or else to a terminal that shows it.
    func run() {
        var status = ProgramStatus(state, kind: kind, progress: progress?.value, id: id)
        if let done, let total, total > 0 { status.progress = Percentage(Double(done) / Double(total))?.value }
        if state == .working { status.title = texts.first } else { status.message = texts.first }
        guard let path = getenv(ReportSocket.variable), path.pointee != 0 else { return status.writeToTerminal() }
        ReportSocket.send(status.body, to: String(cString: path))
    }

    /// Reads the command line of `report`, where it is complete and correct; `nil` for everything else.
    ///
    /// Without ArgumentParser, which takes longer than the report. It has the help and explains mistakes.
    static func reading(_ words: [String]) -> Self? {
        var (words, report) = (words[...], Self())
        guard words.popFirst() == "report", let name = words.popFirst(), let state = ProgramStatus.State(rawValue: name)
        else { return nil }
        (report.state, report.progress, report.done, report.total) = (state, nil, nil, nil)
        (report.id, report.kind, report.text) = (nil, nil, [])
        while let word = words.popFirst() {
            guard word.hasPrefix("-") else {
                report.text.append(word)
                continue
            }
            guard let value = words.popFirst() else { return nil }
            switch (word, Percentage(argument: value), Int(value), ProgramStatus.Kind(rawValue: value)) {
            case ("--progress", let percent?, _, _): report.progress = percent
            case ("--done", _, let number?, _): report.done = number
            case ("--total", _, let number?, _): report.total = number
            case ("--kind", _, _, let kind?): report.kind = kind
            case ("--id", _, _, _): report.id = value
            default: return nil
            }
        }
        return (try? report.validate()) == nil ? nil : report
    }
}

extension Percentage: ExpressibleByArgument {
    /// A number of percent, with or without the sign.
    package init?(argument: String) {
        let number = Double(argument.last == "%" ? argument.dropLast() : argument[...])
        self.init(number.map { $0 / 100 })
    }
}

extension ProgramStatus.State: ExpressibleByArgument {}
extension ProgramStatus.Kind: ExpressibleByArgument {}
