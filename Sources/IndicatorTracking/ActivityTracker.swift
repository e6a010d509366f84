package import IndicatorCore

/// Reports, as one value, whether any of its activities is in progress and what the first of them is doing.
///
/// If work consists of several steps, sequential or concurrent, track each step in the same tracker:
///
/// ```swift
/// let tracker = ActivityTracker<String>(defaultValue: "Loading")
/// tracker.attach(to: indicator)
///
/// for try await page in pages.tracked(in: tracker, value: { "page \($0.number)" }) { … }
/// let receipt = try await tracker.withActivity("Uploading") { try await upload() }
/// let step = tracker.begin("Parsing")
/// step.update("Parsing 2 of 9")
/// ```
///
/// ``status`` is the current value, ``statuses`` follows it, and ``attach(to:label:progress:)`` shows it in
/// an `IndicatorManager`. The associated value is the first that is not `nil`, in the order in which the activities
/// in progress began. Everything may be called from any thread. The call that makes a change does not wait for its
/// delivery, which is on a thread of the indicator's; ``status`` is changed when it returns. Activities keep the
/// tracker alive; subscribers do not.
public final class ActivityTracker<Value: Sendable>: Sendable {
    @usableFromInline let core = TrackerCore()

    /// The value of activities that are begun without one.
    public let defaultValue: Value?

    private let areEqual: @Sendable (Value, Value) -> Bool

    /// Makes a tracker of values of any type.
    ///
    /// - Parameters:
    ///   - defaultValue: the value of activities that are begun without one; by default they have none.
    ///   - areEqual: whether two values are equal, so that replacing one with the other is not a change. Called without
    ///     a lock.
    public init(defaultValue: Value? = nil, equalWhen areEqual: @escaping @Sendable (Value, Value) -> Bool) {
        self.defaultValue = defaultValue
        self.areEqual = areEqual
    }

    deinit { core.finish() }

    /// Whether any activity is in progress and the value of the first of them that has one, now.
    public var status: ActivityStatus<Value> { core.latest(isTaken: false).status }

    /// The status as it changes: first the current one, then the latest after every change.
    ///
    /// Each read of the property begins a subscription. The latest status wins: a slow subscriber skips earlier ones,
    /// and always ends with the current one. Iterate the stream once, or release it. It does not retain the tracker,
    /// and finishes when the tracker is deallocated.
    public var statuses: AsyncStream<ActivityStatus<Value>> { LatestValues.stream(subscription()) }

    /// A subscription to the current status and the latest one after every change, until the tracker is deallocated,
    /// for the functions of `LatestValues`.
    ///
    /// - Parameter accepts: whether the subscriber receives the current status, or the end if the flag is `false`. If
    ///   not, it is asked again after a change, and after `LatestValues.signal`.
    package func subscription(
        if accepts: @escaping @Sendable (LatestValues, _ isStatus: Bool) -> Bool = { _, _ in true }
    ) -> (LatestValues) -> LatestValues.Functions<ActivityStatus<Value>> {
        { [core, areEqual] values in
            core.state.withLock { $0.subscriptions.append(values) }
            return (
                take: { last in
                    let (status, isLast): (ActivityStatus<Value>, Bool) = core.latest(isTaken: true)
                    let isNew = last.map { !status.isEqual(to: $0, by: areEqual) } ?? true
                    guard isNew || isLast, accepts(values, isNew) else { return (nil, false) }
                    return (isNew ? status : nil, !isNew)
                },
                end: { core.state.withLock { state in state.subscriptions.removeAll { $0 === values } } }
            )
        }
    }
}

extension ActivityTracker where Value: Equatable {
    /// Makes a tracker of values that are compared by `==`.
    ///
    /// - Parameter defaultValue: the value of activities that are begun without one; by default they have none.
    public convenience init(defaultValue: Value? = nil) {
        self.init(defaultValue: defaultValue, equalWhen: ==)
    }
}

extension ActivityTracker {
    /// Begins an activity with the tracker's default value. It ends at the latest when the returned object is released.
    @inlinable
    public func begin() -> TrackedActivity<Value> { begin(defaultValue) }

    /// Begins an activity. It ends at the latest when the returned object is released.
    ///
    /// - Parameter value: the value that is associated with it, or `nil` for none.
    @inlinable
    public func begin(_ value: Value?) -> TrackedActivity<Value> {
        let activity = TrackedActivity(notBegunIn: self)
        activity.begin(value)
        return activity
    }

    /// Tracks a function for as long as it runs.
    ///
    /// - Parameters:
    ///   - value: the value that is associated with it, or `nil` for none.
    ///   - body: the work.
    public func withActivity<Result: ~Copyable, Failure: Error>(
        _ value: Value?,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let activity = begin(value)
        defer { activity.end() }
        return try body()
    }

    /// Tracks an asynchronous function while it runs, with a value or `nil` for none.
    public func withActivity<Result: ~Copyable, Failure: Error>(
        _ value: Value?,
        isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        let activity = begin(value)
        defer { activity.end() }
        return try await body()
    }

    /// Tracks an asynchronous function while it runs, and passes it the activity, whose value it may change.
    public func withActivity<Result: ~Copyable, Failure: Error>(
        _ value: Value?,
        isolation: isolated (any Actor)? = #isolation,
        _ body: (TrackedActivity<Value>) async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        let activity = begin(value)
        defer { activity.end() }
        return try await body(activity)
    }
}

/// One activity of an ``ActivityTracker``. It ends at ``end()``, or when the last reference is released.
///
/// Any thread may use it. It keeps its tracker alive. Its last value is released with it.
public final class TrackedActivity<Value: Sendable>: Sendable {
    @usableFromInline let tracker: ActivityTracker<Value>
    @usableFromInline let link = TrackerLink<Value>()

    /// Makes an activity that begins with ``begin(_:)``.
    @inlinable
    package init(notBegunIn tracker: ActivityTracker<Value>) {
        self.tracker = tracker
    }

    /// Begins the activity; without effect when it has begun or ended.
    @inlinable
    package func begin(_ value: Value?) { tracker.core.begin(link, value) }

    /// Changes the value that is associated with the activity; `nil` removes it. The activity keeps its place in the
    /// order. Without effect when it has ended.
    @inlinable
    public func update(_ value: Value?) { tracker.core.update(link, value) }

    /// Ends the activity; without effect when it has ended. Releases nothing, so a cancellation handler may call it.
    @inlinable
    public func end() { tracker.core.end(link) }

    @inlinable
    deinit { end() }
}

/// The status of an ``ActivityTracker``: whether any activity is in progress, and the value of the first that has one.
public struct ActivityStatus<Value: Sendable>: Sendable {
    /// Whether any activity is in progress.
    public var isLoading: Bool

    /// The first value that is not `nil` in the order in which the activities in progress began; `nil` if none has one,
    /// or none is in progress.
    public var associatedValue: Value?

    fileprivate func isEqual(to other: Self, by areEqual: (Value, Value) -> Bool) -> Bool {
        switch (associatedValue, other.associatedValue) {
        case (nil, nil): isLoading == other.isLoading
        case (let value?, let otherValue?): areEqual(otherValue, value)
        default: false
        }
    }
}

extension ActivityStatus: Equatable where Value: Equatable {}
extension ActivityStatus: Hashable where Value: Hashable {}
