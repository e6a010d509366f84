import InMemoryLogging
import TestSupport

@testable import IndicatorBackends

@Suite struct LogFileBackendTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func log() -> BackendDriver<LogFileBackend> { .log(folder.appending("x.log")) }

    @Test func `A visible period is a few lines`() async throws {
        let backend = try await log().started()
        try await backend.update(.hidden(at: 0))
        try await backend.update(.shown("GET /", at: 1))
        try await backend.update(.shown("GET /", at: 1, count: 2))
        try await backend.update(.shown(at: 1).changed(to: "GET /2", at: 30, progress: 0.5))
        try await backend.update(.hidden(at: 31))
        await backend.stop()
        let prefix = #"{"time":"2026-03-01T12:00:"#
        let suffix = #""app":"my-app","pid":\#(getpid())}"# + "\n"
        #expect(
            try folder.read("x.log")
                == prefix + #"01.000000Z","event":"shown","state":"active","visible":true,"count":1,"label":"GET /","#
                + suffix
                + prefix + #"30.000000Z","event":"label","state":"active","visible":true,"count":1,"label":"GET /2","#
                + #""progress":0.5,"# + suffix
                + prefix + #"31.000000Z","event":"hidden","state":"inactive","visible":false,"count":0,"# + suffix
        )
    }

    @Test("What was shown and hidden while the log was slow has its lines, and what is left out counts as lost")
    func transitions() async throws {
        let gate = Gate()
        let slow = SlowStart(base: log().backend, gate: gate)
        let indicator = IndicatorManager(delays: .zero, backends: [slow])
        for _ in 0..<40 { indicator.begin().end() }
        gate.open()
        await indicator.shutdown()
        let lines = try decodeLog(folder.read("x.log"))
        // The last one is in the snapshot itself, and 64 before it ride along.
        #expect(lines.first?.event == "lost" && lines.first?.count == 80 - 65)
        #expect(lines.dropFirst().map(\.event) == ["hidden"] + (0..<32).flatMap { _ in ["shown", "hidden"] })
    }

    /// Starts when a gate opens.
    private final class SlowStart: IndicatorBackend {
        let base: LogFileBackend
        let gate: Gate
        var name: String { base.name }

        init(base: LogFileBackend, gate: Gate) { (self.base, self.gate) = (base, gate) }

        func show(_ updates: IndicatorUpdates) async throws {
            await gate.pass()
            try await base.show(updates)
        }
    }

    @Test func `An existing file is appended to and keeps its mode`() async throws {
        let path = try folder.write("before\n", to: "x.log")
        chmod(path, 0o640)
        let backend = try await BackendDriver.log(path).started()
        try await backend.update(.shown())
        await backend.stop()
        #expect(try folder.read("x.log").hasPrefix("before\n{"))
        #expect(mode(of: path) == 0o640)
    }

    @Test func `It can be started again and repeats nothing`() async throws {
        let backend = log()
        for _ in 0..<2 {
            try await backend.start()
            try await backend.update(.shown("a"))
            await backend.stop()
        }
        try await backend.start()
        try await backend.update(.hidden(at: 4))
        await backend.stop()
        #expect(try decodeLog(folder.read("x.log")).map(\.event) == ["shown", "hidden"])
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
        let backend = try await log().started()
        try await backend.update(.shown("a", at: 1))
        try await backend.update(.shown(at: 1).changed(to: "b", at: 30))
        // Events that are seen late do not go back; the wall clock that was set back does.
        try await backend.update(.hidden(at: 29.5))
        try await backend.update(.shown("c", at: 2))
        try await backend.update(.hidden(at: 3))
        await backend.stop()
        let seconds = try decodeLog(folder.read("x.log")).map { $0.time.dropFirst(17).prefix(2) }
        #expect(seconds == ["01", "30", "30", "02", "03"])
    }

    @Test func `An activity that ends at the same instant comes before the end of the period`() async throws {
        let delays = IndicatorDelays.zero
        let indicator = IndicatorManager(delays: delays, clock: VirtualClock())
        let settings = LogFileBackend.Settings(path: folder.appending("x.log"))
        indicator.addBackend(LogFileBackend(applicationName: "app", settings: settings))
        indicator.start("a", label: "A")
        #expect(await eventually { (try? decodeEvents("x.log").map(\.event)) == ["shown"] })
        indicator.stop("a")
        await indicator.shutdown()
        #expect(try decodeEvents("x.log").map(\.event) == ["shown", "finished", "hidden"])
    }

    @Test func `Two logs have the same times`() async throws {
        let indicator = IndicatorManager(delays: .zero)
        let names = ["first", "second"]
        for name in names {
            let settings = LogFileBackend.Settings(path: folder.appending(name))
            indicator.addBackend(LogFileBackend(name: name, applicationName: "app", settings: settings))
        }
        func has(_ events: [String]) async -> Bool {
            await eventually { names.allSatisfy { (try? decodeEvents($0).map(\.event)) == events } }
        }
        indicator.start("a", label: "A")
        #expect(await has(["shown"]))
        indicator.start("b", label: "B")
        indicator.stop("a")
        #expect(await has(["shown", "finished", "label"]))
        // Changed in place.
        let activity = indicator.begin("C")
        indicator.stop("b")
        #expect(await has(["shown", "finished", "label", "finished", "label"]))
        activity.label = "D"
        #expect(await has(["shown", "finished", "label", "finished", "label", "label"]))
        activity.end()
        #expect(await has(["shown", "finished", "label", "finished", "label", "label", "finished", "hidden"]))
        await indicator.shutdown()
        let times = try names.map { try decodeEvents($0).map(\.time) }
        #expect(times[0] == times[1])
        #expect(times[0] == times[0].sorted())
    }

    // MARK: Events

    /// The lines without the time and the process: `begin label="a"`.
    private var lines: [String] {
        let text = (try? folder.read("log")) ?? ""
        return text.split(separator: "\n").map { $0.split(separator: " ").dropFirst(2).joined(separator: " ") }
    }

    private func backend(_ events: Set<LogFileBackend.Event>) -> BackendDriver<LogFileBackend> {
        let settings = LogFileBackend.Settings(path: folder.appending("log"), format: .text, events: events)
        return BackendDriver(LogFileBackend(applicationName: "my-app", settings: settings))
    }

    @Test func `Events are selected one by one`() async throws {
        let backend = try await backend([.hidden]).started()
        try await backend.update(.shown("a", at: 1))
        try await backend.update(.shown("a", at: 1).changed(to: "b", at: 2))
        try await backend.update(.hidden(at: 3))
        await backend.stop()
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
        #expect(lines.map { $0.prefix { $0 != " " } } == ["finished", "shown", "finished"])
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

    private struct EventLine: Decodable {
        var time: String
        var event: String
    }

    private func decodeEvents(_ name: String) throws -> [EventLine] {
        try folder.read(name).split(separator: "\n").map {
            try JSONDecoder().decode(EventLine.self, from: Data($0.utf8))
        }
    }
}

/// Reads what a non-blocking descriptor has available.
func readAvailable(_ descriptor: Int32) -> String {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while case let count = read(descriptor, &buffer, buffer.count), count > 0 { bytes += buffer.prefix(count) }
    return String(decoding: bytes, as: UTF8.self)
}
