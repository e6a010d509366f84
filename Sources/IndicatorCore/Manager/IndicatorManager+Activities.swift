import Foundation
import Synchronization

extension IndicatorManager {
    // MARK: - Activities without an identity

    /// Begins an activity that says nothing of itself, which ends when the returned value goes out of scope.
    ///
    /// While others are in progress, this and its end are mostly one atomic operation each. The indicator works at
    /// least until its activities have ended, also when the manager is released before.
    @inlinable
    public func begin() -> Activity {
        // The manager keeps the engine until the activity is counted, which keeps it from then on.
        defer { withExtendedLifetime(self) {} }
        return Activity(engine.begin())
    }

    /// What begins in the indicator itself is a member of no group.
    public var activityContext: ActivityContext { ActivityContext(engine: engine, group: nil) }

    /// Counts one more activity, as in AFNetworking's manager.
    public func incrementActivityCount() {
        engine.change { machine, now in machine.change(now) { $0.increment() } }
    }

    /// Counts one activity less of those that ``incrementActivityCount()`` counted; without effect when there is none.
    public func decrementActivityCount() {
        engine.change { machine, now in machine.change(now) { $0.decrement() } }
    }

    // MARK: - Activities with an identity

    /// Starts an activity with an identity of the caller's own.
    ///
    /// Starting one that is in progress changes nothing. One that was stopped less than 250 ms ago without having been
    /// started is not started: its stop has overtaken its start.
    ///
    /// - Parameters:
    ///   - id: what identifies it, here and in `stop`. It is compared and hashed with the indicator's lock
    ///     held, so its `==` and `hash(into:)` must not use the indicator; its `deinit` may. Integers that are equal
    ///     are the same identity whatever their types.
    ///   - label: a short text of what is in progress.
    ///   - progress: how much is done, 0…1.
    public func start(_ id: some Hashable & Sendable, label: String? = nil, progress: Double? = nil) {
        engine.start(ActivityKey(id), label: label, progress: progress)
    }

    /// Starts an activity with a text as its identity. See the general form.
    public func start(_ id: String, label: String? = nil, progress: Double? = nil) {
        engine.start(.text(id), label: label, progress: progress)
    }

    /// Starts an activity with a number as its identity. See the general form for the rules.
    public func start(_ id: Int, label: String? = nil, progress: Double? = nil) {
        engine.start(.number(id), label: label, progress: progress)
    }

    /// Changes what an activity with an identity says of itself; without effect when it is not in progress.
    ///
    /// ```swift
    /// indicator.update("request-7") { $0.label = "GET /page/2" }
    /// ```
    ///
    /// - Parameters:
    ///   - id: what identifies it.
    ///   - change: called with the indicator's lock held: it must not use the indicator.
    public func update(_ id: some Hashable & Sendable, _ change: (inout ActivityDetails) -> Void) {
        engine.update(ActivityKey(id), change)
    }

    /// Stops an activity with an identity of the caller's own. Stopping one that is not in progress changes nothing.
    /// Backends report the outcome of an activity that has a label.
    public func stop(_ id: some Hashable & Sendable, _ outcome: ActivityOutcome = .unspecified) {
        engine.stop(ActivityKey(id), outcome)
    }

    /// Stops an activity with a text as its identity. See the general form.
    public func stop(_ id: String, _ outcome: ActivityOutcome = .unspecified) {
        engine.stop(.text(id), outcome)
    }

    /// Stops an activity with a number as its identity. See the general form.
    public func stop(_ id: Int, _ outcome: ActivityOutcome = .unspecified) {
        engine.stop(.number(id), outcome)
    }
}

extension IndicatorEngine {
    /// Begins an activity that says nothing of itself.
    @inlinable
    func begin() -> ActivityHandle {
        if counter.begin() { report() }
        return ActivityHandle(self)
    }

    func start(_ key: ActivityKey, label: String?, progress: Double? = nil) {
        change { machine, now in
            machine.change(now) { $0.start(key, label: label, progress: progress, at: now) }
        }
    }

    /// Changes what an activity says of itself; without effect when it is not in progress.
    func update(_ key: ActivityKey, _ body: (inout ActivityDetails) -> Void) {
        change { machine, now in machine.change(now) { $0.update(key, at: now, body) } }
    }

    func stop(_ key: ActivityKey, _ outcome: ActivityOutcome = .unspecified) {
        change { machine, now in machine.change(now) { $0.stop(key, outcome, at: now) } }
    }

    /// Changes one of the delays. A value that is out of range is limited.
    func setDelay(_ setting: IndicatorDelays.Setting, to value: Duration) {
        setDelays { $0.limiting(setting, to: value) }
    }
}
