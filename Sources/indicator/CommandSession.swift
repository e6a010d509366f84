import Foundation
import IndicatorBackends
import Synchronization

/// The process that leads the session of a command on a ``CommandTerminal``, between `indicator` and the command.
///
/// Without it, the command's process group would be orphaned (setpgid(2)), and Ctrl-Z could not stop it. This process
/// ends with the command's exit status or signal, so that its parent sees what it would see of the command. It forwards
/// signals that its parent or another process sends.
///
/// It does not stop with the command, because a stop signal discards a `SIGCONT` that waits (signal(7)): it notes stops
/// and reads continuations in the memory that it shares with its parent (``CommandTerminal/Report``). Each of the two
/// wakes the other one with `SIGCHLD`.
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
        var continuations = 0
        var signals = signals
        while true {
            var status: Int32 = 0
            while waitpid(command, &status, WNOHANG | WUNTRACED | WCONTINUED) == command {
                guard status & 0x7F == 0x7F else { end(ChildCommand.Ending(status: status), on: terminal) }
                let isStopped = status != 0xFFFF
                terminal.report.pointee.stop.store(isStopped ? continuations : -1, ordering: .releasing)
                if isStopped { kill(parent, SIGCHLD) }
            }
            let wanted = terminal.report.pointee.continuations.load(ordering: .acquiring)
            if wanted != continuations {
                continuations = wanted
                // The command itself may have another job in the foreground.
                let current = tcgetpgrp(STDIN_FILENO)
                let isInForeground = current != getpgrp()
                if isInForeground { foreground = current }
                // In the background, reading the terminal stops the command (`SIGTTIN`) instead of waiting.
                if terminal.report.pointee.isInForeground.load(ordering: .relaxed) != isInForeground {
                    tcsetpgrp(STDIN_FILENO, isInForeground ? getpgrp() : foreground)
                }
                kill(-command, SIGCONT)
            }
            var info = siginfo_t()
            let number = sigwaitinfo(&signals, &info)
            switch number {
            case SIGCHLD: break
            case SIGCONT where info._sifields._kill.si_pid == parent: break
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
