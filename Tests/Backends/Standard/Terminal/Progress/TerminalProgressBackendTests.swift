import TestSupport

@testable import BackendConfiguration
@testable import IndicatorBackends

/// Live progress on a pseudo terminal, on a virtual clock. Serialized: other output waits for every terminal that shows
/// lines, and is counted as lost if one of them is stuck.
@Suite("Live progress", .serialized)
struct TerminalProgressBackendTests {
    private let terminal: PseudoTerminal
    private let file: FileHandle
    private let clock = VirtualClock()
    private let start = Date(timeIntervalSince1970: 1_000_000)

    init() throws {
        terminal = try PseudoTerminal()
        file = try #require(FileHandle(forUpdatingAtPath: terminal.path))
    }

    private func makeBackend(
        _ settings: TerminalProgressSettings = .init(),
        _ environment: [String: String] = [:]
    ) -> BackendDriver<TerminalProgressBackend> {
        let (clock, start) = (clock, start)
        return BackendDriver(
            TerminalProgressBackend(
                applicationName: "app",
                settings: settings,
                descriptor: file.fileDescriptor,
                environment: ["TERM": "xterm", "LANG": "C.UTF-8"].merging(environment) { $1 },
                clock: clock,
                date: { start.addingTimeInterval(clock.now.offset / .seconds(1)) }
            )
        )
    }

    /// An indicator with a backend on this terminal, without colours.
    private func indicator(_ settings: TerminalProgressSettings, delay: Duration = .zero) throws -> IndicatorManager {
        let backend = TerminalProgressBackend(
            applicationName: "app",
            settings: settings,
            descriptor: file.fileDescriptor,
            environment: ["TERM": "xterm", "LANG": "C.UTF-8", "NO_COLOR": "1"]
        )
        let delays = try IndicatorDelays(startDelay: delay, completionDelay: .zero)
        return IndicatorManager(delays: delays, backends: [backend])
    }

    /// What the screen of the terminal shows after all that was written.
    private var screen: ScreenEmulator {
        var screen = ScreenEmulator(columns: 80, rows: 24)
        screen.receive(terminal.transcript)
        return screen
    }

    private func busy(_ labels: String...) -> IndicatorSnapshot {
        let activities = labels.enumerated().map { index, label in
            var details = ActivityDetails(label: label, since: start)
            details.id = UInt64(index)
            return details
        }
        return IndicatorSnapshot(state: .active, activityCount: labels.count, activities: activities, since: start)
    }

    private func written() -> String { String(decoding: terminal.read(), as: UTF8.self) }

    private func written(_ snapshot: IndicatorSnapshot, by backend: BackendDriver<TerminalProgressBackend>) async throws
        -> String
    {
        try await backend.update(snapshot)
        return written()
    }

    @Test("writes nothing while the indicator is hidden, and removes its lines when it is hidden or stopped")
    func hides() async throws {
        let backend = try await makeBackend().started()
        let earlier = FinishedActivity(label: "Earlier", outcome: .succeeded, duration: .seconds(10))
        try await backend.update(IndicatorUpdate(IndicatorSnapshot(), finished: [earlier]))
        #expect(written() == "")
        for _ in 0..<2 {
            #expect(try await written(busy("Work"), by: backend).contains("Work"))
            #expect(try await written(IndicatorSnapshot(), by: backend) == LiveLines.erasure())
            #expect(try await written(IndicatorSnapshot(), by: backend) == "")
        }
        try await backend.update(busy("Work"))
        _ = written()
        await backend.stop()
        #expect(written() == LiveLines.erasure())
    }

    @Test func `shows the last activity while nothing is in progress; then its line replaces its bar`() async throws {
        let backend = try await makeBackend().started()
        try await backend.update(busy("Work"))
        _ = written()
        clock.advance(by: .seconds(10))
        let end = FinishedActivity(label: "Work", outcome: .succeeded, duration: .seconds(10))
        try await backend.update(IndicatorUpdate(IndicatorSnapshot(state: .delayingCompletion), finished: [end]))
        let idle = written()
        #expect(idle.contains("Work") && !idle.contains("✓"))
        try await backend.update(IndicatorSnapshot())
        let last = written()
        #expect(last.hasPrefix(LiveLines.erasure()) && last.contains(" Work (") && last.count { $0 == "W" } == 1)
    }

    @Test func `The time left counts down between the steps of the work`() async throws {
        let backend = try await makeBackend().started()
        var screen = ScreenEmulator(columns: 80, rows: 24)
        var details = ActivityDetails(label: "Work", total: 3, since: start)
        (details.completed, details.rate) = (1, 0.05)
        for (passed, remaining, text) in [
            (0, 40, "0:40 left"), (15, 40, "0:25 left"), (15, 40, "0:10 left"), (15, 40, "0:00 left"),
            (1, 20, "20 s each  0:46  0:20 left"),
        ] {
            clock.advance(by: .seconds(passed))
            details.remaining = .seconds(remaining)
            try await backend.update(IndicatorSnapshot(state: .active, activityCount: 1, activities: [details]))
            screen.receive(written())
            #expect(screen.lines.last?.hasSuffix(text) == true, "\(screen.lines)")
        }
        await backend.stop()
    }

    @Test
    func `Where the size of the window is unknown, plain lines are written, and nothing is erased`() async throws {
        terminal.setSize(columns: 0, rows: 0)
        let backend = try await makeBackend().started()
        try await backend.update(busy("Work"))
        clock.advance(by: .seconds(2))
        #expect(try await written(busy("Work"), by: backend) == "Work: started\r\n")
        await backend.stop()
        // One that is unknown only later.
        terminal.setSize(columns: 80, rows: 24)
        let live = try await makeBackend().started()
        terminal.setSize(columns: 0, rows: 0)
        #expect(try await written(busy("Work"), by: live) == "")
        terminal.setSize(columns: 40, rows: 5)
        clock.advance(by: .seconds(1))
        #expect(try await written(busy("Work"), by: live).contains("Work"))
        await live.stop()
    }

    @Test func `The lines are suspended while a prompt has the terminal, and appear again after it`() async throws {
        let backend = try await makeBackend().started()
        #expect(try await written(busy("Work"), by: backend).contains("Work"))
        try await TerminalOutput.suspend {
            #expect(written() == LiveLines.erasure())
            TerminalOutput.suspend {}
            clock.advance(by: .seconds(5))
            try await backend.update(busy("Work", "More"))
            #expect(written() == "")
        }
        #expect(written().contains("More"))
        await backend.stop()
    }

    @Test func `draws at most ten frames a second, a spinner's with a few bytes`() async throws {
        let backend = makeBackend()
        #expect(backend.backend.delivery.animationInterval == .milliseconds(100))
        try await backend.start()
        var text = ""
        for _ in 0..<1000 {
            try await backend.update(busy("Work"))
            text += written()
            clock.advance(by: .milliseconds(10))
        }
        // A frame ends by restoring the cursor.
        let frames = text.split(separator: "\u{1B}8")
        #expect((90...101).contains(frames.count))
        #expect(frames.map(\.utf8.count).sorted()[frames.count / 4] < 50)
    }

    @Test func `is soon complete again while others write lines`() async throws {
        let backend = try await makeBackend().started()
        var screen = ScreenEmulator(columns: 80, rows: 24)
        var wholeFrames = 0
        for frame in 0..<200 {
            try await backend.update(busy("Building all of it"))
            screen.receive(written())
            if screen.lines.last?.hasPrefix("Building all of it  ") == true { wholeFrames += 1 }
            if frame.isMultiple(of: 4) { screen.receive("line \(frame)\r\n") }
            clock.advance(by: .milliseconds(100))
        }
        // In most frames, although each foreign line requires a redraw.
        #expect(wholeFrames >= 120, "\(wholeFrames) of 200")
        await backend.stop()
    }

    @Test func `writes less than 20 kB for a download of 60 seconds`() async throws {
        let backend = try await makeBackend().started()
        var random = SplitMix(state: 14)
        var details = ActivityDetails(label: "debian-13.iso", total: 783_286_272, since: start)
        details.unit = .bytes
        var frames: [[UInt8]] = []
        for _ in 0..<600 {
            let rate = Double.random(in: 12.9e6...13.2e6, using: &random)
            details.completed += Int.random(in: 1_000_000...1_300_000, using: &random)
            (details.rate, details.remaining) = (rate, .seconds(Double(783_286_272 - details.completed) / rate))
            let snapshot = IndicatorSnapshot(state: .active, activityCount: 1, activities: [details], since: start)
            try await backend.update(snapshot)
            frames.append(terminal.read())
            clock.advance(by: .milliseconds(100))
        }
        #expect(String(decoding: frames[0], as: UTF8.self).contains("MB/s"))
        let count = frames.joined().count
        #expect(frames.count { !$0.isEmpty } > 160 && (5_000..<20_000).contains(count), "\(count) bytes")
    }

    @Test(
        "leaves a line for failures, for all activities, or for none",
        arguments: [
            (TerminalProgressSettings.Finished.failures, ["✗ b: HTTP 503"]), (.all, ["✗ b: HTTP 503", "✓ a"]),
            (.none, []),
        ]
    )
    func finished(which: TerminalProgressSettings.Finished, expected: [String]) async throws {
        let indicator = try indicator(.init(finished: which))
        let first = indicator.begin("a")
        let second = indicator.begin("b")
        // It may have begun after the first frame: with any spinner.
        #expect(await terminal.shows("b  "))
        second.end(.failed("HTTP 503"))
        first.end(.succeeded)
        await indicator.shutdown()
        #expect(screen.lines.map { $0.replacing(#/ \(\d+\.\d s\)$/#, with: "") } == expected)
        #expect(screen.unknown == [] && screen.column == 0 && screen.row == expected.count)
    }

    @Test(
        arguments: [TerminalProgressSettings.Mode.live, .plain],
        [TerminalProgressSettings.Finished.failures, .none]
    )
    func `reports a failure before the indicator is shown, once`(
        mode: TerminalProgressSettings.Mode,
        finished: TerminalProgressSettings.Finished
    ) async throws {
        let indicator = try indicator(.init(mode: mode, finished: finished), delay: .seconds(1000))
        let ends = [ActivityOutcome.failed("HTTP 404"), .succeeded, .cancelled]
        for outcome in ends { indicator.begin("Packages.gz").end(outcome) }
        if finished != .none { #expect(await terminal.shows("HTTP 404")) }
        indicator.begin("other").end()
        // More than are listed: the others are only counted.
        for number in 0..<1000 { indicator.begin("\(number)").end(.succeeded) }
        await indicator.shutdown()
        let text = terminal.transcript
        #expect(text.components(separatedBy: "Packages.gz").count == (finished == .none ? 1 : 2))
        #expect(text.components(separatedBy: "\r\n").count == (finished == .none ? 1 : 2))
    }

    @Test func `reports how many more have failed if there are too many for a line each`() async throws {
        let indicator = try indicator(.init())
        let work = indicator.begin("Work")
        #expect(await terminal.shows("Work"))
        for number in 0..<2000 { indicator.begin("\(number)").end(.failed("no")) }
        work.end(.failed("no"))
        // The unread output does not fit into the terminal's buffer.
        let end = Task { await indicator.shutdown() }
        func listed() -> Int { terminal.transcript.components(separatedBy: "✗ ").count - 1 }
        func more() -> Int {
            terminal.transcript.matches(of: /and (\d+) more (?:has|have) ended/).reduce(0) { $0 + (Int($1.1) ?? 0) }
        }
        #expect(await eventually { listed() + more() == 2001 }, "\(listed()) lines, and \(more()) more")
        #expect(more() > 0 && terminal.transcript.contains("✗ 1999: no ("))
        await end.value
    }

    @Test("writes nothing if it is off, and plain lines in CI, on a dumb terminal and for screen readers")
    func modes() async throws {
        func display(
            _ settings: TerminalProgressSettings,
            _ environment: [String: String] = ["TERM": "xterm"],
            on other: CInt? = nil
        ) -> TerminalProgressBackend.Display {
            let descriptor = other ?? file.fileDescriptor
            return TerminalProgressBackend.display(settings, descriptor: descriptor, environment: environment)
        }
        #expect(display(.init()) == .live)
        #expect(display(.init(), ["TERM": "dumb"]) == .plain && display(.init(), [:]) == .plain)
        #expect(display(.init(), ["TERM": "xterm", "CI": "true"]) == .plain)
        #expect(display(.init(mode: .live), ["TERM": "xterm", "CI": "true"]) == .live)
        #expect(display(.init(mode: .plain)) == .plain && display(.init(mode: .off)) == .off)
        #expect(display(.init(accessible: true)) == .plain)
        let terminalOnly = TerminalProgressSettings(mode: .terminal)
        #expect(display(terminalOnly) == .live && display(terminalOnly, ["TERM": "dumb"]) == .off)
        #expect(display(terminalOnly, ["TERM": "xterm", "CI": "true"]) == .off)
        #expect(display(terminalOnly, on: -1) == .off && display(.init(), on: -1) == .plain)
        let off = makeBackend(.init(mode: .off))
        #expect(off.backend.delivery.animationInterval == nil)
        try await off.start()
        try await off.update(busy("Work"))
        await off.stop()
        #expect(written() == "")
        let plain = try await makeBackend(.init(), ["TERM": "dumb"]).started()
        clock.advance(by: .seconds(2))
        #expect(try await written(busy("Work"), by: plain) == "Work: started\r\n")
        await plain.stop()
    }

    @Test func `Text that is printed to other files is unchanged`() throws {
        let pipe = Pipe()
        var piped = TerminalOutput(descriptor: pipe.fileHandleForWriting.fileDescriptor)
        print("\u{1B}[31mred", to: &piped)
        try pipe.fileHandleForWriting.close()
        #expect(try pipe.fileHandleForReading.readToEnd() == Data("\u{1B}[31mred\n".utf8))
    }

    // MARK: The kind

    @Test func `is created from the settings of a config file, whose defaults are those of the type`() async throws {
        let kind = BackendKind.terminalProgress(descriptor: file.fileDescriptor, environment: ["TERM": "xterm"])
        let context = BackendContext(name: "bars", applicationName: "app", logger: Logger(label: "test"))
        let live = try kind.with(["maxLines": 2, "mode": "live"])
        let backend = try live.make(context)
        #expect(backend.name == "bars" && backend.delivery.animationInterval == .milliseconds(100))
        #expect(await live.availability(context) == .success(terminal.path))
        // With sentences instead of bars, once a second.
        var accessible = context
        accessible.isAccessible = true
        #expect(try live.make(accessible).delivery.animationInterval == .seconds(1))
        let plain = try kind.with(["mode": "plain"])
        #expect(await plain.availability(context) == .success("plain lines on standard error"))
        #expect(kind.settings.allSatisfy { $0.standard != nil })
    }
}
