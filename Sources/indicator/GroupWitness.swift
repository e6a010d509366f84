import CLinux
import Foundation

/// A process in this one's group, which shows whether a signal was sent to the group, and so to the command, too.
///
/// The kernel reports who sent a signal, but not whether it was sent to a process or to its group. The witness blocks
/// all signals, so that those of the group stay pending until this process asks for them. It has them earlier than this
/// process, because the kernel begins with the newest member of a group. It ends with this process.
struct GroupWitness {
    private let identifier: pid_t
    private let socket: CInt

    /// Starts it, in a process with one thread that blocks the signals; `nil` if there can be no further process or
    /// descriptor.
    init?() {
        var ends: [CInt] = [-1, -1]
        let kind = Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { return nil }
        identifier = linux_fork()
        if identifier == 0 {
            close(ends[0])
            Self.answer(on: ends[1])
        }
        socket = ends[0]
        close(ends[1])
        guard identifier > 0 else {
            close(socket)
            return nil
        }
    }

    private static func answer(on socket: CInt) -> Never {
        var number: UInt8 = 0
        while read(socket, &number, 1) == 1 {
            var (set, none) = (ChildCommand.set(of: Int32(number)), timespec())
            var isPending: UInt8 = sigtimedwait(&set, nil, &none) > 0 ? 1 : 0
            _ = write(socket, &isPending, 1)
        }
        _exit(0)
    }

    /// Whether the group has received a signal, too. Called for each signal that this process receives, so that none
    /// stays pending.
    func hasReceived(_ number: Int32) -> Bool {
        var value = UInt8(number)
        var answer = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        guard write(socket, &value, 1) == 1 else { return false }
        // SIGSTOP may have stopped the group, and SIGCONT continued only this process.
        let isStopped = poll(&answer, 1, 100) == 0
        if isStopped {
            kill(identifier, SIGCONT)
            poll(&answer, 1, 5000)
        }
        guard answer.revents & Int16(POLLIN) != 0, read(socket, &value, 1) == 1 else {
            // It was killed, or does not run: it is not asked again.
            shutdown(socket, Int32(SHUT_RDWR))
            return false
        }
        // The SIGCONT above is not one of the group's.
        if isStopped, number != SIGCONT { _ = hasReceived(SIGCONT) }
        return value == 1 && !(isStopped && number == SIGCONT)
    }

    /// Ends it, before this process ends.
    func end() {
        kill(identifier, SIGKILL)
        waitpid(identifier, nil, 0)
    }
}
