/// What came of doing something many times over.
public struct Turn: Sendable {
    /// How long it took.
    public var duration: Duration
    /// Whether it was not as it should have been, because of what else the machine does.
    public var isDisturbed = false
}

/// Something to do many times over.
public struct Workload: Sendable {
    /// Does it so many times. The loop is inside, so that nothing of the measurement is in it.
    public let run: @Sendable (_ count: Int) -> Turn

    private init(measuring run: @escaping @Sendable (_ count: Int) -> Turn) {
        self.run = run
    }

    /// Makes a workload of a function with a loop.
    public init(_ body: @escaping @Sendable (_ count: Int) -> Void) {
        run = { count in Turn(duration: ContinuousClock().measure { body(count) }) }
    }

    /// Makes a workload of a function with a loop, which two threads do at the same time: `count` times each.
    public static func onTwoThreads(_ body: @escaping @Sendable (_ count: Int) -> Void) -> Self {
        Self(measuring: { count in TwoThreads.run(body, count: count) })
    }
}

/// What is measured, and what it is measured against, side by side.
public struct Contestants: Sendable {
    /// What this package does.
    public let subject: Workload
    /// Its peer or limit; `nil` when there is none.
    public let reference: Workload?

    /// Puts the two side by side.
    public init(_ subject: Workload, reference: Workload? = nil) {
        self.subject = subject
        self.reference = reference
    }
}
