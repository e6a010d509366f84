import CoreMetrics
import Foundation
import IndicatorCore
import IndicatorMetrics
import MetricsTestKit
import TestSupport
import Testing

@Suite struct MetricsBackendTests {
    /// A backend that cannot start.
    private struct Broken: IndicatorBackend {
        struct Failure: Error {}
        let name = "broken"
        func start() async throws { throw Failure() }
        func update(_ snapshot: IndicatorSnapshot) async throws {}
        func stop() async {}
    }

    @Test("Gauges follow the indicator, timers have the outcomes, and no label is a dimension")
    func records() async throws {
        let metrics = TestMetrics()
        let backend = MetricsBackend(factory: metrics)
        let indicator = IndicatorManager(
            delays: try .init(startDelay: .zero, completionDelay: .zero),
            backends: [backend, Broken()]
        )
        let activity = indicator.begin("Copying secret.txt")
        let activities = try metrics.expectRecorder("indicator_activities")
        let visible = try metrics.expectRecorder("indicator_visible")
        #expect(await eventually { activities.lastValue == 1 && visible.lastValue == 1 })
        activity.end(.failed("no space"))
        indicator.begin("Another").end(.succeeded)
        #expect(await eventually { activities.lastValue == 0 && visible.lastValue == 0 })
        let failed = try metrics.expectTimer("indicator_activity_duration", [("outcome", "failed")])
        let succeeded = try metrics.expectTimer("indicator_activity_duration", [("outcome", "succeeded")])
        #expect(await eventually { failed.values.count == 1 && succeeded.values.count == 1 })

        #expect(await eventually { indicator.backendStatuses.last?.outages == 1 })
        backend.refresh()
        backend.refresh()
        #expect(metrics.counterTotal(label: "indicator_backend_outages", dimensions: [("backend", "broken")]) == 1)
        #expect(metrics.counterTotal(label: "indicator_backend_drops", dimensions: [("backend", "broken")]) == 0)
        await indicator.shutdown()

        let dimensions = metrics.timers.flatMap(\.dimensions) + metrics.counters.flatMap(\.dimensions)
        #expect(Set(dimensions.map(\.0)) == ["outcome", "backend"])
        #expect(!dimensions.contains { $0.1.contains("secret") })
    }

    @Test func activitiesThatDoNotFitIntoASnapshotAreCounted() async throws {
        let metrics = TestMetrics()
        let backend = MetricsBackend(factory: metrics)
        try await backend.start()
        let indicator = IndicatorManager(
            delays: try .init(startDelay: .zero, completionDelay: .zero),
            backends: [backend]
        )
        for number in 0..<500 { indicator.begin("\(number)").end(.cancelled) }
        let timer = try metrics.expectTimer("indicator_activity_duration", [("outcome", "cancelled")])
        #expect(
            await eventually {
                timer.values.count + Int(metrics.counterTotal(label: "indicator_activities_unmeasured")) == 500
            }
        )
        await indicator.shutdown()
    }

    /// A slow backend.
    private struct Slow: IndicatorBackend {
        let name = "slow"
        var delivery: BackendDelivery { BackendDelivery(mode: .everyTransition(capacity: 2)) }
        func start() async throws {}
        func update(_ snapshot: IndicatorSnapshot) async throws { usleep(1000) }
        func stop() async {}
    }

    @Test func concurrentRefreshesCountAnUpdateOnce() async throws {
        let metrics = TestMetrics()
        let backend = MetricsBackend(factory: metrics)
        let indicator = IndicatorManager(
            delays: try .init(startDelay: .zero, completionDelay: .zero),
            backends: [backend, Slow()]
        )
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
        let dropped = indicator.backendStatuses.first { $0.name == "slow" }?.updatesDropped ?? -1
        let counted = metrics.counterTotal(label: "indicator_backend_drops", dimensions: [("backend", "slow")])
        #expect(dropped > 0 && Int(counted) == dropped)
    }
}
