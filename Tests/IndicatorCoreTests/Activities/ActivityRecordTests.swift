import Foundation
import IndicatorTesting
import TestSupport
import Testing

@testable import IndicatorCore

@Suite struct ActivityDetailsTests {
    @Test func longTextsAreCutAfterACharacter() {
        var details = ActivityDetails(label: String(repeating: "é", count: 5_000_000))
        let isCut = details.label == String(repeating: "é", count: 2047)
        #expect(isCut)
        details.attention = "a" + String(repeating: "👩‍👩‍👧‍👦", count: 1000)
        #expect(details.attention?.last == "👩‍👩‍👧‍👦")
        #expect((4000...4096).contains(details.attention?.utf8.count ?? 0))
        details.label = String(repeating: "x", count: 4096)
        #expect(details.label?.count == 4096)
        // One character of a megabyte.
        details.label = "e" + String(repeating: "\u{301}", count: 500_000)
        #expect((4090...4096).contains(details.label?.utf8.count ?? 0))
        details.label = ""
        #expect(details.label == nil)
    }

    /// 64 finished activities with labels of 10 MB stayed as long as the indicator.
    @Test func finishedActivitiesHaveShortTexts() async {
        let surface = InMemoryBackend(delivery: BackendDelivery(includesHidden: true))
        let manager = IndicatorManager(backends: [surface])
        let text = String(repeating: "long", count: 1_000_000)
        manager.begin(text).end(.failed(text))
        manager.start("id", label: text)
        manager.update("id") { $0.label = text + text }
        manager.stop("id", .failed(text))
        await manager.shutdown()
        let finished = surface.snapshots.flatMap(\.finished)
        #expect(finished.count == 2)
        for activity in finished {
            #expect(activity.label.utf8.count <= 4096)
            if case .failed(let message) = activity.outcome { #expect((4000...4096).contains(message.utf8.count)) }
        }
    }
}
