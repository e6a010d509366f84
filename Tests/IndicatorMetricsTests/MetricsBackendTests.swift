import CoreMetrics
import IndicatorMetrics
import MetricsTestKit
import Synchronization
import TestSupport

@Suite struct MetricsBackendTests {
    /// A backend that cannot start.
    private struct Broken: IndicatorBackend {
        struct Failure: Error {}
        let name = "broken"
        func show(_ updates: IndicatorUpdates) async throws { throw Failure() }
    }

    @Test(arguments: BackendCompatibility.Case.allCases)
    func `It does what an indicator expects`(_ expectation: BackendCompatibility.Case) async throws {
        let metrics = TestMetrics()
        let gauges = ["indicator_activities", "indicator_visible"]
        let suite = BackendCompatibility(
            make: { MetricsBackend(factory: metrics) },
            surface: BackendCompatibility.Surface(shown: {
                gauges.map { "\((try? metrics.expectRecorder($0))?.lastValue ?? 0)" }.joined(separator: " ")
            })
        )
        try await suite.check(expectation)
    }

    @Test("Timers have the durations of labelled activities, gauges include the others, and no label is a dimension")
    func durations() async throws {
        let metrics = TestMetrics()
        let clock = VirtualClock()
        let backend = MetricsBackend(factory: metrics)
        let indicator = IndicatorManager(
            delays: try .init(startDelay: .seconds(1), completionDelay: .zero),
            backends: [backend, Broken()],
            clock: clock
        )
        let activities = try metrics.expectRecorder("indicator_activities")
        let visible = try metrics.expectRecorder("indicator_visible")
        let outcomes: [(String, ActivityOutcome)] = [
            ("unspecified", .unspecified), ("succeeded", .succeeded), ("failed", .failed("no space")),
            ("cancelled", .cancelled),
        ]
        for (number, (name, outcome)) in outcomes.enumerated() {
            let activity = indicator.begin("Copying secret.txt")
            clock.advance(by: .milliseconds(250 * (number + 1)))
            activity.end(outcome)
            // Changes that follow each other within 100 ms are delivered together.
            clock.advance(by: .milliseconds(100))
            let timer = try metrics.expectTimer("indicator_activity_duration", [("outcome", name)])
            #expect(await eventually { timer.values == [Int64(number + 1) * 250_000_000] }, "\(name): \(timer.values)")
        }
        #expect(await eventually { indicator.state == .inactive })
        #expect(await eventually { indicator.backendStatuses.last?.outages == 1 })
        let unlabelled = indicator.begin()
        // Changes while hidden are delivered ten times a second.
        clock.advance(by: .milliseconds(500))
        #expect(await eventually { activities.lastValue == 1 && visible.lastValue == 0 })
        clock.advance(by: .seconds(1))
        #expect(await eventually { visible.lastValue == 1 })
        func outages() -> Int64 {
            metrics.counterTotal(label: "indicator_backend_outages", dimensions: [("backend", "broken")])
        }
        // By the last update.
        #expect(await eventually { outages() == 1 })
        for _ in 0..<2 { backend.refresh() }
        #expect(outages() == 1)
        await indicator.shutdown()
        #expect(activities.lastValue == 0 && visible.lastValue == 0)
        unlabelled.end()
        #expect(metrics.timers.flatMap(\.values).count == 4)
        #expect(metrics.counterTotal(label: "indicator_activities_unmeasured") == 0)
        let dimensions = metrics.timers.flatMap(\.dimensions) + metrics.counters.flatMap(\.dimensions)
        #expect(Set(dimensions.map(\.0)) == ["outcome", "backend"])
        #expect(!dimensions.contains { $0.1.contains("secret") })
    }

    @Test func `A new backend with the name of a removed one continues its counters`() async throws {
        let metrics = TestMetrics()
        let backend = MetricsBackend(factory: metrics)
        let indicator = IndicatorManager(backends: [backend])
        for number in 1...3 {
            indicator.addBackend(Broken())
            #expect(await eventually { indicator.backendStatuses.last?.outages == 1 })
            #expect(
                await eventually {
                    backend.refresh()
                    let dimensions = [("backend", "broken")]
                    return metrics.counterTotal(label: "indicator_backend_outages", dimensions: dimensions) == number
                }
            )
            await indicator.removeBackend(named: "broken")
            backend.refresh()
        }
        await indicator.shutdown()
    }

    @Test func `Activities that do not fit into a snapshot are counted`() async throws {
        let metrics = TestMetrics()
        let backend = MetricsBackend(factory: metrics)
        let indicator = IndicatorManager(delays: .zero, backends: [backend])
        for number in 0..<500 { indicator.begin("\(number)").end(.cancelled) }
        let timer = try metrics.expectTimer("indicator_activity_duration", [("outcome", "cancelled")])
        #expect(
            await eventually {
                timer.values.count + Int(metrics.counterTotal(label: "indicator_activities_unmeasured")) == 500
            }
        )
        await indicator.shutdown()
    }

    /// A backend that fails with every other update, and is then tried again.
    private final class Flaky: IndicatorBackend {
        private struct Failure: Error {}

        let name = "flaky"
        private let count = Atomic(0)

        func show(_ updates: IndicatorUpdates) async throws {
            for await _ in updates where count.wrappingAdd(1, ordering: .relaxed).newValue.isMultiple(of: 2) {
                throw Failure()
            }
        }
    }

    @Test func `Concurrent refreshes count an outage once`() async throws {
        let metrics = TestMetrics()
        let backend = MetricsBackend(factory: metrics)
        let indicator = IndicatorManager(delays: .zero, backends: [backend, Flaky()])
        await withTaskGroup { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<2000 {
                        indicator.begin().end()
                        backend.refresh()
                    }
                }
            }
        }
        await indicator.shutdown()
        backend.refresh()
        let outages = indicator.backendStatuses.first { $0.name == "flaky" }?.outages ?? -1
        let counted = metrics.counterTotal(label: "indicator_backend_outages", dimensions: [("backend", "flaky")])
        #expect(outages > 0 && Int(counted) == outages)
    }
}
