/// The result of running a workload many times.
public struct Turn: Sendable {
    /// The duration of all runs.
    public var duration: Duration
    /// Whether other load on the machine affected the measurement.
    public var isDisturbed = false
}

/// A function to run many times.
public struct Workload: Sendable {
    /// Runs the function `count` times. The loop is inside, so that it contains no measurement code.
    public let run: @Sendable (_ count: Int) -> Turn

    private init(measuring run: @escaping @Sendable (_ count: Int) -> Turn) {
        self.run = run
    }

    /// Creates a workload from a function with a loop.
    public init(_ body: @escaping @Sendable (_ count: Int) -> Void) {
        run = { count in Turn(duration: ContinuousClock().measure { body(count) }) }
    }

    /// Creates a workload from a function with a loop, which threads run at the same time, `count` times each.
    public static func on(threads: Int, _ body: @escaping @Sendable (_ count: Int) -> Void) -> Self {
        Self(measuring: { count in Threads.run(body, count: count, on: threads) })
    }
}

/// A subject and its reference.
public struct Contestants: Sendable {
    /// The code of this package.
    public let subject: Workload
    /// Its peer or limit; `nil` without one.
    public let reference: Workload?

    /// Creates a pair.
    public init(_ subject: Workload, reference: Workload? = nil) {
        self.subject = subject
        self.reference = reference
    }
}
