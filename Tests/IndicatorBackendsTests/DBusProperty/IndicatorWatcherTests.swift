#if DBus
import Testing

@testable import IndicatorBackends

@Suite struct IndicatorWatcherTests {
    private typealias Backlog = IndicatorWatcher.Backlog

    private func property(_ number: Int) -> [BusProperty] {
        [BusProperty("ActivityCount", .uint32(UInt32(number)))]
    }

    @Test("A consumer that does not read gets the latest state of each indicator, and the number of dropped events")
    func backlog() {
        var backlog = Backlog()
        backlog.append(.appeared(name: "a", properties: property(0)))
        for number in 1...100_000 {
            backlog.append(.changed(name: "a", properties: property(number), changed: ["ActivityCount"]))
            backlog.append(.finished(name: "a", label: "\(number)", outcome: "", message: "", seconds: 1))
        }
        #expect(backlog.events.count <= Backlog.limit + 1)
        var events: [IndicatorWatcher.Event] = []
        while let event = backlog.take() { events.append(event) }
        let kept = events.count - 1
        #expect(events.last == .dropped(200_001 - kept))
        let states = events.compactMap { event -> [BusProperty]? in
            switch event {
            case .appeared(_, let properties), .changed(_, let properties, _): properties
            default: nil
            }
        }
        #expect(states.contains(property(100_000)))
        #expect(events.contains(.finished(name: "a", label: "100000", outcome: "", message: "", seconds: 1)))
        #expect(backlog.take() == nil)
    }

    @Test("Few events are kept as they are, also when many indicators come and go")
    func order() {
        var backlog = Backlog()
        backlog.append(.appeared(name: "a", properties: property(0)))
        backlog.append(.vanished(name: "a"))
        #expect(backlog.take() == .appeared(name: "a", properties: property(0)))
        #expect(backlog.take() == .vanished(name: "a"))
        #expect(backlog.take() == nil)
        for number in 0..<100_000 { backlog.append(.vanished(name: "\(number)")) }
        #expect(backlog.events.count == 2 * Backlog.limit)
    }
}
#endif
