import BackendConfiguration
import DisplayText
import CLinux
import Foundation
import IndicatorCore

/// A program that is run for an event of a ``HookBackend``.
struct HookCommand: Sendable {
    /// The program, a path or a name on the `PATH`, and its arguments. No shell reads them.
    var arguments: [String]
    /// What the program reads from its standard input.
    var input = ""
    /// How long it may run before it is killed.
    var timeLimit: Duration

    /// Runs the program and waits for its end.
    ///
    /// It has a process group of its own, no terminal, and the app's environment. When the app ends meanwhile, it goes
    /// on.
    ///
    /// - Parameter isEnding: whether the app ends, so that nothing waits for the program.
    /// - Throws: if it cannot be started, is killed, or ends with another status than 0; with the first line that it
    ///   wrote to its standard error.
    func run(isEnding: () -> Bool = { false }) throws(Unavailability) {
        try Self.check(arguments[0])
        guard SpareDescriptors.exist() else { throw Unavailability(reason: SpareDescriptors.problem) }
        var (reader, writer): (CInt, CInt) = (-1, -1)
        (reader, writer) = Self.pipe()
        // Not a pipe, whose end with that of this process would end the program by SIGPIPE.
        let errorFile = linux_make_memory_file("hook")
        defer { for descriptor in [writer, errorFile] where descriptor >= 0 { close(descriptor) } }
        let process = start(standardInput: reader, standardError: errorFile)
        if reader >= 0 { close(reader) }
        let program = QuotedText.shortened(arguments[0])
        guard process > 0 else {
            throw Unavailability(reason: "'\(program)' cannot be started: \(String(cString: strerror(-process)))")
        }
        // A pipe has room for 64 KiB, more than any input. All signals are blocked on a backend's thread.
        _ = input.withCString { write(writer, $0, strlen($0)) }
        close(writer)
        writer = -1
        let (status, errors) = wait(for: process, readingFrom: errorFile, isEnding)
        guard let status else {
            throw Unavailability(
                reason: "'\(program)' was killed, because it ran for more than \(timeLimit / .seconds(1)) s"
            )
        }
        guard status != 0 else { return }
        let end = status & 0x7F == 0 ? "ended with status \(status >> 8)" : "was ended by signal \(status & 0x7F)"
        let line = errors.split(separator: "\n").first.map { ": \(SafeText.singleLine($0, limit: 200))" } ?? ""
        throw Unavailability(reason: "'\(program)' \(end)\(line)")
    }

    /// Throws if there is no such program.
    static func check(_ program: String) throws(Unavailability) {
        let folders =
            program.contains("/")
            ? [""]
            : (getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin")
                .split(separator: ":").map { "\($0)/" }
        if folders.contains(where: { access($0 + program, X_OK) == 0 }) { return }
        throw Unavailability(
            reason: "there is no program '\(QuotedText.shortened(program))'",
            help: "install it, or give its path"
        )
    }

    private static func pipe() -> (CInt, CInt) {
        var ends: [CInt] = [-1, -1]
        return linux_pipe(&ends) == 0 ? (ends[0], ends[1]) : (-1, -1)
    }

    /// The process ID, or a negative error number.
    private func start(standardInput: CInt, standardError: CInt) -> pid_t {
        guard standardInput >= 0, standardError >= 0 else { return -errno }
        var attributes = posix_spawnattr_t()
        var actions = posix_spawn_file_actions_t()
        posix_spawnattr_init(&attributes)
        posix_spawn_file_actions_init(&actions)
        defer {
            posix_spawnattr_destroy(&attributes)
            posix_spawn_file_actions_destroy(&actions)
        }
        var (none, all) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setpgroup(&attributes, 0)
        let flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP
        posix_spawnattr_setflags(&attributes, Int16(flags))
        posix_spawn_file_actions_adddup2(&actions, standardInput, STDIN_FILENO)
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, standardError, STDERR_FILENO)
        let words = arguments.map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var process: pid_t = 0
        let status = posix_spawnp(&process, arguments[0], &actions, &attributes, words, linux_environment())
        return status == 0 ? process : -status
    }

    /// The status of waitpid(2), `nil` if the process was killed; and the beginning of what it wrote.
    private func wait(
        for process: pid_t,
        readingFrom descriptor: CInt,
        _ isEnding: () -> Bool
    ) -> (CInt?, String) {
        let end = ContinuousClock.now + timeLimit
        var interval: CInt = 1
        while true {
            var status: CInt = 0
            let result = waitpid(process, &status, WNOHANG)
            // The app may ignore SIGCHLD, or wait for all of its children: then the status is not known.
            if result != 0 {
                var text = [UInt8](repeating: 0, count: 1024)
                let count = max(pread(descriptor, &text, text.count, 0), 0)
                return (result == process ? status : 0, String(decoding: text[..<count], as: UTF8.self))
            }
            if isEnding() { return (0, "") }
            guard ContinuousClock.now < end else {
                kill(-process, SIGKILL)
                waitpid(process, nil, 0)
                return (nil, "")
            }
            poll(nil, 0, interval)
            interval = min(2 * interval, 50)
        }
    }
}
