package import BackendConfiguration
import CIndicatorLinux
import IndicatorCore
package import Foundation

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

    /// Runs the program and waits for its end. Returns what it has written to its standard output if that is read;
    /// otherwise, it is discarded.
    ///
    /// It has a session of its own, no terminal, no open files, and the app's environment. When the app ends meanwhile,
    /// it goes on.
    ///
    /// - Parameter isEnding: whether the app ends, so that nothing waits for the program, except a tenth of a second
    ///   for one that fails at once.
    /// - Throws: if it cannot be started, is killed, or ends with another status than 0; with the last line that it
    ///   wrote to its standard error. It is killed after its time limit, and when it has written more than 512 KiB.
    @discardableResult
    package func run(readsOutput: Bool = false, isEnding: () -> Bool = { false }) throws(Unavailability) -> String {
        try Self.check(arguments[0])
        guard SpareDescriptors.exist() else { throw Unavailability(reason: SpareDescriptors.problem) }
        let (output, errors, ends) = (ProgramOutput(isDiscarded: !readsOutput), ProgramOutput(), makePipe())
        let streams = [ends[0], output.descriptor, errors.descriptor]
        defer { if ends[0] >= 0 { close(ends[0]) } }
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
        let (status, excess) = wait(for: process, [output, errors], isEnding)
        guard status != 0 || excess != nil else { return String(decoding: output.bytes, as: UTF8.self) }
        let reason = status & 0x7F == 0 ? "ended with status \(status >> 8)" : "was ended by signal \(status & 0x7F)"
        let end = excess.map { "was ended, because it \($0)" } ?? reason
        // The last one: the first is often of a progress, or of a trace.
        let kept = errors.bytes.suffix(64 << 10).drop { $0 & 0xC0 == 0x80 }
        let last = kept.split(separator: UInt8(ascii: "\n")).last { $0.contains { $0 > 0x20 } }
        let line = last.map { ": \(SafeText.singleLine(String(decoding: $0, as: UTF8.self), limit: 200))" } ?? ""
        throw Unavailability(reason: "'\(program)' \(end)\(line)")
    }

    /// Throws if there is no such program.
    static func check(_ program: String) throws(Unavailability) {
        if pathOfProgram(program) != nil { return }
        let name = "'\(QuotedText.shortened(program))'"
        let isThere = program.contains("/") && access(program, F_OK) == 0
        throw Unavailability(
            reason: isThere ? "\(name) is a folder, or not executable" : "there is no program \(name)",
            help: isThere ? "give the path of a program (chmod +x)" : "install it, or give its path"
        )
    }

    /// The status of waitpid(2), and what the process was ended for.
    private func wait(for process: pid_t, _ outputs: [ProgramOutput], _ isEnding: () -> Bool) -> (CInt, String?) {
        let begin = ContinuousClock.now
        var interval: CInt = 1
        while true {
            var status: CInt = 0
            let result = waitpid(process, &status, WNOHANG)
            for output in outputs { output.collect() }
            var excess = outputs.contains(where: \.isTooMuch) ? "wrote more than 512 KiB" : nil
            // The app may ignore SIGCHLD, or wait for all of its children: then the status is not known.
            if result != 0 { return result == process && status != 0 ? (status, excess) : (0, nil) }
            let time = begin.duration(to: .now)
            if time >= timeLimit { excess = "ran for more than \(timeLimit / .seconds(1)) s" }
            if excess != nil {
                kill(-process, SIGKILL)
                waitpid(process, nil, 0)
                return (0, excess)
            }
            if isEnding(), time >= .milliseconds(100) {
                Self.collect(process, until: begin + timeLimit)
                return (0, nil)
            }
            poll(nil, 0, interval)
            interval = min(2 * interval, 20)
        }
    }

    /// Looks once a second whether a program has ended that nothing waits for, since it would remain as a zombie; and
    /// ends it after its time limit.
    private static func collect(_ process: pid_t, until end: ContinuousClock.Instant) {
        ServiceThread.shared.call(at: ServiceThread.now + 1_000_000_000) {
            guard waitpid(process, nil, WNOHANG) == 0 else { return }
            if end <= .now { kill(-process, SIGKILL) }
            collect(process, until: end)
        }
    }
}

/// What a program writes: a pipe whose descriptor, which the program has too, is both of its ends. When nothing reads
/// it any more, the program is not ended by SIGPIPE, and what it writes is refused (EAGAIN) when the pipe is full.
private final class ProgramOutput {
    let descriptor: CInt
    private(set) var bytes: [UInt8] = []

    init(isDiscarded: Bool = false) {
        let ends = isDiscarded ? [] : makePipe()
        let path = ends.first.map { "/proc/self/fd/\($0)" } ?? "/dev/null"
        let flags = (isDiscarded ? O_WRONLY : O_RDWR) | O_NONBLOCK | O_CLOEXEC
        descriptor = StandardStreams.excluding(open(path, flags))
        for end in ends where end >= 0 { close(end) }
        // So that it is full only of too much, even if its pages are half empty.
        if descriptor >= 0, !isDiscarded { _ = fcntl(descriptor, CInt(LINUX_SET_PIPE_SIZE), 1 << 20) }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    var isTooMuch: Bool { bytes.count > 512 << 10 }

    /// Reads what is there; no more than too much.
    func collect() {
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while !isTooMuch {
            let read = read(descriptor, &buffer, buffer.count)
            guard read > 0 else { return }
            bytes += buffer[..<read]
        }
    }
}

/// A pipe's ends, which other programs do not inherit; -1 on failure.
private func makePipe() -> [CInt] {
    var ends: [CInt] = [-1, -1]
    linux_pipe(&ends)
    return ends.map(StandardStreams.excluding)
}

/// The words of a command, terminated by a null pointer.
package typealias ProgramArguments = UnsafePointer<UnsafeMutablePointer<CChar>?>

/// Starts a program as a shell does. A script without `#!` is run by sh.
///
/// - Parameters:
///   - arguments: its name, a path or a name on the `PATH`, and its arguments.
///   - mask: the signals that it blocks.
///   - streams: the standard streams of a program with a session of its own, no other open files and no ignored
///     signals; by default, everything is as in this process.
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
    let isolation = streams.isEmpty ? 0 : POSIX_SPAWN_SETSIGDEF | CInt(LINUX_SPAWN_SESSION)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | isolation))
    for (number, descriptor) in streams.enumerated() {
        posix_spawn_file_actions_adddup2(&actions, descriptor, CInt(number))
    }
    if !streams.isEmpty { linux_close_from(&actions, CInt(streams.count)) }
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
