public import ArgumentParser
import Foundation
public import IndicatorBackends
import IndicatorCommands
import IndicatorCore
import IndicatorThreads

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
            The command runs as without 'indicator': with the same streams, environment and arguments. While bars are \
            shown, its terminal is a pseudo terminal with the same modes and size. \
            Ctrl-C, Ctrl-Z, 'fg' and 'kill' work as usual, and 'indicator' ends with its exit status or signal. The \
            status is 127 if there is no such command, and 126 if it cannot be run.

            The command is shown on the backends of the config file of the app 'indicator', or of --app, after the \
            start delay. A mistake in that file does not stop the command.

            After a command of at least 10 seconds, a notification shows its outcome: on the desktop, or, over SSH or \
            without a desktop, in a terminal that is known to show notifications. Ctrl-C causes no notification.

            With --pid, it shows a running process until that ends, and the progress of one that reads a file, such as \
            cp, dd, tar or a sending rsync: the position in its largest file. The exit status is then 0, whatever that \
            of the process is, or 1 if there is no such process. It needs Linux 5.3.

            There is no 'begin' and no 'end': an activity lasts as long as the process that began it.

            EXAMPLES
              indicator exec -- make -j4
              indicator exec --label Backup -- sh -c 'tar cf - . | ssh host "cat > backup.tar"'
              indicator exec --notify failures --after 60 -- ./deploy production
              indicator exec --pid "$(pgrep -o rsync)"
            """
    )

    @Option(help: ArgumentHelp("The text to show; by default the command's name.", valueName: "text"))
    var label: String?

    @Option(
        help: ArgumentHelp(
            "When to leave a notification: never, failures or always. (default: always)",
            valueName: "when"
        )
    )
    var notify: WhenDone?

    @Option(help: ArgumentHelp("Only notify if the command lasted this long. (default: 10)", valueName: "seconds"))
    var after: Double?

    @Option(
        help: ArgumentHelp(
            "For a shell: report a command that has lasted this long and ended with the status of this one ($?).",
            valueName: "seconds"
        )
    )
    var lasted: Double?

    @Option(help: ArgumentHelp("Show a running process until it ends, instead of a command.", valueName: "pid"))
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

    /// A command that ends within this time is not shown: nobody could read it, and `exec` then only costs a process.
    private static let unshownTime = Duration.milliseconds(50)

    mutating func validate() throws {
        if command.first == "--" {
            command.removeFirst()
        } else if let option = command.first, option.hasPrefix("-") {
            if ["--help", "-h"].contains(option) { throw CleanExit.helpRequest(self) }
            throw ValidationError(
                "Unknown option '\(option)'. A command of that name needs '--' before it: indicator exec -- \(option)"
            )
        }
        if let pid {
            guard command.isEmpty, lasted == nil else {
                throw ValidationError("--pid shows a running process; it cannot be used with a command or --lasted")
            }
            guard pid > 0 else { throw ValidationError("--pid is '\(pid)'; it must be the number of a process") }
        } else if command.isEmpty {
            throw ValidationError("Name the command: indicator exec make")
        }
        for (name, seconds) in [("after", after), ("lasted", lasted)] {
            guard let seconds, !(0...1e9).contains(seconds) else { continue }
            throw ValidationError("--\(name) is '\(seconds)'; it must be a number of seconds, 0 or more")
        }
        if app.isEmpty { throw ValidationError("--app must not be empty") }
    }

    func run() throws {
        if let pid { return try follow(pid) }
        // Unmodified: they may not be UTF-8.
        let arguments = CommandLine.unsafeArgv + Int(CommandLine.argc) - command.count
        // Before the command writes to the terminal.
        TerminalRelay.clearLeftovers()
        let terminal = lasted == nil ? CommandTerminal(app: app) : nil
        var child: ChildCommand
        do throws(ChildCommand.StartError) {
            child = try ChildCommand(arguments, on: terminal)
        } catch {
            try? Output.error.write("indicator: \(error)\n")
            throw ExitCode(error.status)
        }
        let began = ContinuousClock.now - .seconds(lasted ?? 0)
        var shown: ShownCommand?
        var deadline = lasted == nil ? began + Self.unshownTime : nil
        while true {
            switch child.wait(until: deadline) {
            case .deadline:
                shown = shown ?? shownCommand(began)
                // Without any thread, the indicator cannot try again itself.
                let hasThreads = terminal?.startThreads() != false && ServiceThread.shared.start()
                deadline = hasThreads ? nil : .now + .seconds(1)
            case .stopped(let signal):
                child.stop(by: signal, after: ProcessSignals.suspendTerminals)
                ProcessSignals.resumeTerminals()
            case .ended(let ending):
                // As the command would, until a signal ends it.
                while terminal?.finish(within: .milliseconds(50)) == false, !child.wasAskedToEnd {}
                if lasted == nil {
                    shown?.end(ending.outcome)
                } else if let reported = ending.reported, !isIgnored {
                    shownCommand(began).end(reported.outcome)
                }
                terminal?.end()
                ChildCommand.end(ending)
            }
        }
    }

    /// Shows a running process until it ends.
    private func follow(_ pid: Int32) throws {
        let process: RunningProcess
        do throws(RunningProcess.Problem) {
            process = try RunningProcess(pid)
        } catch {
            try? Output.error.write("indicator: \(error)\n")
            throw ExitCode.failure
        }
        TerminalRelay.clearLeftovers()
        let shown = ShownCommand(
            label: label ?? process.command.map(Self.label) ?? process.name ?? "process \(pid)",
            began: .now - (process.lasted ?? .zero),
            app: app,
            notify: notify,
            after: after.map { .seconds($0) }
        )
        repeat {
            shown.update(process.position)
            // Without any thread, the indicator cannot try again itself.
            _ = ServiceThread.shared.start()
        } while !process.wait(milliseconds: 500)
        // Only its parent knows how it ended.
        shown.end(.unspecified)
    }

    /// The line of the shell that reports a command.
    private var typed: TypedCommand? {
        guard lasted != nil else { return nil }
        let typed = ProcessInfo.processInfo.environment[ShellInitCommand.lineVariable].map(TypedCommand.init)
        return typed?.label.isEmpty == false ? typed : nil
    }

    /// Whether the user does not want to know about the command that a shell reports.
    private var isIgnored: Bool {
        guard let typed else { return false }
        let names = ProcessInfo.processInfo.environment[ShellInitCommand.ignoreVariable]
        return names.map { $0.split { $0 == " " || $0 == ":" }.contains { $0 == typed.name } }
            ?? typed.isIgnored
    }

    private func shownCommand(_ began: ContinuousClock.Instant) -> ShownCommand {
        // Who looks at the shell sees that its command has ended.
        let isFocused = lasted == nil || notify == .never ? false : TerminalFocus.isFocused
        return ShownCommand(
            label: label ?? typed?.label ?? Self.label(for: command),
            began: began,
            app: app,
            notify: isFocused == true ? .never : notify,
            after: after.map { .seconds($0) },
            prefersTerminal: isFocused == nil && TerminalFocus.isKnownToTerminal
        )
    }

    /// The name of the command, and its first argument if that is a word such as `build` in `cargo build`. Other
    /// arguments may be long or secret.
    static func label(for command: [String]) -> String {
        let name = command.first?.split(separator: "/").last.map(String.init) ?? ""
        guard let word = command.dropFirst().first, word.count <= 20, word.first?.isLetter == true,
            word.allSatisfy({ $0.isASCII && ($0.isLowercase || $0 == "-") })
        else { return name }
        return "\(name) \(word)"
    }
}

extension WhenDone: ExpressibleByArgument {}

extension ChildCommand.Ending {
    /// The outcome of the activity.
    fileprivate var outcome: ActivityOutcome {
        switch self {
        case .exited(0): .succeeded
        case .exited(let status): .failed("exit status \(status)")
        // Usually by the user.
        case .killed(SIGINT): .cancelled
        case .killed(let signal): .failed("killed by \(Self.name(of: signal))")
        }
    }

    /// The ending of a command for which a shell has this exit status: above 128, that of a signal. `nil` if the
    /// command has not ended, but was stopped.
    fileprivate var reported: Self? {
        guard case .exited(let status) = self, (1...64).contains(status - 128) else { return self }
        let signal = status - 128
        return [SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU].contains(signal) ? nil : .killed(signal: signal)
    }

    private static func name(of signal: Int32) -> String {
        let names: [Int32: String] = [
            SIGHUP: "SIGHUP", SIGINT: "SIGINT", SIGQUIT: "SIGQUIT", SIGILL: "SIGILL", SIGTRAP: "SIGTRAP",
            SIGABRT: "SIGABRT", SIGBUS: "SIGBUS", SIGFPE: "SIGFPE", SIGKILL: "SIGKILL", SIGUSR1: "SIGUSR1",
            SIGSEGV: "SIGSEGV", SIGUSR2: "SIGUSR2", SIGPIPE: "SIGPIPE", SIGALRM: "SIGALRM", SIGTERM: "SIGTERM",
            SIGXCPU: "SIGXCPU", SIGXFSZ: "SIGXFSZ", SIGSYS: "SIGSYS",
        ]
        return names[signal] ?? "signal \(signal)"
    }
}
