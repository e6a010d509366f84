import ArgumentParser
import Foundation

/// Compares the indicator with its peers and limits.
@main
struct IndicatorBenchmark: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "Scripts/benchmark",
        abstract: "Compares the indicator with its peers and limits, in one run.",
        discussion: """
            Each time is the shortest of 15 turns; the subject and its peer or limit alternate. Times vary with the \
            machine and its load, so compare the ratios. A missed goal is not a failure: the exit status is 0.
            """
    )

    @Flag(help: "Print the figures as JSON.")
    var json = false

    @Flag(help: "Print the table as Markdown, for the documentation.")
    var markdown = false

    @Flag(help: "Measure very briefly, to check that everything works; the figures are not meaningful.")
    var quick = false

    @Argument(
        help: ArgumentHelp("Measure only these: \(Plan.names.joined(separator: ", ")).", valueName: "name")
    )
    var names: [String] = []

    func validate() throws {
        if json, markdown { throw ValidationError("--json and --markdown exclude each other.") }
        if let unknown = names.first(where: { !Plan.names.contains($0) }) {
            throw ValidationError("Unknown name '\(unknown)'; the names are \(Plan.names.joined(separator: ", ")).")
        }
    }

    func run() throws {
        // A child process that has ended is reported as an error; writing to it must not end this process.
        signal(SIGPIPE, SIG_IGN)
        let figures = Plan(only: names).run(quick ? .quick : .full) { names in
            FileHandle.standardError.write(Data("Measuring \(names.joined(separator: ", "))\n".utf8))
        }
        for figure in figures {
            guard case .leftOut(let reason) = figure.outcome else { continue }
            FileHandle.standardError.write(Data("\(figure.name) was left out: \(reason)\n".utf8))
        }
        if json {
            print(try FigureJSON.text(figures))
        } else {
            let table = FigureTable(figures)
            print(markdown ? table.markdown : table.text)
        }
    }
}
