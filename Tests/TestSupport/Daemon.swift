/// A program that runs during a test, until it is ended or the value is deallocated.
package final class Daemon: Sendable {
    package let processID: Int32
    /// Where its standard output goes.
    package let outputPath: String

    private let ending = Ending()
    private let input: Locked<FileHandle>
    private let folder: TemporaryDirectory

    private final class Ending: Sendable {
        let status = Locked<Int?>(nil)
    }

    /// Starts a program.
    ///
    /// Not with Foundation's `Process`, which notices the end of a child by the end of a socket, and does not while a
    /// child that was started at the same moment has inherited that socket (swift-corelibs-foundation issue 4795).
    ///
    /// - Parameters:
    ///   - program: a path, or a name to look up in `PATH`.
    ///   - arguments: its arguments.
    ///   - environment: added to that of the test; an empty value removes the variable.
    ///   - package: the Debian package of the program, for the message if it is not installed.
    package init(
        _ program: String,
        _ arguments: [String] = [],
        environment: [String: String] = [:],
        package: String? = nil
    ) throws {
        folder = try TemporaryDirectory()
        outputPath = try folder.write("", to: "output")
        let path = try Command.find(program, package: package)
        let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }.filter { !$0.value.isEmpty }
        var ends: [Int32] = [-1, -1]
        if pipe(&ends) != 0 { throw Self.cannotStart(path, errno) }
        defer { close(ends[0]) }
        input = Locked(FileHandle(fileDescriptor: ends[1], closeOnDealloc: true))

        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[0], 0)
        posix_spawn_file_actions_addopen(&actions, 1, outputPath, O_WRONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 2, try folder.write("", to: "error"), O_WRONLY, 0)
        _ = Self.closeFrom(&actions, 3)

        // A program inherits the mask of the thread, and libdispatch blocks nearly all signals on its threads. Without
        // SIGCHLD and SIGHUP, GNU screen does not end.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP))

        let words = ([path] + arguments).map { strdup($0) } + [nil]
        let assignments = variables.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in words + assignments { free(text) } }
        var process: pid_t = 0
        var code = posix_spawn(&process, path, &actions, &attributes, words, assignments)
        // A program that a test has just written is open for writing, too, in a process that another test forks
        // meanwhile, until that one calls exec.
        for _ in 0..<1000 where code == ETXTBSY {
            usleep(10_000)
            code = posix_spawn(&process, path, &actions, &attributes, words, assignments)
        }
        guard code == 0 else { throw Self.cannotStart(path, code) }
        processID = process

        Thread.detachNewThread { [process, ending] in
            var status: Int32 = 0
            while waitpid(process, &status, 0) < 0, errno == EINTR {}
            let signal = status & 0x7F
            ending.status.withLock { $0 = signal == 0 ? Int(status >> 8 & 0xFF) : 128 + Int(signal) }
        }
    }

    /// Starts a command: a program and its arguments.
    package convenience init(_ command: [String], environment: [String: String] = [:]) throws {
        try self.init(command[0], Array(command.dropFirst()), environment: environment)
    }

    /// Starts a server of a few lines of Python, which listens when this returns; `s` is its socket.
    package static func python(_ server: String, at address: LoopbackAddress, _ mode: String = "") async throws
        -> Daemon
    {
        let program = """
            import random, socket, subprocess, sys, threading, time
            mode = sys.argv[1]
            s = socket.create_server(('\(address.host)', \(address.port)))
            print('ready', flush=True)

            """
        let daemon = try Daemon("python3", ["-c", program + server, mode], package: "python3")
        if await daemon.prints("ready\n") { return daemon }
        throw FixtureError("the server in Python does not listen: \(daemon.errors)")
    }

    /// Swift does not import it: the C library declares it only for _GNU_SOURCE.
    private static let closeFrom = unsafeBitCast(
        dlsym(nil, "posix_spawn_file_actions_addclosefrom_np"),
        to: (@convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32).self
    )

    private static func cannotStart(_ program: String, _ code: Int32) -> FixtureError {
        FixtureError("'\(program)' could not be started: \(String(cString: strerror(code)))")
    }

    deinit { if isRunning { kill(-processID, SIGKILL) } }

    package var isRunning: Bool { status == nil }

    /// How it ended, as a shell reports it: its exit status, or 128 and the signal's number. `nil` while it runs.
    package var status: Int? { ending.status.withLock { $0 } }

    /// What it has written so far to standard output, and to standard error.
    package var output: String { (try? folder.read("output")) ?? "" }
    package var errors: String { (try? folder.read("error")) ?? "" }

    /// Waits until that contains a text.
    package func prints(_ text: String) async -> Bool { await eventually { output.contains(text) } }
    package func complains(_ text: String) async -> Bool { await eventually { errors.contains(text) } }

    /// Waits until it has ended.
    package func ends() async -> Bool { await eventually { !isRunning } }

    /// Writes a line to its standard input, if it has not ended: then, SIGPIPE would end the tests.
    package func write(_ line: String) {
        var (brokenPipe, before, noTime) = (sigset_t(), sigset_t(), timespec())
        sigaddset(&brokenPipe, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &brokenPipe, &before)
        input.withLock { try? $0.write(contentsOf: Data((line + "\n").utf8)) }
        sigtimedwait(&brokenPipe, nil, &noTime)
        pthread_sigmask(SIG_SETMASK, &before, nil)
    }

    package func send(_ signal: Int32) { kill(processID, signal) }

    /// Ends it, and waits until it has ended.
    package func end(_ signal: Int32 = SIGKILL) async {
        guard isRunning else { return }
        send(signal)
        send(SIGCONT)
        _ = await eventually { !isRunning }
    }
}

/// The peak of the resident memory of a process, in kB.
package func peakMemory(of process: Int32) throws -> Int {
    let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
    return status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }.flatMap { Int($0.filter(\.isNumber)) } ?? 0
}
