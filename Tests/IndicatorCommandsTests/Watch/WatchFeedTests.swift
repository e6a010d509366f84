import IndicatorThreads
import Testing

@testable import IndicatorCommands

/// What is kept for an output that is blocked.
@Suite struct WatchFeedTests {
    private func event(_ kind: WatchEvent.Kind, _ name: String, _ number: Int) -> WatchReport {
        var state = WatchedState()
        state.count = number
        return .event(WatchEvent(kind, .init(name: name, app: name), state: state))
    }

    private func finished(_ name: String) -> WatchReport {
        let finished = WatchEvent.Finished(label: "x", outcome: "succeeded", message: nil, seconds: 1)
        return .event(WatchEvent(.finished, .init(name: name, app: name), finished: finished))
    }

    @Test func `The latest state of each indicator is kept, and the number of dropped events`() {
        var backlog = WatchBacklog()
        for number in 0..<100_000 {
            backlog.append(event(number == 0 ? .appeared : .changed, "a", number))
            backlog.append(finished("a"))
        }
        let reports = backlog.takeAll()
        #expect(reports.count == WatchBacklog.limit + 2)
        #expect(reports.prefix(3) == [event(.appeared, "a", 0), finished("a"), event(.changed, "a", 1)])
        let dropped = 200_000 - (reports.count - 1)
        #expect(reports.suffix(2).first == event(.changed, "a", 99_999))
        #expect(reports.last == .notice("\(dropped) events were not printed, because the output was blocked"))
        #expect(backlog.takeAll().isEmpty)
    }

    @Test("An indicator that has appeared and changed meanwhile appears; one that has vanished vanishes")
    func merged() {
        var backlog = WatchBacklog()
        for number in 0..<WatchBacklog.limit { backlog.append(event(.changed, "a", number)) }
        for report in [event(.appeared, "b", 0), event(.appeared, "c", 0), event(.changed, "b", 1)] {
            backlog.append(report)
        }
        backlog.append(event(.vanished, "c", 2))
        let reports = backlog.takeAll().dropFirst(WatchBacklog.limit)
        #expect(reports.dropLast() == [event(.appeared, "b", 1), event(.vanished, "c", 2)])
    }
}
