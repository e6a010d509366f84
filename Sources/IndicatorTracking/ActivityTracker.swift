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
/// in progress began. Everything may be called from any thread. A change is delivered after the call that makes it has
/// returned, on a thread of the indicator's; ``status`` is changed before. Activities keep the tracker alive;
/// subscribers do not.
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
    public var status: ActivityStatus<Value> { ActivityStatus(core.status) }

    /// Delivers the current status and later changes. The latest status wins: changes that come before the subscriber
    /// is called are delivered as one.
    ///
    /// - Parameter receive: called without a lock, one call at a time and in order, on a thread for such work: it may
    ///   do anything, but delays the other subscribers of the tracker. `nil` comes last: after
    ///   ``StatusSubscription/end()``, or when the tracker is deallocated.
    @discardableResult
    package func subscribe(
        _ receive: @escaping @Sendable (ActivityStatus<Value>?) -> StatusSubscription.Reception
    ) -> StatusSubscription {
        core.subscribe(equalWhen: { [areEqual] in areEqual(TrackerValue.value(of: $0), TrackerValue.value(of: $1)) }) {
            receive($0.map(ActivityStatus.init))
        }
    }

    /// The status as it changes: first the current one, then the latest after every change.
    ///
    /// Each read of the property begins a subscription. The latest status wins: a slow subscriber skips earlier ones,
    /// and always ends with the current one. Iterate the stream once, or release it. It does not retain the tracker,
    /// and finishes when the tracker is deallocated.
    public var statuses: AsyncStream<ActivityStatus<Value>> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: ActivityStatus<Value>.self,
            bufferingPolicy: .bufferingNewest(1)
        )
        let subscription = subscribe { status in
            if let status { continuation.yield(status) } else { continuation.finish() }
            return .taken
        }
        continuation.onTermination = { _ in subscription.end() }
        return stream
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
    /// Begins an activity with the tracker's default value, which ends when the returned value goes out of scope.
    @inlinable
    public func begin() -> TrackedActivity<Value> {
        begin(defaultValue)
    }

    /// Begins an activity, which ends when the returned value goes out of scope.
    ///
    /// - Parameter value: the value that is associated with it, or `nil` for none.
    @inlinable
    public func begin(_ value: Value?) -> TrackedActivity<Value> {
        TrackedActivity(ManagedTrackedActivity(value, in: self))
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
        let result = try body()
        activity.end()
        return result
    }

    /// Tracks an asynchronous function while it runs, with a value or `nil` for none.
    public func withActivity<Result: ~Copyable, Failure: Error>(
        _ value: Value?,
        isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        try await withActivity(value) { _ async throws(Failure) in try await body() }
    }

    /// Tracks an asynchronous function while it runs, and passes it the activity, whose value it may change.
    public func withActivity<Result: ~Copyable, Failure: Error>(
        _ value: Value?,
        isolation: isolated (any Actor)? = #isolation,
        _ body: (borrowing TrackedActivity<Value>) async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        let activity = begin(value)
        let result = try await body(activity)
        activity.end()
        return result
    }
}

/// The status of an ``ActivityTracker``: whether any activity is in progress, and the value of the first that has one.
public struct ActivityStatus<Value: Sendable>: Sendable {
    /// Whether any activity is in progress.
    public var isLoading: Bool

    /// The first value that is not `nil` in the order in which the activities in progress began; `nil` if none has one,
    /// or none is in progress.
    public var associatedValue: Value?

    package init(isLoading: Bool, associatedValue: Value? = nil) {
        self.isLoading = isLoading
        self.associatedValue = associatedValue
    }

    init(_ status: TrackerCore.Status) {
        self.init(
            isLoading: status.isLoading,
            associatedValue: status.value.map(TrackerValue.value)
        )
    }
}

extension ActivityStatus: Equatable where Value: Equatable {}
extension ActivityStatus: Hashable where Value: Hashable {}
