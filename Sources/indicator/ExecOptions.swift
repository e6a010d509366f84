import Foundation
import IndicatorBackends
import IndicatorCommands
import IndicatorCore
import IndicatorReports

/// The options of `exec`, and what it does with them.
struct ExecOptions {
    /// The text to show; `nil`: the name of the command.
    var label: String?
    /// When to notify of the end; `nil`: the setting of the config file, or always.
    var notify: WhenDone?
    /// How long the command must last for that; `nil`: the setting of the config file, or 10 seconds.
    var after: Duration?
    /// How long the command of a shell has lasted; `nil` for a command that is run and shown.
    var lasted: Duration?
    /// The name of the app whose config file is used.
    var app = "indicator"
    /// The unmodified command and its arguments, terminated by a null pointer. They may not be UTF-8.
    var arguments: ProgramArguments

    /// A command that ends within this time is not shown: nobody could read it, and `exec` then only costs a process.
    /// Unless it fails.
    private static let unshownTime = Duration.milliseconds(50)

    /// Runs the command, and ends this process as the command ends.
    func run() -> Never {
        let line = lasted == nil ? nil : Self.takeShellLine()
        // Before the command, which inherits the path. Without a socket, it finds none, and is shown as it is.
        let socket = lasted == nil ? try? ReportSocket() : nil
        unsetenv(ReportSocket.variable)
        if let socket { setenv(ReportSocket.variable, socket.path, 1) }
        var child: ChildCommand
        do throws(ChildCommand.StartError) {
            child = try ChildCommand(arguments)
        } catch {
            socket?.unlink()
            try? Output.error.write("indicator: \(error)\n")
            exit(error.status)
        }
        // Hooks of this process report nothing.
        unsetenv(ReportSocket.variable)
        let began = ContinuousClock.now - (lasted ?? .zero)
        var activity: ExecActivity?
        let shownAt = began + Self.unshownTime
        var deadline: ContinuousClock.Instant? = lasted == nil ? began : nil
        while true {
            switch child.wait(until: deadline) {
            case .deadline:
                // What is reported is read early: the queue of a socket is short.
                if socket?.hasReports != true, .now < shownAt {
                    deadline = min(shownAt, socket == nil ? shownAt : .now + .milliseconds(5))
                    continue
                }
                activity = commandActivity(since: began, socket)
                deadline = nil
            case .stopped(let signal):
                child.stop(by: signal, after: ProcessSignals.willStop)
                ProcessSignals.didContinue()
            case .ended(let ending):
                if lasted == nil {
                    let outcome = ending.outcome(wasInterrupted: child.wasInterrupted)
                    if activity == nil, outcome.isFailure || socket?.hasReports == true {
                        activity = commandActivity(since: began, socket)
                    }
                    if let activity { activity.end(outcome) } else { socket?.unlink() }
                } else if let reported = ending.reported, line?.isIgnored != true {
                    lineActivity(line?.text, since: began).end(reported.outcome(wasInterrupted: true))
                }
                ChildCommand.end(ending)
            }
        }
    }

    /// Takes what the shell that reports a command has passed: no other program inherits it.
    private static func takeShellLine() -> (text: String?, isIgnored: Bool)? {
        func take(_ name: String) -> String? {
            defer { unsetenv(name) }
            return getenv(name).map { String(cString: $0) }
        }
        let aliases = take(ShellInitCommand.aliasesVariable)
        guard let text = take(ShellInitCommand.lineVariable) else { return nil }
        let line = ShellLine(text, aliases: aliases ?? "")
        let names = getenv(ShellInitCommand.ignoreVariable).map { String(cString: $0) }
        return (line.label?.text, line.isIgnored(names: names))
    }

    /// Shows the command that runs.
    private func commandActivity(since began: ContinuousClock.Instant, _ socket: ReportSocket?) -> ExecActivity {
        CommandOnTerminal.begin()
        return activity(CommandLabel(words).text, since: began, socket: socket)
    }

    /// Shows a shell's line that has ended.
    private func lineActivity(_ text: String?, since began: ContinuousClock.Instant) -> ExecActivity {
        // Who looks at the shell sees that its command has ended.
        let isFocused = notify == .never ? false : TerminalFocus.isFocused
        return activity(
            text ?? "command",
            since: began,
            isQuiet: isFocused == true,
            prefersTerminal: isFocused == nil && TerminalFocus.isKnownToTerminal
        )
    }

    /// Shows a command.
    ///
    /// - Parameters:
    ///   - label: the label unless the options have one.
    ///   - began: when it began.
    ///   - isQuiet: whether its end causes no notification, whatever the options say.
    ///   - prefersTerminal: whether the terminal notifies instead of the desktop.
    ///   - socket: where the command reports its work.
    func activity(
        _ label: String,
        since began: ContinuousClock.Instant,
        isQuiet: Bool = false,
        prefersTerminal: Bool = false,
        socket: ReportSocket? = nil
    ) -> ExecActivity {
        ExecActivity(
            label: self.label ?? label,
            began: began,
            app: app,
            notify: isQuiet ? .never : notify,
            after: after,
            prefersTerminal: prefersTerminal,
            socket: socket
        )
    }

    /// The first words of the command.
    private var words: [String] {
        guard let name = arguments[0] else { return [] }
        return [String(cString: name)] + (arguments[1].map { [String(cString: $0)] } ?? [])
    }
}

extension ExecOptions {
    /// Reads the command line of `exec`, where its options are complete and correct.
    ///
    /// Without ArgumentParser, which takes longer than many a command. `nil` for everything else: it has the help and
    /// explains mistakes.
    init?(_ words: ProgramArguments) {
        self.init(arguments: words)
        guard words[0] != nil, let command = words[1], strcmp(command, "exec") == 0 else { return nil }
        arguments += 2
        while let word = arguments[0], word.pointee == 0x2D /* - */ {
            arguments += 1
            if strcmp(word, "--") == 0 { break }
            guard let value = arguments[0].map({ String(cString: $0) }), !value.hasPrefix("-") else { return nil }
            arguments += 1
            let seconds = try? Duration.seconds(argument: value)
            switch (String(cString: word), WhenDone(rawValue: value), seconds) {
            case ("--label", _, _): label = value
            case ("--notify", let when?, _): notify = when
            case ("--after", _, let seconds?): after = seconds
            case ("--lasted", _, let seconds?): lasted = seconds
            case ("--app", _, _) where !value.isEmpty: app = value
            default: return nil
            }
        }
        if arguments[0] == nil { return nil }
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
