/// A row of the performance table: a subject, its reference, and a goal.
///
/// A row can have several variants. The one with the worst ratio counts.
public struct Comparison: Sendable {
    /// The name in the JSON.
    public let name: String
    /// A description of the subject.
    public let title: String
    /// A description of the peer or limit; `nil` without one.
    public let peer: String?
    /// The maximum ratio; `nil` without a goal.
    public let goal: Double?
    /// The variants of the row.
    public let variants: [Variant]

    /// One way to measure a row.
    public struct Variant: Sendable {
        /// The name of the variant; empty if it is the only one.
        public let name: String
        /// Creates the workloads.
        public let setUp: @Sendable () -> Contestants

        /// Creates a variant.
        public init(_ name: String = "", setUp: @escaping @Sendable () -> Contestants) {
            self.name = name
            self.setUp = setUp
        }
    }

    /// Creates a row.
    public init(_ name: String, _ title: String, peer: String?, goal: Double?, variants: [Variant]) {
        self.name = name
        self.title = title
        self.peer = peer
        self.goal = goal
        self.variants = variants
    }

    init(
        _ name: String,
        _ title: String,
        peer: String?,
        goal: Double?,
        setUp: @escaping @Sendable () -> Contestants
    ) {
        self.init(name, title, peer: peer, goal: goal, variants: [Variant(setUp: setUp)])
    }
}
