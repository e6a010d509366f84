import Foundation

extension IndicatorManager {
    // MARK: - Activities without an identity

    /// Begins an activity that says nothing of itself, which ends when the returned value goes out of scope.
    ///
    /// While others are in progress, this and its end are one atomic operation each, and a retain and a release. The
    /// indicator works at least until its activities have ended, also when the manager is released before.
    @inlinable
    public func begin() -> Activity {
        Activity(beginHandle())
    }

    /// Begins an activity, which ends when the returned value goes out of scope.
    ///
    /// - Parameters:
    ///   - label: a short text of what is in progress. Without one an activity costs nanoseconds.
    ///   - progress: how much is done, 0…1.
    public func begin(_ label: String? = nil, progress: Double? = nil) -> Activity {
        Activity(beginHandle(label: label, progress: progress))
    }

    @inlinable
    func beginHandle() -> ActivityHandle {
        if counter.begin() { counter.report() }
        return ActivityHandle(counter)
    }

    func beginHandle(label: String?, progress: Double?) -> ActivityHandle {
        guard label != nil || progress != nil else { return beginHandle() }
        return ActivityHandle(
            counter,
            record: engine.begin(ActivityDetails(label: label, progress: progress, since: .distantPast))
        )
    }

    /// Counts an activity for as long as a function runs. Its outcome is ``ActivityOutcome/succeeded`` when the function
    /// returns; an error is its outcome too, and a `CancellationError` is ``ActivityOutcome/cancelled``.
    ///
    /// - Parameters:
    ///   - label: a short text of what is in progress.
    ///   - progress: how much is done, 0…1.
    ///   - body: the work.
    public func withActivity<Result: ~Copyable, Failure: Error>(
        _ label: String? = nil,
        progress: Double? = nil,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let activity = begin(label, progress: progress)
        do throws(Failure) {
            let result = try body()
            activity.end(.succeeded)
            return result
        } catch {
            activity.end(ActivityOutcome(error))
            throw error
        }
    }

    /// Counts an activity for as long as an asynchronous function runs, however it ends. Its outcome is
    /// ``ActivityOutcome/succeeded`` when the function returns; an error is its outcome too, and a `CancellationError` is
    /// ``ActivityOutcome/cancelled``.
    ///
    /// - Parameters:
    ///   - label: a short text of what is in progress.
    ///   - progress: how much is done, 0…1.
    ///   - isolation: the actor that the function runs on: that of the caller.
    ///   - body: the work.
    public func withActivity<Result: ~Copyable, Failure: Error>(
        _ label: String? = nil,
        progress: Double? = nil,
        isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws(Failure) -> sending Result
    ) async throws(Failure) -> sending Result {
        let activity = begin(label, progress: progress)
        do throws(Failure) {
            let result = try await body()
            activity.end(.succeeded)
            return result
        } catch {
            activity.end(ActivityOutcome(error))
            throw error
        }
    }

    /// Counts an activity for as long as an asynchronous function runs, and hands it the activity.
    ///
    /// - Parameters:
    ///   - label: a short text of what is in progress.
    ///   - progress: how much is done, 0…1.
    ///   - isolation: the actor that the function runs on: that of the caller.
    ///   - body: the work; it gets the activity, to change its label and progress.
    public func withActivity<Result: ~Copyable, Failure: Error>(
        _ label: String? = nil,
        progress: Double? = nil,
        isolation: isolated (any Actor)? = #isolation,
        _ body: (borrowing Activity) async throws(Failure) -> sending Result
    ) async throws(Failure) -> sending Result {
        let activity = begin(label, progress: progress)
        do throws(Failure) {
            let result = try await body(activity)
            activity.end(.succeeded)
            return result
        } catch {
            activity.end(ActivityOutcome(error))
            throw error
        }
    }

    /// Counts one more activity, as in AFNetworking's manager.
    public func incrementActivityCount() {
        engine.change { machine, now in machine.increment(now: now) }
    }

    /// Counts one activity less of those that ``incrementActivityCount()`` counted; without effect when there is none.
    public func decrementActivityCount() {
        engine.change { machine, now in machine.decrement(now: now) }
    }

    // MARK: - Activities with an identity

    /// Starts an activity with an identity of the caller's own.
    ///
    /// Starting one that is in progress changes nothing. One that was stopped less than 250 ms ago without having been
    /// started is not started: its stop has overtaken its start.
    ///
    /// - Parameters:
    ///   - id: what identifies it, here and in ``stop(_:_:)``. It is compared and hashed with the indicator's lock held, so
    ///     its `==` and `hash(into:)` must not use the indicator; its `deinit` may. Integers that are equal are the same
    ///     identity whatever their types.
    ///   - label: a short text of what is in progress.
    ///   - progress: how much is done, 0…1.
    public func start(_ id: some Hashable & Sendable, label: String? = nil, progress: Double? = nil) {
        engine.start(ActivityKey(id), label: label, progress: progress)
    }

    /// Starts an activity with a text as its identity. See the general form for the rules.
    public func start(_ id: String, label: String? = nil, progress: Double? = nil) {
        engine.change { machine, now in machine.start(id, label: label, progress: progress, now: now) }
    }

    /// Starts an activity with a number as its identity. See the general form for the rules.
    public func start(_ id: Int, label: String? = nil, progress: Double? = nil) {
        engine.change { machine, now in machine.start(id, label: label, progress: progress, now: now) }
    }

    /// Changes the label, the progress, or both of an activity with an identity. What is `nil` stays as it is; without
    /// effect when the activity is not in progress.
    ///
    /// - Parameters:
    ///   - id: what identifies it.
    ///   - label: a short text of what is in progress.
    ///   - progress: how much is done; limited to 0…1.
    public func update(_ id: some Hashable & Sendable, label: String? = nil, progress: Double? = nil) {
        guard label != nil || progress != nil else { return }
        let key = ActivityKey(id)
        engine.change { machine, now in
            machine.update(key, now: now) { details in
                if let label { details.label = label }
                if let progress { details.progress = progress }
            }
        }
    }

    /// Stops an activity with an identity of the caller's own. Stopping one that is not in progress changes nothing.
    ///
    /// - Parameters:
    ///   - id: what identifies it.
    ///   - outcome: how it ended. Backends report the outcome of an activity that has a label.
    public func stop(_ id: some Hashable & Sendable, _ outcome: ActivityOutcome = .unspecified) {
        engine.stop(ActivityKey(id), outcome)
    }

    /// Stops an activity with a text as its identity. See the general form.
    public func stop(_ id: String, _ outcome: ActivityOutcome = .unspecified) {
        engine.change { machine, now in machine.stop(id, outcome, now: now) }
    }

    /// Stops an activity with a number as its identity. See the general form.
    public func stop(_ id: Int, _ outcome: ActivityOutcome = .unspecified) {
        engine.change { machine, now in machine.stop(id, outcome, now: now) }
    }
}

extension IndicatorEngine {
    /// Begins an activity that says something of itself.
    func begin(_ details: ActivityDetails) -> ActivityRecord {
        var begun: ActivityRecord?
        change { machine, now in
            let (record, actions) = machine.begin(details, now: now)
            begun = record
            return actions
        }
        guard let begun else { preconditionFailure("the input was not called") }
        return begun
    }

    func start(_ key: ActivityKey, label: String?, progress: Double?) {
        change { machine, now in machine.start(key, label: label, progress: progress, now: now) }
    }

    /// Replaces what an activity says of itself; without effect when it is not in progress.
    func set(_ key: ActivityKey, label: String?, progress: Double?) {
        change { machine, now in
            machine.update(key, now: now) { details in
                details.label = label
                details.progress = progress
            }
        }
    }

    func stop(_ key: ActivityKey, _ outcome: ActivityOutcome) {
        change { machine, now in machine.stop(key, outcome, now: now) }
    }

    /// Changes one of the delays. A value that is out of range is limited.
    func setDelay(_ setting: IndicatorDelays.Setting, to value: Duration) {
        let now = time.now
        change { machine, _ in machine.setDelays(machine.delays.limiting(setting, to: value), at: now) }
    }
}
