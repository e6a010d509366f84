import InMemoryLogging
import TestSupport

@testable import IndicatorBackends

/// Files that are rotated, by the backend and by `logrotate`, and shared.
@Suite struct LogFileRotationTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func log(maxSize: Int = 0, keep: Int = 3, logger: Logger? = nil) -> BackendDriver<LogFileBackend> {
        .log(folder.appending("x.log"), maxSize: maxSize, keep: keep, logger: logger)
    }

    private func labels(_ name: String) throws -> [String?] {
        try decodeLog(folder.read(name)).map(\.label)
    }

    private func write(_ labels: String..., to backend: BackendDriver<LogFileBackend>) async throws {
        for label in labels { try await backend.update(.shown(label)) }
    }

    /// With the size limit in lines.
    @Test(arguments: [
        ("A full file becomes number one", 2, 2, ["x.log": ["8"], "x.log.1": ["6", "7"], "x.log.2": ["4", "5"]]),
        ("A full file is removed when none are kept", 2.3, 0, ["x.log": ["8"]]),
        ("A line that is too long has its own file", 0.1, 2, ["x.log": ["8"], "x.log.1": ["7"], "x.log.2": ["6"]]),
    ])
    func `Full files are rotated`(sentence: String, lines: Double, keep: Int, files: [String: [String?]]) async throws {
        let line = LogLineFormatter(format: .json, applicationName: "my-app")
            .line(.shown, at: LogTimestamp(IndicatorSnapshot.noon()), of: .shown("0"))
        let maxSize = Int(lines * Double(line.count))
        let backend = try await log(maxSize: maxSize, keep: keep).started()
        for label in 0..<9 { try await write("\(label)", to: backend) }
        await backend.stop()
        #expect(try folder.names() == files.keys.sorted(), "\(sentence)")
        for (name, labels) in files {
            #expect(try self.labels(name) == labels && folder.mode(name) == 0o600, "\(sentence)")
        }
    }

    /// As after a rotation in which the full file could not be renamed: no other log is lost by the next one.
    @Test func `Numbered files are moved up to a free number only`() async throws {
        for number in 2...3 { try folder.write("\(number)", to: "x.log.\(number)") }
        let backend = try await log(maxSize: 10, keep: 3).started()
        try await write("a", "b", to: backend)
        await backend.stop()
        #expect(try labels("x.log") == ["b"] && labels("x.log.1") == ["a"])
        #expect(try folder.read("x.log.2") == "2" && folder.read("x.log.3") == "3")
    }

    @Test(arguments: [0, 2])
    func `The new file has the owner, group and mode that the full one has then`(keep: Int) async throws {
        let path = try folder.write("", to: "x.log")
        let isRoot = geteuid() == 0
        let backend = try await log(maxSize: 10, keep: keep).started()
        // After it was opened.
        if isRoot { chown(path, 65534, 4) }
        chmod(path, 0o640)
        try await write("a", "b", "c", to: backend)
        await backend.stop()
        for name in try folder.names() {
            var status = stat()
            #expect(lstat(folder.appending(name), &status) == 0 && status.st_mode & 0o7777 == 0o640)
            if isRoot { #expect(status.st_uid == 65534 && status.st_gid == 4) }
        }
        #expect(try folder.names().count == keep + 1)
    }

    @Test(.needs(.root)) func `Users of a group share a file, whoever rotates it`() async throws {
        let shared = folder.appending("shared")
        // The folders of a run of tests are those of one user.
        var above = folder.url
        while above.path.hasPrefix("/tmp/") {
            chmod(above.path, 0o711)
            above.deleteLastPathComponent()
        }
        let path = try folder.write("", to: "shared/x.log")
        for (path, mode) in [(shared, mode_t(0o2775)), (path, 0o664)] {
            try #require(chown(path, 0, 4711) == 0 && chmod(path, mode) == 0)
        }
        let probe = try Command.built("test-probe")
        for user in [4712, 4713, 4712] {
            let options = ["lines=3", "maxSize=10", "keep=1", "user=\(user)", "group=4711"]
            let result = try await Command.run(probe, ["log", path] + options)
            #expect(result.status == 0 && result.error == "", "\(result.error)")
            var status = stat()
            #expect(stat(path, &status) == 0 && status.st_gid == 4711 && status.st_mode & 0o7777 == 0o664)
        }
    }

    @Test(.needs("strace", package: "strace")) func `A file system without locks is reported once`() async throws {
        let options = ["-f", "-o", "/dev/null", "-e", "inject=flock:error=ENOLCK"]
        let write = ["log", folder.appending("x.log"), "lines=3", "maxSize=10"]
        let result = try await Command.run("strace", options + [Command.built("test-probe")] + write)
        #expect(result.status == 0)
        #expect(result.error.components(separatedBy: "cannot lock it, so it is not rotated: No locks").count == 2)
        #expect(try labels("x.log") == ["line-0", "line-1", "line-2"])
    }

    @Test func `What blocks the rotation is reported once, and the file grows`() async throws {
        let path = folder.appending("x.log")
        try folder.write("", to: "x.log.1/y")
        let messages = InMemoryLogHandler()
        let logger = Logger(label: "test", factory: { _ in messages })
        let backend = try await log(maxSize: 10, keep: 1, logger: logger).started()
        try await write("a", "b", "c", to: backend)
        #expect(try labels("x.log") == ["a", "b", "c"])
        #expect(messages.entries.map { $0.metadata["backend"] } == ["logFile"])
        let message = messages.entries.first?.message.description ?? ""
        #expect(message.hasPrefix("log file '\(path)': cannot rename '\(path)' for rotation: "), "\(message)")
        try FileManager.default.removeItem(atPath: "\(path).1")
        try await write("d", to: backend)
        await backend.stop()
        #expect(try labels("x.log") == ["d"] && labels("x.log.1") == ["a", "b", "c"])
    }

    @Test func `A line begins after an incomplete one of another program`() async throws {
        let path = try folder.write("half", to: "x.log")
        let backend = try await log().started()
        try await write("a", "b", to: backend)
        let other = try #require(FileHandle(forWritingAtPath: path))
        other.seekToEndOfFile()
        try other.write(contentsOf: Data("quarter".utf8))
        try await write("c", to: backend)
        await backend.stop()
        let lines = try folder.read("x.log").split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.map { $0.hasPrefix("{") ? "{" : $0 } == ["half", "{", "{", "quarter", "{", ""])
    }

    private func logrotate(_ mode: String) async throws {
        let file = try folder.write("\"\(folder.path)/x.log\" {\nrotate 20\n\(mode)\n}\n", to: "rotate.conf")
        chmod(file, 0o600)
        let result = try await Command.run("logrotate", ["-f", "-s", folder.appending("rotate.state"), file])
        try #require(result.status == 0, "\(result.error)")
    }

    @Test(.needs("logrotate", package: "logrotate"), arguments: ["create", "create 0640", "nocreate", "copytruncate"])
    func `Logrotate is followed`(mode: String) async throws {
        let backend = try await log().started()
        for round in 0..<3 {
            try await write("\(round)-a", "\(round)-b", to: backend)
            try await logrotate(mode)
        }
        try await write("end", to: backend)
        await backend.stop()
        let files = try (1...3).map { try labels("x.log.\($0)") }
        #expect(try files == [["2-a", "2-b"], ["1-a", "1-b"], ["0-a", "0-b"]] && labels("x.log") == ["end"])
    }

    // MARK: Processes that write to the same file

    @Test func `Two processes share a file through many rotations`() async throws {
        let helper = try Command.built("test-probe")
        let meeting = try TemporaryDirectory()
        let path = folder.appending("x.log")
        let lines = 1500
        let options = ["lines=\(lines)", "maxSize=10000", "keep=1000", "meetAt=\(meeting.path)"]
        async let first = Command.run(helper, ["log", path, "prefix=a"] + options)
        async let second = Command.run(helper, ["log", path, "prefix=b"] + options)
        for result in try await [first, second] { #expect(result.status == 0, "\(result.error)") }

        // From the oldest to the latest.
        let names = try folder.names().sorted { ($0.count, $0) > ($1.count, $1) }
        #expect(names.count > 30)
        var labels: [String: [String]] = [:]
        var fullFiles = 0
        for name in names {
            let text = try folder.read(name)
            #expect(text.utf8.count < 20_000)  // A lock that is held for long is not waited for.
            if text.utf8.count > 9800 { fullFiles += 1 }
            for label in try decodeLog(text).compactMap(\.label) {
                labels[String(label.prefix(1)), default: []].append(label)
            }
        }
        for prefix in ["a", "b"] {
            #expect(labels[prefix] == (0..<lines).map { "\(prefix)-\($0)" })
        }
        // Each file was rotated once, by one of the two.
        #expect(fullFiles == names.count - 1)
    }

    @Test func `A lock that is never released does not block writing`() async throws {
        let path = folder.appending("x.log")
        let backend = try await log(maxSize: 300).started()
        // A process that may read the file can lock it.
        let other = open(path, O_RDONLY | O_CLOEXEC)
        try #require(flock(other, LOCK_EX | LOCK_NB) == 0)
        try await write("a", "b", "c", to: backend)
        #expect(try labels("x.log") == ["a", "b", "c"] && folder.names() == ["x.log"])
        // Closing alone is not enough: a child that another test forks meanwhile inherits the descriptor.
        flock(other, LOCK_UN)
        close(other)
        // Rotation needs the lock, and happens as soon as it is free.
        try await write("d", to: backend)
        await backend.stop()
        #expect(try labels("x.log") == ["d"])
    }
}
