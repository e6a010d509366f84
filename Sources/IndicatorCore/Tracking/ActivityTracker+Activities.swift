extension ActivityTracker {
    /// Begins an activity with the tracker's default value, which ends when the returned value goes out of scope.
    public func begin() -> TrackedActivity<Value> {
        begin(defaultValue)
    }

    /// Begins an activity, which ends when the returned value goes out of scope.
    ///
    /// - Parameter value: the value that is associated with it, or `nil` for none.
    public func begin(_ value: Value?) -> TrackedActivity<Value> {
        TrackedActivity(activity: ManagedTrackedActivity(value, in: self))
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
        _ body: () async throws(Failure) -> sending Result
    ) async throws(Failure) -> sending Result {
        try await withActivity(value) { _ async throws(Failure) in try await body() }
    }

    /// Tracks an asynchronous function while it runs, and passes it the activity, whose value it may change.
    public func withActivity<Result: ~Copyable, Failure: Error>(
        _ value: Value?,
        isolation: isolated (any Actor)? = #isolation,
        _ body: (borrowing TrackedActivity<Value>) async throws(Failure) -> sending Result
    ) async throws(Failure) -> sending Result {
        let activity = begin(value)
        let result = try await body(activity)
        activity.end()
        return result
    }
}
