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

    private func backend(
        _ events: Set<LogFileBackend.Event>,
        dependencies: LogFileBackend.Dependencies = .init()
    ) -> LogFileBackend {
        LogFileBackend(
            applicationName: "my-app",
            settings: .init(path: path, format: .text, events: events),
            dependencies: dependencies
        )
    }

    @Test("may include every activity with a label, even while the indicator is hidden")
    func record() async throws {
        let clock = VirtualClock()
        let indicator = IndicatorManager(backends: [backend([.shown, .hidden, .begin, .end])], clock: clock)
        let first = indicator.begin("a")
        #expect(await eventually { lines.count == 1 })
        let silent = indicator.begin()
        clock.advance(by: .milliseconds(300))
        first.label = "b"
        first.end(.succeeded)
        clock.advance(by: .milliseconds(300))
        #expect(await eventually { lines.count == 2 })
        // So short that no snapshot may list it.
        indicator.begin("c").end(.failed("no"))
        clock.advance(by: .milliseconds(500))
        #expect(await eventually { lines.count == 5 })
        silent.end()
        await indicator.shutdown()
        #expect(
            lines == [
                #"begin label="a""#,
                #"end outcome=succeeded seconds=0.3 label="b""#,
                #"begin label="c""#,
                #"end outcome=failed seconds=0.0 message="no" label="c""#,
                "shown state=active visible=true count=1",
                "hidden state=inactive visible=false count=0",
            ]
        )
    }

    @Test("are separate for each of many activities, and omitted ones are counted")
    func many() async throws {
        let clock = VirtualClock()
        let indicator = IndicatorManager(backends: [backend([.begin, .end])], clock: clock)
        #expect(await eventually { indicator.backendStatuses[0].state == .running })
        let first = indicator.begin("first")
        #expect(await eventually { lines.count == 1 })
        let group = ManagedActivity("group", in: indicator)
        let members = (1...100).map { ManagedActivity("\($0)", in: group) }
        for member in members { member.end(.succeeded) }
        group.end(.succeeded)
        first.end(.succeeded)
        clock.advance(by: .seconds(1))
        await indicator.shutdown()
        // The last 64 of 102.
        #expect(lines.filter { $0.hasPrefix("end ") }.count == 64)
        #expect(lines.filter { $0.hasPrefix("begin ") }.count == 64)
        #expect(lines.filter { $0.hasPrefix("lost count=38 ") }.count == 1)
        #expect(Set(lines.filter { $0.hasPrefix("begin ") }).count == 64)
        let times = try folder.read("log").split(separator: "\n").map { $0.prefix(27) }
        #expect(times == times.sorted())
    }

    /// From the 1025th on, each snapshot had one line more.
    @Test("begin once, also after many activities that lost their label before their end")
    func beginnings() async throws {
        let backend = backend([.begin])
        try await backend.start()
        for number in 1...1100 {
            let activities = [("first", 0), ("\(number)", number)].map { label, id in
                var details = ActivityDetails(label: label)
                details.id = UInt64(id)
                return details
            }
            try await backend.update(IndicatorSnapshot(state: .active, activityCount: 2, activities: activities))
        }
        await backend.stop()
        #expect(lines.count == 1101)
        #expect(lines.filter { $0 == #"begin label="first""# }.count == 1)
    }

    @Test("are selected one by one")
    func selection() async throws {
        let backend = backend([.hidden])
        try await backend.start()
        try await backend.update(.shown("a", at: 1))
        try await backend.update(.shown("a", at: 1).changed(to: "b", at: 2))
        try await backend.update(.hidden(at: 3))
        await backend.stop()
        #expect(lines == ["hidden state=inactive visible=false count=0"])
        #expect(backend.delivery == .everyTransition)
        #expect(self.backend([.end]).delivery.includesHidden)
    }

    @Test("include a new label at most once a second, and always the last one")
    func labels() async throws {
        let now = Locked<Int64>(0)
        let calls = Locked<[(time: Int64, body: @Sendable () -> Void)]>([])
        var dependencies = LogFileBackend.Dependencies()
        dependencies.now = { now.withLock { $0 } }
        dependencies.call = { _, time, body in calls.withLock { $0.append((time, body)) } }
        let backend = backend([.shown, .hidden, .label], dependencies: dependencies)
        try await backend.start()
        var snapshot = IndicatorSnapshot.shown("0", at: 0)
        try await backend.update(snapshot)
        for number in 1...25 {
            now.withLock { $0 = Int64(number) * 100_000_000 }
            snapshot = snapshot.changed(to: "\(number)", at: Double(number) / 10)
            try await backend.update(snapshot)
            // The calls that are due.
            let due = calls.withLock { calls in
                defer { calls.removeAll { $0.time <= Int64(number) * 100_000_000 } }
                return calls.filter { $0.time <= Int64(number) * 100_000_000 }
            }
            for call in due { call.body() }
        }
        let waiting = try #require(calls.withLock { $0.first })
        #expect(calls.withLock { $0.count } == 1)
        now.withLock { $0 = waiting.time }
        waiting.body()
        await backend.stop()
        let labels = lines.map { $0.split(separator: "=").last }
        #expect(labels == [#""0""#, #""1""#, #""11""#, #""21""#, #""25""#])
        // A late call has no effect.
        waiting.body()
        #expect(lines.count == 5)
    }

    @Test("include the last label, on the real clock")
    func lastLabel() async throws {
        let backend = backend([.label])
        try await backend.start()
        try await backend.update(.shown("a", at: 0))
        try await backend.update(.shown("a", at: 0).changed(to: "b", at: 1))
        try await backend.update(.shown("a", at: 0).changed(to: "c", at: 1.5))
        #expect(await eventually { lines.count == 2 })
        #expect(lines.last?.hasSuffix(#"label="c""#) == true)
        await backend.stop()
    }
}
