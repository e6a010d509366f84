import Foundation
import IndicatorCore
import IndicatorTesting
import IndicatorThreads
import TestSupport
import Testing

@testable import IndicatorBackends

@Suite("The events of a log file", .timeLimit(.minutes(10)))
struct LogFileEventsTests {
    private let folder: TemporaryDirectory
    private let path: String

    init() throws {
        folder = try TemporaryDirectory()
        path = folder.appending("log")
    }

    /// The lines without the time and the process: `begin label="a"`.
    private var lines: [String] {
        let text = (try? folder.read("log")) ?? ""
        return text.split(separator: "\n").map { $0.split(separator: " ").dropFirst(2).joined(separator: " ") }
    }

    private func backend(_ events: Set<LogFileBackend.Event>) -> BackendDriver<LogFileBackend> {
        BackendDriver(
            LogFileBackend(applicationName: "my-app", settings: .init(path: path, format: .text, events: events))
        )
    }

    @Test func `are selected one by one`() async throws {
        let backend = try await backend([.hidden]).started()
        try await backend.update(.shown("a", at: 1))
        try await backend.update(.shown("a", at: 1).changed(to: "b", at: 2))
        try await backend.update(.hidden(at: 3))
        await backend.stop()
        #expect(lines == ["hidden state=inactive visible=false count=0"])
    }

    @Test func `are in the order of their times, an end at the time of the beginning after it`() async throws {
        let backend = try await backend([.shown, .finished]).started()
        let ends = [0.5, 1].map { seconds in
            let date = IndicatorSnapshot.noon(seconds)
            return FinishedActivity(label: "\(seconds)", outcome: .succeeded, duration: .zero, date: date)
        }
        try await backend.update(IndicatorUpdate(.shown("a", at: 1), finished: ends))
        await backend.stop()
        #expect(lines.map { $0.prefix { $0 != " " } } == ["finished", "shown", "finished"])
    }

    @Test func `have each labelled activity that ended, however short, or a count`() async throws {
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
}
