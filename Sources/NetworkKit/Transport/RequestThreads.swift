import IndicatorThreads

/// The threads on which requests call their observers and access files.
enum RequestThreads {
    /// What blocks does not delay the rest, unless it blocks all of them at the same time.
    private static let threads = ServiceThread(name: "network-calls", limit: 256)
    /// Whether there is at least one, from then on.
    private static let hasThread = Locked(false)

    /// Calls a function on one of the threads; on the caller's while the process can have none.
    static func run(_ body: @escaping @Sendable () -> Void) {
        let hasThread = hasThread.withLock { hasThread in
            // Under the lock: nobody else may rely on a thread before it has been started.
            hasThread = hasThread || threads.start()
            return hasThread
        }
        if hasThread { threads.call(at: .min, body) } else { body() }
    }
}

/// Runs blocking work, such as file access, outside Swift's cooperative thread pool.
func blocking<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        RequestThreads.run { continuation.resume(with: Result(catching: work)) }
    }
}
