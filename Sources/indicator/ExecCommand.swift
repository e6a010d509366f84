public import ArgumentParser
import Foundation
public import IndicatorBackends
import IndicatorCommands
import IndicatorCore
import IndicatorReports

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
        help: ArgumentHelp(
            "The text to show; by default the command's name, with a known subcommand as in 'cargo build'.",
            valueName: "text"
        )
    )
    var label: String?

    /// Nothing in a script's `--label "$name"` is no label: without one, a failure would be told to nobody.
    private var givenLabel: String? { label.flatMap { $0.contains { !$0.isWhitespace } ? $0 : nil } }

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
        if let pid { try follow(pid) } else { runCommand() }
    }

    /// Shows a running process until it ends.
    private func follow(_ pid: Int32) throws {
        let process: RunningProcess
        do throws(Unavailability) { process = try RunningProcess(pid) } catch {
            try? Output.error.write("indicator: \(error.reason)\n")
            throw ExitCode.failure
        }
        // It may execute another program: the child of a shell does, soon after its beginning.
        func currentLabel() -> String? { givenLabel ?? process.command.map { CommandLabel($0).text } ?? process.name }
        let began = ContinuousClock.now - (process.lasted ?? .zero)
        let activity = ExecActivity(of: self, label: currentLabel() ?? "process \(pid)", began: began)
        repeat {
            activity.update(label: currentLabel(), process.position)
        } while !process.wait(milliseconds: 500)
        // Only its parent knows how it ended.
        activity.end(.unspecified)
    }

    /// A command that ends within this time is not shown: nobody could read it, and `exec` then only costs a process.
    /// Unless it fails, or reports something.
    private static let unshownTime = Duration.milliseconds(50)

    /// Runs the command, and ends this process as the command ends.
    func runCommand() -> Never {
        let line = lasted == nil ? nil : Self.takeShellLine()
        var reports: ProgramReports?
        let began = ContinuousClock.now - (lasted ?? .zero)
        func show() -> ExecActivity {
            CommandOnTerminal.begin()
            let label = givenLabel ?? CommandLabel(command).text
            return ExecActivity(of: self, label: label, began: began, reports: reports)
        }
        var child: ChildCommand
        do throws(ChildCommand.StartError) {
            // The command inherits the path. Without a socket, it finds none, and is shown as it is.
            let prepare = {
                reports = lasted == nil && SpareDescriptors.exist() ? try? ProgramReports() : nil
                reports?.raiseSignal(true)
                unsetenv(ProgramReports.variable)
                if let reports { setenv(ProgramReports.variable, reports.path, 1) }
            }
            // Unmodified: the arguments may not be UTF-8.
            let arguments = CommandLine.unsafeArgv + Int(CommandLine.argc) - command.count
            child = try ChildCommand(arguments, prepare: prepare)
        } catch {
            reports?.end()
            try? Output.error.write("indicator: \(error)\n")
            if lasted == nil { show().end(.failed("\(error)")) }
            Foundation.exit(error.status)
        }
        // Hooks of this process report nothing.
        unsetenv(ProgramReports.variable)
        var activity: ExecActivity?
        let shownAt = lasted == nil ? began + Self.unshownTime : nil
        while true {
            switch child.wait(until: activity == nil ? shownAt : nil) {
            case .due: activity = activity ?? show()
            case .stopped(let signal):
                child.stop(by: signal, after: { ProcessSignals.hooks?.willStop() })
                ProcessSignals.hooks?.didContinue()
            case .ended(let ending):
                if lasted == nil {
                    let outcome = ending.outcome(wasInterrupted: child.wasInterrupted)
                    if activity == nil, outcome.isFailure || reports?.hasReports == true { activity = show() }
                    if let activity { activity.end(outcome) } else { reports?.end() }
                } else if line?.isIgnored != true {
                    var own: ChildCommand.Ending? = ending
                    if case .exited(let status) = ending, let line {
                        // After `sh -c 'exit …'`.
                        let statuses = command.dropFirst(3).compactMap { Int32($0) }
                        own = line.typed.status(status, ofPipeline: statuses).map { .exited($0) }
                    }
                    let outcome = own?.reported.outcome(wasInterrupted: true) ?? .unspecified
                    let label = givenLabel ?? line?.typed.label?.text ?? "command"
                    ExecActivity(of: self, label: label, began: began).end(outcome)
                }
                ChildCommand.end(ending)
            }
        }
    }

    /// Takes what the shell that reports a command has passed: no other program inherits it.
    private static func takeShellLine() -> (typed: ShellLine, isIgnored: Bool)? {
        func take(_ name: String) -> String? {
            defer { unsetenv(name) }
            return getenv(name).map { String(cString: $0) }
        }
        let aliases = take(ShellInitCommand.aliasesVariable)
        guard let text = take(ShellInitCommand.lineVariable) else { return nil }
        let line = ShellLine(text, aliases: aliases ?? "")
        return (line, line.isIgnored(names: getenv(ShellInitCommand.ignoreVariable).map { String(cString: $0) }))
    }
}

extension ExecCommand {
    /// Reads the command line of `exec`, where its options are complete and correct.
    ///
    /// Without ArgumentParser, which takes longer than many a command. `nil` for everything else: it has the help and
    /// explains mistakes.
    static func reading(_ words: [String]) -> Self? {
        guard words.first == "exec" else { return nil }
        var (words, exec) = (words.dropFirst(), Self())
        (exec.label, exec.notify, exec.after, exec.lasted) = (nil, nil, nil, nil)
        (exec.pid, exec.app, exec.command) = (nil, "indicator", [])
        while words.first?.hasPrefix("-") == true, let option = words.popFirst(), option != "--" {
            guard let value = words.popFirst(), !value.hasPrefix("-") else { return nil }
            switch (option, WhenDone(rawValue: value), try? Duration.seconds(argument: value)) {
            case ("--label", _, _): exec.label = value
            case ("--notify", let when?, _): exec.notify = when
            case ("--after", _, let seconds?): exec.after = seconds
            case ("--lasted", _, let seconds?): exec.lasted = seconds
            case ("--app", _, _) where !value.isEmpty: exec.app = value
            default: return nil
            }
        }
        exec.command = Array(words)
        return words.isEmpty ? nil : exec
    }
}

extension ChildCommand.Ending {
    /// The outcome of the activity.
    ///
    /// - Parameter wasInterrupted: whether there was an interrupt, as by Ctrl-C. A program that handles it exits with
    ///   130, as shells do.
    fileprivate func outcome(wasInterrupted: Bool) -> ActivityOutcome {
        switch self {
        case .exited(0): .succeeded
        case .exited(128 + SIGINT) where wasInterrupted: .cancelled
        case .exited(let status): .failed("exit status \(status)")
        // Usually by the user.
        case .killed(SIGINT): .cancelled
        case .killed(let signal): .failed("killed by \(Self.name(of: signal))")
        }
    }

    /// The ending of a command for which a shell has this exit status: above 128, that of a signal that ends it.
    fileprivate var reported: Self {
        guard case .exited(let status) = self, case let signal = status - 128, (1...64).contains(signal),
            ![SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU].contains(signal)
        else { return self }
        return .killed(signal: signal)
    }

    private static func name(of signal: Int32) -> String {
        let names = """
            HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP TSTP TTIN TTOU \
            URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS
            """.split(separator: " ")
        return names.indices.contains(Int(signal) - 1) ? "SIG\(names[Int(signal) - 1])" : "signal \(signal)"
    }
}

extension WhenDone: ExpressibleByArgument {}
