public import CoreMetrics
public import IndicatorCore

/// Reports the indicator as metrics through swift-metrics, to the metrics system that the app has bootstrapped, such as
/// Prometheus.
///
/// | metric | kind | dimensions | |
/// |---|---|---|---|
/// | `indicator_activities` | gauge | | the number of activities in progress |
/// | `indicator_visible` | gauge | | 1 while the indicator is shown, otherwise 0 |
/// | `indicator_activity_duration` | timer | `outcome` | the duration of labelled activities |
/// | `indicator_activities_unmeasured` | counter | | labelled activities that ended and are not in a timer |
/// | `indicator_backend_outages` | counter | `backend` | how often a backend became unavailable |
///
/// An `outcome` is `unspecified`, `succeeded`, `failed` or `cancelled`; a `backend` is a backend's name. Labels are not
/// a dimension, because their number is unlimited. Activities without a label have no duration: they are only counted.
///
/// ```swift
/// MetricsSystem.bootstrap(PrometheusMetricsFactory())
/// indicator.addBackend(MetricsBackend())
/// ```
///
/// The counters of backends are updated whenever the indicator changes, and by ``refresh()``.
public final class MetricsBackend: IndicatorBackend {
    private struct State {
        var control: IndicatorControl?
        var counters: [String: (outages: Counter, status: BackendStatus?)] = [:]

        /// Returns the increment of a backend's counter.
        mutating func apply(_ status: BackendStatus) -> (Counter, Int)? {
            guard let entry = counters[status.name] else { return nil }
            counters[status.name]?.status = status
            // A lower count belongs to a new backend with the same name.
            let before = entry.status?.outages ?? 0
            return (entry.outages, status.outages - (status.outages < before ? 0 : before))
        }
    }

    /// `metrics`.
    public let name: String

    private let factory: any MetricsFactory
    private let activities: Gauge
    private let visible: Gauge
    private let unmeasured: Counter
    private let timers: [String: Timer]
    private let state = Locked(State())
    private let refreshing = Locked(())

    /// Creates a backend.
    ///
    /// - Parameters:
    ///   - name: the name of the backend.
    ///   - factory: the factory of the metrics. Default: that of the process.
    public init(name: String = "metrics", factory: any MetricsFactory = MetricsSystem.factory) {
        self.name = name
        self.factory = factory
        activities = Gauge(label: "indicator_activities", factory: factory)
        visible = Gauge(label: "indicator_visible", factory: factory)
        unmeasured = Counter(label: "indicator_activities_unmeasured", factory: factory)
        timers = Dictionary(
            uniqueKeysWithValues: ["unspecified", "succeeded", "failed", "cancelled"].map { outcome in
                let dimensions = [("outcome", outcome)]
                return (outcome, Timer(label: "indicator_activity_duration", dimensions: dimensions, factory: factory))
            }
        )
    }

    /// Includes changes while hidden, so that the gauges are always current.
    public var delivery: BackendDelivery { BackendDelivery(includesHidden: true) }

    /// Records the updates; at first and at the end, sets the gauges to 0.
    public func show(_ updates: IndicatorUpdates) async {
        state.withLock { $0.control = updates.control }
        record(activityCount: 0, isVisible: false)
        for await update in updates {
            record(activityCount: update.snapshot.activityCount, isVisible: update.snapshot.isVisible)
            for finished in update.finished {
                timers[finished.outcome.dimension]?.recordNanoseconds(finished.duration.wholeNanoseconds)
            }
            if update.omittedFinished > 0 { unmeasured.increment(by: update.omittedFinished) }
            refresh()
        }
        record(activityCount: 0, isVisible: false)
        refresh()
    }

    private func record(activityCount: Int, isVisible: Bool) {
        activities.record(activityCount)
        visible.record(isVisible ? 1 : 0)
    }

    /// Updates the counters of backends. Call it before the metrics are scraped.
    public func refresh() {
        guard let control = state.withLock({ $0.control }) else { return }
        for status in control.backendStatuses where status.name != name {
            guard state.withLock({ $0.counters[status.name] == nil }) else { continue }
            // Created without the lock, because a factory is foreign code.
            let dimensions = [("backend", status.name)]
            let outages = Counter(label: "indicator_backend_outages", dimensions: dimensions, factory: factory)
            state.withLock { state in
                guard state.counters[status.name] == nil else { return }
                state.counters[status.name] = (outages, nil)
            }
        }
        // Only one thread at a time reads and applies statuses, so that an older status does not follow a newer one.
        let increments = refreshing.withLock { _ in
            let statuses = control.backendStatuses
            let names = Set(statuses.map(\.name))
            return state.withLock { state in
                // The next backend with the name of a removed one begins at 0.
                for name in state.counters.keys where !names.contains(name) { state.counters[name]?.status = nil }
                return statuses.compactMap { state.apply($0) }
            }
        }
        for (outages, newOutages) in increments { outages.increment(by: newOutages) }
    }
}

extension ActivityOutcome {
    fileprivate var dimension: String {
        switch self {
        case .unspecified: "unspecified"
        case .succeeded: "succeeded"
        case .failed: "failed"
        case .cancelled: "cancelled"
        }
    }
}
