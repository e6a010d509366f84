public import ArgumentParser
import Foundation
public import IndicatorBackends
import IndicatorCommands
import IndicatorCore

/// `indicator exec`: runs a command as an activity.
struct ExecCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "exec",
        abstract: "Run a command, show it as an activity, and notify when it is done.",
        usage: """
            indicator exec [--label <text>] [--notify <when>] [--after <seconds>] [--app <name>] <command> ...
            indicator exec [--label <text>] [--notify <when>] [--after <seconds>] [--app <name>] --pid <pid>
            """,
        discussion: """
            The command runs as without 'indicator': with the same terminal, streams, environment and arguments. \
            Ctrl-C, Ctrl-Z, 'fg' and 'kill' work as usual, and 'indicator' ends with its exit status or signal. The \
            status is 127 if there is no such command, and 126 if it cannot be run.

            The command is shown on the backends of the config file of the app 'indicator', or of --app, after the \
            start delay. A mistake in that file does not stop the command.

            After a command of at least 10 seconds, a notification shows its outcome: on the desktop, or, over SSH or \
            without a desktop, in a terminal that is known to show notifications. A command that Ctrl-C ends, by the \
            signal or with the status 130, causes none.

            With --pid, it shows a running process until that ends, and the progress of one that reads a file, such as \
            cp, dd, tar or a sending rsync: the position in its largest file. The exit status is then 0, whatever that \
            of the process is, or 1 if there is no such process. It needs Linux 5.3.

            EXAMPLES
              indicator exec -- make -j4
              indicator exec --label Backup -- sh -c 'tar c . | ssh host "cat >b.tar"'
              indicator exec --notify failures --after 60 -- ./deploy production
              indicator exec --pid "$(pgrep -o rsync)"
            """
    )

    @Option(
        help: ArgumentHelp("The text to show; by default the command's name and first plain word.", valueName: "text")
    )
    var label: String?

    @Option(
        help: ArgumentHelp(
            "When to leave a notification: never, failures or always. (default: always)",
            valueName: "when"
        )
    )
    var notify: WhenDone?

    // Unconditional: "-1" is a wrong number, not another option.
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Only notify if the command lasted this long. (default: 10)", valueName: "seconds"),
        transform: Duration.seconds
    )
    var after: Duration?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "For a shell: report a command that has lasted this long and ended with the status of this one ($?).",
            valueName: "seconds"
        ),
        transform: Duration.seconds
    )
    var lasted: Duration?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Show a running process until it ends, instead of a command.", valueName: "pid"),
        transform: Self.processID
    )
    var pid: Int32?

    @Option(help: ArgumentHelp("The name of the app whose config file is used.", valueName: "name"))
    var app = "indicator"

    @Argument(
        parsing: .captureForPassthrough,
        help: ArgumentHelp("The command and its arguments.", valueName: "command"),
        completion: Self.commandCompletion
    )
    var command: [String] = []

    /// Commands and files: every shell has its own way to list them.
    private static var commandCompletion: CompletionKind {
        switch CompletionShell.requesting {
        case .bash?: .shellCommand(#"compgen -A command -A file -- "${cur}""#)
        case .zsh?: .shellCommand("print -l -- ${(k)commands} ${PREFIX}*(N)")
        case .fish?:
            .shellCommand(#"complete -C "$(commandline -ct)"; __fish_complete_path "$(commandline -ct)""#)
        default: .default
        }
    }

    @Sendable private static func processID(_ argument: String) throws -> Int32 {
        guard let id = Int32(argument), id > 0 else { throw ValidationError("expected the number of a process") }
        return id
    }

    mutating func validate() throws {
        if command.first == "--" {
            command.removeFirst()
        } else if let option = command.first, option.hasPrefix("-") {
            if ["--help", "-h"].contains(option) { throw CleanExit.helpRequest(self) }
            if option == "--version" { throw CleanExit.message(Program.version) }
            throw ValidationError(
                "Unknown option '\(option)'. A command of that name needs '--' before it: indicator exec -- \(option)"
            )
        }
        if pid != nil {
            guard command.isEmpty, lasted == nil else {
                throw ValidationError("--pid shows a running process; it cannot be used with a command or --lasted")
            }
        } else if command.isEmpty {
            throw ValidationError("Name the command: indicator exec make")
        }
        if app.isEmpty { throw ValidationError("--app must not be empty") }
    }

    func run() throws {
        // Unmodified: they may not be UTF-8.
        let arguments = ProgramArguments(CommandLine.unsafeArgv + Int(CommandLine.argc) - command.count)
        let options = ExecOptions(
            label: label,
            notify: notify,
            after: after,
            lasted: lasted,
            app: app,
            arguments: arguments
        )
        if let pid { try follow(pid, options) } else { options.run() }
    }

    /// Shows a running process until it ends.
    private func follow(_ pid: Int32, _ options: ExecOptions) throws {
        let process: RunningProcess
        do throws(RunningProcess.Problem) {
            process = try RunningProcess(pid)
        } catch {
            try? Output.error.write("indicator: \(error)\n")
            throw ExitCode.failure
        }
        // It may execute another program: the child of a shell does, soon after its beginning.
        func currentLabel() -> String? { label ?? process.command.map { CommandLabel($0).text } ?? process.name }
        let activity = options.activity(
            currentLabel() ?? "process \(pid)",
            since: .now - (process.lasted ?? .zero)
        )
        repeat {
            activity.update(label: currentLabel(), process.position)
        } while !process.wait(milliseconds: 500)
        // Only its parent knows how it ended.
        activity.end(.unspecified)
    }
}

extension WhenDone: ExpressibleByArgument {}
