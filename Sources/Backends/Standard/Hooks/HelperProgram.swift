package import BackendConfiguration
import CIndicatorLinux
import DisplayText
package import Foundation
import IndicatorCore

/// A program that this process runs to its end, such as that of a ``HookBackend``.
package struct HelperProgram: Sendable {
    /// The program, a path or a name on the `PATH`, and its arguments. No shell reads them.
    package var arguments: [String]
    /// What the program reads from its standard input.
    var input = ""
    /// How long it may run before it is killed.
    package var timeLimit: Duration

    package init(_ arguments: [String], input: String = "", timeLimit: Duration) {
        (self.arguments, self.input, self.timeLimit) = (arguments, input, timeLimit)
    }

    /// Runs the program and waits for its end.
    ///
    /// It has a process group of its own, no terminal, and the app's environment. When the app ends meanwhile, it goes
    /// on.
    ///
    /// - Parameter isEnding: whether the app ends, so that nothing waits for the program.
    /// - Returns: what it wrote to its standard output, a mebibyte at most.
    /// - Throws: if it cannot be started, is killed, or ends with another status than 0; with the first line that it
    ///   wrote to its standard error.
    @discardableResult
    package func run(isEnding: () -> Bool = { false }) throws(Unavailability) -> String {
        try Self.check(arguments[0])
        guard SpareDescriptors.exist() else { throw Unavailability(reason: SpareDescriptors.problem) }
        var ends: [CInt] = [-1, -1]
        linux_pipe(&ends)
        // Not pipes, whose end with that of this process would end the program by SIGPIPE.
        let streams = [ends[0], linux_make_memory_file("output"), linux_make_memory_file("errors")]
        defer { for descriptor in streams where descriptor >= 0 { close(descriptor) } }
        let words = arguments.map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var none = sigset_t()
        sigemptyset(&none)
        let process =
            streams.contains { $0 < 0 } ? -errno : startProgram(words, blocking: none, streams: streams)
        let program = QuotedText.shortened(arguments[0])
        // A pipe has room for 64 KiB, more than any input. All signals are blocked on a backend's thread.
        if process > 0 { _ = input.withCString { write(ends[1], $0, strlen($0)) } }
        if ends[1] >= 0 { close(ends[1]) }
        guard process > 0 else {
            throw Unavailability(reason: "'\(program)' cannot be started: \(String(cString: strerror(-process)))")
        }
        guard let status = wait(for: process, isEnding) else {
            throw Unavailability(
                reason: "'\(program)' was killed, because it ran for more than \(timeLimit / .seconds(1)) s"
            )
        }
        guard status != 0 else { return Self.text(in: streams[1], limit: 1 << 20) }
        let end = status & 0x7F == 0 ? "ended with status \(status >> 8)" : "was ended by signal \(status & 0x7F)"
        let errors = Self.text(in: streams[2], limit: 1024)
        let line = errors.split(separator: "\n").first.map { ": \(SafeText.singleLine(String($0), limit: 200))" } ?? ""
        throw Unavailability(reason: "'\(program)' \(end)\(line)")
    }

    /// Throws if there is no such program.
    static func check(_ program: String) throws(Unavailability) {
        if pathOfProgram(program) != nil { return }
        throw Unavailability(
            reason: "there is no program '\(QuotedText.shortened(program))'",
            help: "install it, or give its path"
        )
    }

    private static func text(in file: CInt, limit: Int) -> String {
        let size = min(max(Int(lseek(file, 0, SEEK_END)), 0), limit)
        let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            count = max(pread(file, buffer.baseAddress, size, 0), 0)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The status of waitpid(2); `nil` if the process was killed.
    private func wait(for process: pid_t, _ isEnding: () -> Bool) -> CInt? {
        let end = ContinuousClock.now + timeLimit
        var interval: CInt = 1
        while true {
            var status: CInt = 0
            let result = waitpid(process, &status, WNOHANG)
            // The app may ignore SIGCHLD, or wait for all of its children: then the status is not known.
            if result != 0 { return result == process ? status : 0 }
            if isEnding() { return 0 }
            guard ContinuousClock.now < end else {
                kill(-process, SIGKILL)
                waitpid(process, nil, 0)
                return nil
            }
            poll(nil, 0, interval)
            interval = min(2 * interval, 50)
        }
    }
}

/// The words of a command, terminated by a null pointer.
package typealias ProgramArguments = UnsafePointer<UnsafeMutablePointer<CChar>?>

/// Starts a program as a shell does. A script without `#!` is run by sh.
///
/// - Parameters:
///   - arguments: its name, a path or a name on the `PATH`, and its arguments.
///   - mask: the signals that it blocks.
///   - streams: the standard streams of a program with a process group of its own and no ignored signals; by default,
///     everything is as in this process.
/// - Returns: its process ID, or a negative error number.
package func startProgram(_ arguments: ProgramArguments, blocking mask: sigset_t, streams: [CInt] = []) -> CInt {
    guard let name = arguments[0] else { return -ENOENT }
    var attributes = posix_spawnattr_t()
    var actions = posix_spawn_file_actions_t()
    posix_spawnattr_init(&attributes)
    posix_spawn_file_actions_init(&actions)
    defer {
        posix_spawnattr_destroy(&attributes)
        posix_spawn_file_actions_destroy(&actions)
    }
    var (mask, all) = (mask, sigset_t())
    sigfillset(&all)
    posix_spawnattr_setsigmask(&attributes, &mask)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setpgroup(&attributes, 0)
    let isolation = streams.isEmpty ? 0 : POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | isolation))
    for (number, descriptor) in streams.enumerated() {
        posix_spawn_file_actions_adddup2(&actions, descriptor, CInt(number))
    }
    var process: pid_t = 0
    var status = posix_spawnp(&process, name, &actions, &attributes, arguments, linux_environment())
    // A path may not be UTF-8.
    let isPath = strchr(name, CInt(UInt8(ascii: "/"))) != nil
    if status == ENOEXEC, let path = isPath ? strdup(name) : pathOfProgram(String(cString: name)).map({ strdup($0) }) {
        var words = [strdup("/bin/sh"), path]
        defer { for word in words.prefix(2) { free(word) } }
        var argument = arguments + 1
        while let word = argument.pointee {
            words.append(word)
            argument += 1
        }
        status = posix_spawn(&process, "/bin/sh", &actions, &attributes, words + [nil], linux_environment())
    }
    return status == 0 ? process : -status
}

/// The path of a program: its name if that is a path, otherwise the first executable file on the `PATH`; `nil` if there
/// is none.
private func pathOfProgram(_ name: String) -> String? {
    let folders = getenv("PATH").map { String(cString: $0) } ?? "/bin:/usr/bin"
    let paths =
        name.contains("/")
        ? [name]
        : folders.split(separator: ":", omittingEmptySubsequences: false).map { "\($0.isEmpty ? "." : $0)/\(name)" }
    return paths.first { path in
        // A folder may be entered, but not run.
        var status = stat()
        return access(path, X_OK) == 0 && stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }
}
