import Foundation
import IndicatorBackends

/// The process that leads the session of a command on a ``CommandTerminal``, between `indicator` and the command.
///
/// Without it, the command's process group would be orphaned (setpgid(2)), and Ctrl-Z could not stop it. This process
/// behaves like the command: it stops after the command has stopped, and ends with its exit status or signal, so that
/// its parent sees what it would see of the command. It forwards signals that its parent or another process sends.
///
/// When its parent continues it, the value of the `SIGCONT` is 1 if the command continues in the foreground of the
/// session, and 0 in the background, where reading the terminal stops the command (`SIGTTIN`) instead of waiting.
enum CommandSession {
    /// Runs in a child of fork(2) with one thread.
    ///
    /// - Parameters:
    ///   - parent: the process ID of `indicator`.
    ///   - signals: the signals to wait for, all of which are blocked.
    ///   - mask: the blocked signals of the command.
    static func run(
        _ arguments: Arguments,
        on terminal: CommandTerminal,
        of parent: pid_t,
        signals: sigset_t,
        mask: sigset_t
    ) -> Never {
        terminal.closeParentSide()
        setsid()
        // The first terminal that the leader of a session opens becomes its controlling terminal.
        let inner = open(terminal.path, O_RDWR)
        guard inner >= 0 else { fail("cannot open '\(terminal.path)': \(String(cString: strerror(errno)))", 126) }
        for stream in terminal.streams { dup2(inner, stream) }
        if inner > STDERR_FILENO { close(inner) }
        let spawn = CommandSpawn(mask: mask, ownsGroup: true)
        spawn.enterForeground(of: STDIN_FILENO)
        let command: pid_t
        do throws(ChildCommand.StartError) {
            command = try spawn(arguments)
        } catch {
            fail("\(error)", error.status)
        }
        terminal.report.pointee.command = command
        var foreground = command
        var signals = signals
        while true {
            var status: Int32 = 0
            while waitpid(command, &status, WNOHANG | WUNTRACED) == command {
                guard status & 0x7F == 0x7F else { end(ChildCommand.Ending(status: status), on: terminal) }
                kill(getpid(), SIGSTOP)
            }
            var info = siginfo_t()
            let number = sigwaitinfo(&signals, &info)
            switch number {
            case SIGCHLD: break
            case SIGCONT where info._sifields._kill.si_pid == parent:
                // The command itself may have another job in the foreground.
                let current = tcgetpgrp(STDIN_FILENO)
                let isInForeground = current != getpgrp()
                if isInForeground { foreground = current }
                let isWanted = info._sifields._rt.si_sigval.sival_int == 1
                if isWanted != isInForeground { tcsetpgrp(STDIN_FILENO, isWanted ? foreground : getpgrp()) }
                kill(-command, SIGCONT)
            // From the kernel: the other side of the terminal was closed, because the parent has ended. It may not have
            // been replaced yet as the parent.
            case SIGHUP:
                if info.si_code > 0 { terminal.repair() }
                // As the kernel does when a terminal is closed.
                kill(-command, SIGHUP)
            case 1...: kill(command, number)
            default: break
            }
        }
    }

    private static func fail(_ message: String, _ status: Int32) -> Never {
        let message = Array("indicator: \(DisplayText.escaped(message))\r\n".utf8)
        _ = write(STDERR_FILENO, message, message.count)
        exit(status)
    }

    private static func end(_ ending: ChildCommand.Ending, on terminal: CommandTerminal) -> Never {
        // Now: the end of the session's leader resets them. A command that was killed has left them by mistake.
        if case .exited = ending { terminal.report.pointee.modes = TerminalModes(of: STDIN_FILENO) }
        // When its leader ends, the processes in the foreground of the session get SIGHUP: those that the command has
        // left behind stay.
        tcsetpgrp(STDIN_FILENO, getpgrp())
        ChildCommand.end(ending)
    }
}
