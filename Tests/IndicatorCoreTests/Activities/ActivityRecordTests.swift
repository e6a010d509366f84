import Foundation
import IndicatorTesting
import TestSupport
import Testing

@testable import IndicatorCore

@Suite struct ActivityDetailsTests {
    @Test func `Long texts are cut after a character`() {
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
    @Test func `Finished activities have short texts`() async {
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

@Suite struct RateEstimateTests {
    /// Two updates every 6 seconds: measuring began anew with each pair.
    @Test(arguments: [2, 5, 12]) func `Bursts with pauses have a rate`(burst: Int) throws {
        var estimate = RateEstimate(at: .zero)
        var done = 0.0
        for second in stride(from: 6, to: 300, by: 6) {
            for update in 0..<burst {
                done += 60 / Double(burst)
                estimate.measure(done, at: .seconds(second) + .milliseconds(update * 100))
            }
            guard second > 12 else { continue }
            let rate = try #require(estimate.perSecond(at: .milliseconds(second * 1000 + 5999)))
            #expect(rate > 5 && rate < 20, "\(rate) after \(second) s")
        }
    }

    /// Each decrease began a new estimate.
    @Test func `A progress that falls a little has a time left`() throws {
        var estimate = RateEstimate(at: .zero)
        for tick in 1...600 {
            let progress = 0.001 * Double(tick) - (tick % 5 == 0 ? 0.002 : 0)
            estimate.measure(progress, at: .milliseconds(tick * 100))
            guard tick > 30 else { continue }
            let rate = try #require(estimate.perSecond(at: .milliseconds(tick * 100)))
            #expect(abs(rate - 0.01) < 0.003, "\(rate) after \(tick * 100) ms")
        }
        // One that begins anew has no rate for a second.
        estimate.measure(0.5, at: .seconds(61))
        #expect(estimate.perSecond(at: .seconds(61)) == nil)
    }

    @Test(arguments: [0, -1, Int.min]) func `A total of zero or less has no time left`(total: Int) {
        var estimate = RateEstimate(at: .zero)
        for second in 1...4 { estimate.measure(Double(second), at: .seconds(second)) }
        var details = ActivityDetails(total: total)
        details.completed = 4
        details.estimate(&estimate, isMeasured: false, at: .seconds(4))
        #expect(details.rate == 1)
        #expect(details.remaining == nil)
        details.total = 6
        details.estimate(&estimate, isMeasured: false, at: .seconds(4))
        #expect(details.remaining == .seconds(2))
    }

    /// Real work, sampled ten times a second, and the estimates that the article draws.
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
