import TestSupport

@testable import IndicatorCore

@Suite struct ActivityDetailsTests {
    /// Every way by which a text enters an indicator; each once arrived as it was. And 64 finished activities with
    /// labels of 10 MB stayed as long as the indicator.
    @Test(arguments: [("\u{1B}[2J\u{9B}1m\rone\ntwo \u{202E}\u{7}", 1), ("lång", 1_000_000)])
    func `An app's own backend can print what it receives`(part: String, count: Int) async throws {
        let text = String(repeating: part, count: count)
        let surface = InMemoryBackend(delivery: BackendDelivery(includesHidden: true))
        let manager = IndicatorManager(backends: [surface])
        let notifications = TaskNotifications(
            starts: [Notification.Name("begin")],
            stops: [Notification.Name("end")],
            label: { _ in text },
            outcome: { _ in .failed(text) }
        )
        let center = NotificationCenter()
        manager.observe(notifications, in: center)
        manager.begin(text, total: 2, unit: ActivityUnit(text)).end(.failed(text))
        manager.start("id", label: text)
        manager.update("id") { ($0.label, $0.detail, $0.attention, $0.unit.name) = (text + text, text, text, text) }
        let task = NSObject()
        center.post(name: Notification.Name("begin"), object: task)
        manager.track(task, label: text)
        let snapshot = manager.snapshot
        center.post(name: Notification.Name("end"), object: task)
        manager.stop("id", .failed(text))
        for member in [text, ""] {
            manager.withActivity(text) { group in
                group.failsWithMembers = true
                group.begin(member).end(ActivityOutcome(Failure(errorDescription: text)))
            }
        }
        await manager.shutdown()
        #expect(snapshot.activities.count == 3)
        let activities = (surface.snapshots + [snapshot]).flatMap(\.activities)
        let finished = surface.finished
        #expect(finished.count == 6)
        let texts = activities.flatMap { [$0.label, $0.detail, $0.attention, $0.unit.name] }.compactMap(\.self)
        let reported = finished.flatMap { finished in
            [finished.label, finished.listedMessage] + (finished.outcome == finished.outcome.safe ? [] : [text])
        }
        for received in texts + reported {
            #expect(received.unicodeScalars.count <= SafeText.limit)
            #expect(received == SafeText.singleLine(received))
        }
        #expect(ActivityDetails(label: "\u{1B}\n").label == nil)
    }

    private struct Failure: LocalizedError {
        var errorDescription: String?
    }
}

@Suite struct RateEstimateTests {
    @Test(arguments: [0, -1, Int.min, 10_000_000])
    func `A total of zero or less, or for months, has no time left`(total: Int) {
        var estimate = RateEstimate(at: .zero)
        for second in 1...4 {
            estimate.measure(Double(second), at: .seconds(second))
            estimate.measure(Double(second) + 0.5, at: .seconds(second))  // No time has passed.
        }
        var details = ActivityDetails(total: total)
        details.completed = 4
        details.estimate(&estimate, isMeasured: false, at: .seconds(4))
        #expect(details.rate == 1)
        #expect(details.remaining == nil)
        details.total = 6
        details.estimate(&estimate, isMeasured: false, at: .seconds(4))
        #expect(details.remaining == .seconds(2))
    }

    /// Real work, sampled ten times a second, and the estimates that the article draws. Measuring once began anew with
    /// each pair of updates (`pairs`), and with each decrease (`search`).
    private struct History: Decodable {
        var what: String
        var total: Double
        var samples: [[Double]]
        /// The time left after each second.
        var remaining: [Double?]
    }

    @Test func `Recorded histories have the documented estimates`() throws {
        let folder = try #require(Bundle.module.url(forResource: "histories", withExtension: nil))
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        #expect(files.count == 10)
        for file in files {
            let history = try JSONDecoder().decode(History.self, from: Data(contentsOf: file))
            var estimate = RateEstimate(at: .zero)
            var samples = history.samples[...]
            var done = 0.0
            for (index, expected) in history.remaining.enumerated() {
                let now = Duration.seconds(index + 1)
                while let first = samples.first, first[0] <= Double(index + 1) {
                    done = first[1]
                    estimate.measure(done, at: .seconds(first[0]))
                    samples.removeFirst()
                }
                let rate = estimate.perSecond(at: now).flatMap { $0 > 0 ? $0 : nil }
                let remaining = rate.map { max(history.total - done, 0) / $0 }
                let isEqual = abs((remaining ?? -1) - (expected ?? -1)) <= 1e-4 * (1 + (expected ?? 0))
                #expect(isEqual, "\(history.what) after \(index + 1) s")
            }
        }
    }
}
