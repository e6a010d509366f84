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

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("How much is done: 40 or 40%.", valueName: "percent"),
        transform: Self.percent
    )
    var progress: Int?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("How many of --total are done.", valueName: "n"),
        transform: Self.number
    )
    var done: Int?

    @Option(parsing: .unconditional, help: ArgumentHelp("How many there are.", valueName: "n"), transform: Self.number)
    var total: Int?

    @Option(help: ArgumentHelp("The part of the work: names joined by '/'.", valueName: "id"))
    var id: String?

    @Option(help: ArgumentHelp("What it waits for: permission, question or auth.", valueName: "kind"))
    var kind: ProgramStatus.Kind?

    @Argument(help: ArgumentHelp("What is being done, or the message.", valueName: "text"))
    var text: [String] = []

    /// A number of percent, with or without the sign.
    @Sendable private static func percent(_ argument: String) throws -> Int {
        let text = argument.last == "%" ? argument.dropLast() : argument[...]
        guard let number = Double(text), number.isFinite else { throw ValidationError("expected 40 or 40%") }
        return Int(min(max(number, 0), 100))
    }

    @Sendable private static func number(_ argument: String) throws -> Int {
        guard let number = Int(argument) else { throw ValidationError("expected a whole number") }
        return number
    }

    func validate() throws {
        if (done == nil) != (total == nil) {
            throw ValidationError("--done and --total belong together: --done 3 --total 7")
        }
        if progress != nil, done != nil {
            throw ValidationError("--progress and --done are two ways to say the same; use one")
        }
        if let id, !ProgramStatus.isPath(id) {
            let names = "names joined by '/', at most 8, each of 1 to 32 letters, digits and '_.+-'"
            throw ValidationError("--id is '\(id)'; it must be \(names)")
        }
        if text.count > (event == nil ? 1 : 2) {
            throw ValidationError("Quote the text: indicator report working \"Copying photos\"")
        }
    }

    /// Sends the report to the `indicator exec` that runs this program, or else to a terminal that shows it.
    func run() {
        var status = ProgramStatus(state, kind: kind, progress: progress, id: id)
        if let done, let total, total > 0 {
            status.progress = Int(clamping: Int128(max(done, 0)) * 100 / Int128(total))
        }
        var text = text.first
        if let event, self.text.count == 1 {
            text = ["message", "last-assistant-message", "title"].lazy.compactMap { event[$0] as? String }.first
        }
        if state == .working { status.title = text } else { status.message = text }
        guard let path = getenv(ReportSocket.variable), path.pointee != 0 else { return status.writeToTerminal() }
        ReportSocket.send(status.body, to: String(cString: path))
    }

    /// The JSON that a program appends to the command that it runs for its events, as Codex does.
    private var event: [String: Any]? {
        guard let last = text.last, last.first == "{" else { return nil }
        return try? JSONSerialization.jsonObject(with: Data(last.utf8)) as? [String: Any]
    }
}

extension ReportCommand {
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
            switch (word, try? percent(value), Int(value), ProgramStatus.Kind(rawValue: value)) {
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

extension ProgramStatus.State: ExpressibleByArgument {}
extension ProgramStatus.Kind: ExpressibleByArgument {}
