import InMemoryLogging
import TestSupport

@testable import BackendConfiguration
@testable import IndicatorBackends

@Suite struct LogFileBackendTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func log() -> BackendDriver<LogFileBackend> { .log(folder.appending("x.log")) }

    private func decodedLog() throws -> [LogLine] { try decodeLog(folder.read("x.log")) }

    @Test func `A visible period is a few lines`() async throws {
        try await log().write(
            .hidden(at: 0),
            .shown("GET /", at: 1),
            .shown("GET /", at: 1, count: 2),
            .shown(at: 1).changed(to: "GET /2", at: 30, progress: 0.5),
            .hidden(at: 31)
        )
        let lines = try decodedLog().map { "\($0.time.dropFirst(17).prefix(2)) \($0.event) \($0.label ?? "-")" }
        #expect(lines == ["01 shown GET /", "30 label GET /2", "31 hidden -"])
        #expect(try folder.read("x.log").hasSuffix(#""app":"my-app","pid":\#(getpid())}"# + "\n"))
    }

    /// Each snapshot is its period, of which odd ones are visible, and the label; `!` if lines were lost before it.
    @Test(arguments: [
        ("Showing, hiding and a new label are events", "0 1a 1b 2", "- shown label hidden"),
        ("A repetition is not an event, also with a corrected date", "1a 1a 2 2", "shown - hidden -"),
        ("The end of a label is an event", "1a 1", "shown label"),
        ("A dropped transition is detected", "1a 3a 4 6", "shown shown hidden hidden"),
        ("After a loss, the next snapshot is an event", "0 !0 !1a !1a", "- hidden shown shown"),
    ])
    func `Transitions are events`(sentence: String, snapshots: String, events: String) {
        var transitions = LogTransitions()
        let found = snapshots.split(separator: " ").enumerated().map { index, text in
            let (period, label) = (text.first(where: \.isNumber)?.wholeNumberValue ?? 0, text.filter(\.isLetter))
            var snapshot = IndicatorSnapshot.hidden(at: Double(index))
            if period % 2 == 1 { snapshot = .shown(label.isEmpty ? nil : label, at: Double(index)) }
            snapshot.period = period
            if text.hasPrefix("!") { transitions.isUncertain = true }
            return transitions.event(for: snapshot)?.rawValue ?? "-"
        }
        #expect(found.joined(separator: " ") == events, "\(sentence)")
    }

    @Test("What was shown and hidden while the log was slow has its lines, and what is left out counts as lost")
    func transitions() async throws {
        let gate = Gate()
        let indicator = IndicatorManager(delays: .zero, backends: [SlowStart(base: log().backend, gate: gate)])
        for _ in 0..<40 { indicator.begin().end() }
        gate.open()
        await indicator.shutdown()
        let lines = try decodedLog()
        // The last one is in the snapshot itself, and 64 before it ride along.
        #expect(lines.first?.event == "lost" && lines.first?.count == 80 - 65)
        #expect(lines.dropFirst().map(\.event) == ["hidden"] + (0..<32).flatMap { _ in ["shown", "hidden"] })
    }

    /// Starts when a gate opens.
    private struct SlowStart: IndicatorBackend {
        let base: LogFileBackend
        let gate: Gate
        var name: String { base.name }

        func show(_ updates: IndicatorUpdates) async throws {
            await gate.pass()
            try await base.show(updates)
        }
    }

    @Test func `An existing file is appended to and keeps its mode`() async throws {
        chmod(try folder.write("before\n", to: "x.log"), 0o640)
        try await log().write(.shown())
        #expect(try folder.read("x.log").hasPrefix("before\n{") && folder.mode("x.log") == 0o640)
    }

    @Test func `It can be started again and repeats nothing`() async throws {
        let backend = log()
        for _ in 0..<2 { try await backend.write(.shown("a")) }
        try await backend.write(.hidden(at: 4))
        #expect(try decodedLog().map(\.event) == ["shown", "hidden"])
    }

    @Test(.needs(.fullDevice)) func `How many lines were lost is logged before the backend has stopped`() async throws {
        let messages = InMemoryLogHandler()
        let logger = Logger(label: "test", factory: { _ in messages })
        let backend = BackendDriver.log("/dev/full", logger: logger).backend
        let clock = VirtualClock()
        let manager = IndicatorManager(delays: .zero, backends: [backend], clock: clock)
        let activity = manager.begin("a")
        func losses() -> [String] { messages.entries.map(\.message.description) }
        #expect(await eventually { losses() == ["'logFile': 1 line was lost"] })
        // It cannot be used again before the loss is reported.
        for _ in 0..<3 { await clock.advance(by: .seconds(10), settling: manager) }
        activity.end()
        await clock.advance(by: .seconds(60), settling: manager)
        #expect(losses().count == 1)
        await manager.shutdown()
        #expect(losses().dropFirst() == ["'logFile': 2 lines were lost"])
    }

    @Test func `Times never go backwards`() async throws {
        try await log().write(
            .shown("a", at: 1),
            .shown(at: 1).changed(to: "b", at: 30),
            // Events that are seen late do not go back; the wall clock that was set back does.
            .hidden(at: 29.5),
            .shown("c", at: 2),
            .hidden(at: 3)
        )
        #expect(try decodedLog().map { $0.time.dropFirst(17).prefix(2) } == ["01", "30", "30", "02", "03"])
    }

    // MARK: Events

    /// The lines without the time and the process: `begin label="a"`.
    private var lines: [String] {
        let text = (try? folder.read("log")) ?? ""
        return text.split(separator: "\n").map { $0.split(separator: " ").dropFirst(2).joined(separator: " ") }
    }

    private var events: [Substring] { lines.map { $0.prefix { $0 != " " } } }

    private func backend(_ events: Set<LogFileBackend.Event>) -> BackendDriver<LogFileBackend> {
        let settings = LogFileBackend.Settings(path: folder.appending("log"), format: .text, events: events)
        return BackendDriver(LogFileBackend(applicationName: "my-app", settings: settings))
    }

    @Test func `Events are selected one by one`() async throws {
        try await backend([.hidden]).write(
            .shown("a", at: 1),
            .shown("a", at: 1).changed(to: "b", at: 2),
            .hidden(at: 3)
        )
        #expect(lines == ["hidden state=inactive visible=false count=0"])
    }

    @Test func `Events are in the order of their times, an end at the time of the beginning after it`() async throws {
        let backend = try await backend([.shown, .finished]).started()
        let ends = [0.5, 1].map { seconds in
            let date = IndicatorSnapshot.noon(seconds)
            return FinishedActivity(label: "\(seconds)", outcome: .succeeded, duration: .zero, date: date)
        }
        try await backend.update(IndicatorUpdate(.shown("a", at: 1), finished: ends))
        await backend.stop()
        #expect(events == ["finished", "shown", "finished"])
    }

    @Test func `An activity that ends at the same instant comes before the end of the period`() async throws {
        let backends = [backend([.shown, .hidden, .finished]).backend]
        let indicator = IndicatorManager(delays: .zero, backends: backends, clock: VirtualClock())
        indicator.start("a", label: "A")
        #expect(await eventually { events == ["shown"] })
        indicator.stop("a")
        await indicator.shutdown()
        #expect(events == ["shown", "finished", "hidden"])
    }

    @Test func `There is each labelled activity that ended, however short, or a count`() async throws {
        let clock = VirtualClock()
        let indicator = IndicatorManager(backends: [backend([.shown, .finished]).backend], clock: clock)
        indicator.begin("short").end(.failed("exit 3"))
        await clock.advance(by: .milliseconds(100), settling: indicator)
        #expect(lines == [#"finished outcome=failed seconds=0.0 message="exit 3" label="short""#])
        for _ in 0..<100 { indicator.begin("job").end() }
        await indicator.shutdown()
        let lost = lines.filter { $0.hasPrefix("lost") }.compactMap { Int($0.dropFirst(11).prefix { $0.isNumber }) }
        #expect(lines.count - lost.count + lost.reduce(0, +) == 101, "\(lines)")
    }

    // MARK: The kind

    private let context = BackendContext(name: "audit", applicationName: "my-app", logger: Logger(label: "test"))

    @Test func `Settings reach the backend`() throws {
        let values: [String: SettingValue] = [
            "path": "/x", "format": "text", "maxSize": 5, "keep": 7, "events": ["shown", "hidden"],
        ]
        let log = try #require(try BackendKind.logFile.with(values).make(context) as? LogFileBackend)
        #expect(log.name == "audit")
        #expect(log.settings == .init(path: "/x", format: .text, maxSize: 5, keep: 7, events: [.shown, .hidden]))
    }

    @Test func `The availability check creates nothing`() async throws {
        func availability(_ path: String) async throws -> Result<String?, Unavailability> {
            try await BackendKind.logFile.with(["path": .string(path)]).availability(context)
        }
        for path in [folder.appending("a/b/x.log"), "/dev/null"] {
            #expect(try await availability(path) == .success(path))
        }
        #expect(try folder.names() == [])
        let file = try folder.write("", to: "file")
        #expect(try await availability(file) == .success(file))
        // Root may write in every folder.
        chmod(folder.path, 0o500)
        defer { chmod(folder.path, 0o700) }
        let remark = geteuid() == 0 ? "" : ", which grows: its folder cannot be written"
        #expect(try await availability(file) == .success(file + remark))
    }
}
