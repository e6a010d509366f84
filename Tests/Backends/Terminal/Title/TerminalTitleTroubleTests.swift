import BackendConfiguration
import Foundation
@testable import DisplayText
@testable import TerminalBackends
import IndicatorCore
import IndicatorThreads
import IndicatorTesting
import Logging
import TestSupport
import Testing

/// Missing, stopped and closed terminals.
@Suite struct TerminalTitleTroubleTests {
    private func makeBackend(path: String, type: String? = "alacritty") throws -> BackendDriver<TerminalTitleBackend> {
        var environment: [String: String] = [:]
        environment["TERM"] = type
        return BackendDriver(
            TerminalTitleBackend(
                applicationName: "app",
                settings: TerminalTitleSettings(format: try SnapshotFormat("{label}"), progress: .on),
                path: path,
                environment: environment
            )
        )
    }

    private func busy(_ label: String = "Work") -> IndicatorSnapshot {
        IndicatorSnapshot(state: .active, activityCount: 1, label: label)
    }

    @Test("A dumb terminal is not written to", arguments: ["dumb", "", nil]) func aDumbTerminalIsNotWrittenTo(
        type: String?
    ) async throws {
        let terminal = try PseudoTerminal()
        let backend = try makeBackend(path: terminal.path, type: type)
        let error = await #expect(throws: TerminalError.dumbTerminal(type: type)) { try await backend.start() }
        #expect(error?.description.contains("set TERM to the type of the terminal") == (type != "dumb"))
        try? await backend.update(busy())
        await backend.stop()
        #expect(terminal.read() == [])
    }

    @Test func `A file is not written to`() async throws {
        let path = FileManager.default.temporaryDirectory.path + "/title-test-\(UUID().uuidString)"
        try Data().write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let backend = try makeBackend(path: path)
        await #expect(throws: TerminalError.notATerminal(path: path)) { try await backend.start() }
        try? await backend.update(busy())
        await backend.stop()
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)).isEmpty)
    }

    @Test func `A pipe is not written to`() async throws {
        let pipe = Pipe()
        let path = "/proc/self/fd/\(pipe.fileHandleForWriting.fileDescriptor)"
        let backend = try makeBackend(path: path)
        await #expect(throws: TerminalError.notATerminal(path: path)) { try await backend.start() }
        try pipe.fileHandleForWriting.close()
        #expect(try pipe.fileHandleForReading.readToEnd() == nil)
    }

    @Test func `A missing terminal is named in the error`() async throws {
        let backend = try makeBackend(path: "/dev/no-such-terminal")
        let error = await #expect(throws: TerminalError.self) { try await backend.start() }
        #expect(error?.reason == "cannot open /dev/no-such-terminal: No such file or directory")
    }

    @Test(.timeLimit(.minutes(10))) func `An update waits for a stopped terminal, and is written as a whole`()
        async throws
    {
        let terminal = try PseudoTerminal()
        let backend = try await makeBackend(path: terminal.path).started()
        terminal.stopOutput()
        let update = Task { try await backend.update(busy("first")) }
        #expect(terminal.read() == [])
        terminal.startOutput()
        try await update.value
        var emulator = TitleEmulator()
        emulator.receive(terminal.read())
        #expect(emulator.titlesSet == ["first"] && emulator.screen == "")
        await backend.stop()
        emulator.receive(terminal.read())
        #expect(emulator.title == "the old title" && emulator.saves == 1 && emulator.restores == 1)
    }

    @Test(.timeLimit(.minutes(10))) func `Stop does not wait for a stopped terminal and the title is restored later`()
        async throws
    {
        let terminal = try PseudoTerminal()
        let backend = try await makeBackend(path: terminal.path).started()
        try await backend.update(busy())
        var emulator = TitleEmulator()
        emulator.receive(terminal.read())
        terminal.stopOutput()
        // It waits for half a second on its own clock; without a limit it would wait forever.
        await Task(executorPreference: ServiceThread(name: "own", idleTime: .zero)) { await backend.stop() }.value
        #expect(terminal.read() == [])
        terminal.startOutput()
        // The title is restored although the backend is not called again.
        #expect(
            await eventually {
                emulator.receive(terminal.read()); return emulator.title == "the old title"
            }
        )
        #expect(emulator.restores == 1 && emulator.progress == nil && !emulator.isInsideSequence)
    }

    @Test(.timeLimit(.minutes(10))) func `An incomplete sequence is completed on a slow terminal`() async throws {
        let terminal = try PseudoTerminal()
        let backend = try await makeBackend(path: terminal.path).started()
        // A window that hangs: its buffer is full, and occasionally it takes a few bytes.
        let filled = try terminal.fill()
        let labels = (0..<30).map { "\($0)" + String(repeating: "ä", count: 100) }
        let updates = Task(executorPreference: ServiceThread(name: "own", idleTime: .zero)) {
            for label in labels { try await backend.update(busy(label)) }
            await backend.stop()
            try await backend.start()
            try await backend.update(busy("again"))
            await backend.stop()
        }
        var emulator = TitleEmulator()
        var taken = 0
        #expect(
            await eventually(within: .seconds(300)) {
                for _ in 0..<97 {
                    guard let byte = terminal.readByte() else { break }
                    taken += 1
                    if taken > filled { emulator.receive(byte) }
                }
                return emulator.titlesSet.last == "again" && emulator.stack.isEmpty
            }
        )
        try await updates.value
        emulator.receive(terminal.read())
        #expect(emulator.screen == "" && !emulator.isInsideSequence)
        #expect(emulator.saves == emulator.restores && emulator.title == "the old title")
    }

    @Test(.timeLimit(.minutes(10))) func `Closing a stopped terminal ends the wait`() async throws {
        let terminal = try PseudoTerminal()
        let backend = try await makeBackend(path: terminal.path).started()
        terminal.stopOutput()
        let update = Task { try await backend.update(busy()) }
        terminal.hangUp()
        await #expect(throws: TerminalError.hungUp) { try await update.value }
    }
}
