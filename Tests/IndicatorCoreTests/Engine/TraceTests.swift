import TestSupport

@Suite struct TraceTests {
    @Test func `Every worked example is found`() throws { #expect(try WorkedExample.files.count == 20) }

    @Test(arguments: try WorkedExample.files) func `A worked example holds exactly`(file: String) throws {
        let example = try WorkedExample(file: file)
        let delays = try IndicatorDelays(
            startDelay: .milliseconds(example.start_delay_ms),
            completionDelay: .milliseconds(example.completion_delay_ms),
            minimumVisibleTime: .milliseconds(example.minimum_visible_time_ms)
        )
        let replay = ActivityReplay(delays: delays)
        var changes: [VisibilityChange] = []
        for event in example.events {
            let events: [String: ActivityReplay.Event] = [
                "start": .start(id: event.id), "stop": .stop(id: event.id), "enable": .enable, "disable": .disable,
            ]
            changes += replay.apply(try #require(events[event.event]), at: .milliseconds(event.t_ms))
        }
        changes += replay.finish()
        let seen = changes.map {
            WorkedExample.Change(t_ms: Int($0.instant / .milliseconds(1)), visible: $0.isVisible)
        }
        #expect(seen == example.expected)
    }
}
