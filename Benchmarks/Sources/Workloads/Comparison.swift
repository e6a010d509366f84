/// A row of the table of speeds: what is measured, against what, and what is to be reached.
///
/// A row can have several variants. What counts is the one that compares worst.
public struct Comparison: Sendable {
    /// The name in the JSON.
    public let name: String
    /// What is measured, in words.
    public let title: String
    /// What it is measured against, in words; `nil` when that is nothing.
    public let peer: String?
    /// The ratio that is not to be exceeded; `nil` when there is no goal.
    public let goal: Double?
    /// The variants of the row.
    public let variants: [Variant]

    /// One way to measure a row.
    public struct Variant: Sendable {
        /// What is special about it; empty when it is the only one.
        public let name: String
        /// Makes what is measured. What it makes goes when the contestants go.
        public let setUp: @Sendable () -> Contestants

        /// Makes a variant.
        public init(_ name: String = "", setUp: @escaping @Sendable () -> Contestants) {
            self.name = name
            self.setUp = setUp
        }
    }

    /// Makes a row.
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
