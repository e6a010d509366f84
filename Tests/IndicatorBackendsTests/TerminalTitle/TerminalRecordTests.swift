import Foundation
import IndicatorBackends
import IndicatorCore
import IndicatorThreads
import TestSupport
import Testing

/// What a killed process leaves in a terminal, and what the next one does with it.
@Suite struct TerminalRecordTests {
    private let terminal: PseudoTerminal
    private let runtime: TemporaryDirectory

    init() throws {
        terminal = try PseudoTerminal()
        runtime = try TemporaryDirectory()
    }

    private func makeBackend(type: String = "alacritty") throws -> TerminalTitleBackend {
        TerminalTitleBackend(
            applicationName: "app",
            settings: TerminalTitleSettings(format: try SnapshotFormat("{label}"), progress: .on),
            path: terminal.path,
            environment: ["TERM": type, "XDG_RUNTIME_DIR": runtime.path]
        )
    }

    private var busy: IndicatorSnapshot { IndicatorSnapshot(state: .active, activityCount: 1, label: "Work") }

    private var records: [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: runtime.appending("indicator/terminals")).sorted()) ?? []
    }

    private func path(_ record: String) -> String { runtime.appending("indicator/terminals/\(record)") }

    /// Shows the title as a process that is killed then, and leaves its record.
    ///
    /// - Returns: the terminal afterwards, and the names of the records.
    private func leave(times: Int = 1, changing: (String) -> String = { $0 }) async throws -> (
        TitleEmulator, [String]
    ) {
        var emulator = TitleEmulator()
        var names: [String] = []
        var record = ""
        for number in 1...times {
            let backend = try makeBackend()
            try await backend.start()
            try await backend.update(busy)
            emulator.receive(terminal.read())
            let name = try #require(records.first)
            record = try runtime.read("indicator/terminals/\(name)")
            // The device's number, and another process.
            names.append(name.prefix { $0 != "-" } + "-\(number)")
            await backend.stop()
            #expect(records == [])
            _ = terminal.read()
        }
        for name in names { try runtime.write(changing(record), to: "indicator/terminals/\(name)") }
        return (emulator, names)
    }

    /// What the next process writes when it opens the terminal.
    private func opening() async throws -> [UInt8] {
        let backend = try makeBackend()
        try await backend.start()
        defer { withExtendedLifetime(backend) {} }
        return terminal.read()
    }

    @Test("A record exists while something is shown")
    func lifetime() async throws {
        let backend = try makeBackend()
        try await backend.start()
        #expect(records == [])
        for _ in 0..<2 {
            try await backend.update(busy)
            #expect(records.count == 1)
            let record = try #require(records.first)
            #expect(record.hasSuffix("-\(getpid())"))
            try await backend.update(IndicatorSnapshot())
            #expect(records == [])
        }
        try await backend.update(busy)
        #expect(records.count == 1)
        await backend.stop()
        #expect(records == [])
    }

    @Test("The record is written before the terminal: the process may be killed as soon as something is shown")
    func order() async throws {
        for _ in 0..<50 {
            let backend = try makeBackend()
            try await backend.start()
            let recorded = Locked<Bool?>(nil)
            let reader = JoinableThread {
                while terminal.unreadBytes == 0 {}
                recorded.withLock { $0 = !records.isEmpty }
            }
            try await backend.update(busy)
            await reader.join()
            #expect(recorded.withLock { $0 } == true)
            await backend.stop()
            _ = terminal.read()
        }
    }

    @Test("The next process restores the title and the progress, before it shows its own", arguments: [1, 3])
    func restored(times: Int) async throws {
        var (emulator, _) = try await leave(times: times)
        #expect(emulator.title == "Work" && emulator.progress != nil && emulator.stack.count == times)
        emulator.receive(try await opening())
        #expect(emulator.title == "the old title" && emulator.progress == nil && emulator.stack == [])
        #expect(records == [])
        #expect(try await opening() == [])
    }

    @Test("A terminal of the same number, and a process that is alive, are left alone")
    func leftAlone() async throws {
        _ = try await leave { $0.replacing(/"terminal":"\d+/, with: "\"terminal\":\"1") }
        #expect(records.count == 1)
        #expect(try await opening() == [])
        #expect(records == [])

        let (emulator, names) = try await leave(times: 2)
        let owner = open(path(names[1]), O_RDONLY | O_CLOEXEC)
        try #require(owner >= 0 && flock(owner, LOCK_EX | LOCK_NB) == 0)
        #expect(try await opening() == [])
        #expect(records == names.sorted())
        close(owner)
        // Another program may use the whole window.
        _ = try await Command.run("stty", ["-F", terminal.path, "raw"])
        #expect(try await opening() == [])
        #expect(records == names.sorted())
        _ = try await Command.run("stty", ["-F", terminal.path, "sane"])
        var next = emulator
        next.receive(try await opening())
        #expect(next.title == "the old title" && records == [])
    }

    @Test(
        "A file that is no record of this user is ignored",
        arguments: ["link", "fifo", "folder", "huge", "garbage", "empty", "types", "owner"]
    )
    func hostile(kind: String) async throws {
        let (_, names) = try await leave()
        let record = path(names[0])
        let text = try String(contentsOfFile: record, encoding: .utf8)
        try FileManager.default.removeItem(atPath: record)
        func write(_ text: String) throws { try text.write(toFile: record, atomically: false, encoding: .utf8) }
        let target = try runtime.write(text, to: "target")
        switch kind {
        case "link": try #require(symlink(target, record) == 0)
        case "fifo": try #require(mkfifo(record, 0o600) == 0)
        case "folder": try #require(mkdir(record, 0o700) == 0)
        case "huge": try write(text + String(repeating: " ", count: 1 << 20))
        case "garbage": try write("\u{1B}[2J{")
        case "empty": try write("")
        case "types": try write(text.replacing("true", with: "7"))
        default:
            guard geteuid() == 0 else { return }
            try write(text)
            try #require(chown(record, 65534, 65534) == 0)
        }
        #expect(try await opening() == [])
        #expect(try String(contentsOfFile: target, encoding: .utf8) == text)
    }

    @Test("A title in a record cannot contain control sequences")
    func hostileTitle() async throws {
        _ = try await leave {
            $0.replacing("\"stack\"", with: "\"window\",\"originalTitle\":\"a\\u001B[2J\\u0007\\u009Bb\"")
        }
        let text = String(decoding: try await opening(), as: UTF8.self)
        #expect(text.hasSuffix("\u{1B}]2;a[2Jb\u{07}"), "\(text.debugDescription)")
    }

    @Test("Without a private folder there is no record, and the title is shown", arguments: ["file", "mode", "absent"])
    func noFolder(kind: String) async throws {
        switch kind {
        case "file": try runtime.write("", to: "indicator")
        case "mode": try #require(chmod(runtime.path, 0o777) == 0)
        default: try FileManager.default.removeItem(atPath: runtime.path)
        }
        let backend = try makeBackend()
        try await backend.start()
        try await backend.update(busy)
        var emulator = TitleEmulator()
        emulator.receive(terminal.read())
        #expect(emulator.title == "Work" && records == [])
        await backend.stop()
        emulator.receive(terminal.read())
        #expect(emulator.title == "the old title" && emulator.screen == "")
    }
}
