/// Rows of bars on one time axis.
package struct Timeline: Sendable, Hashable {
    /// What a bar stands for.
    package enum Kind: Sendable, Hashable {
        /// An activity in progress.
        case busy
        /// A request that is suspended.
        case suspended
        /// The indicator, shown.
        case shown
    }

    /// A bar, in seconds.
    package struct Span: Sendable, Hashable {
        var start: Double
        var end: Double
        var kind: Kind
    }

    /// How the row came out, for its colour.
    package enum Outcome: Sendable, Hashable {
        case neutral, good, bad
    }

    /// A row.
    package struct Row: Sendable, Hashable {
        var label: String
        var spans: [Span]
        /// What stands behind the bars, such as `200 OK`.
        var note = ""
        var outcome = Outcome.neutral
    }

    /// The rows above the indicator's.
    package var rows: [Row]
    /// The times at which the indicator was shown.
    package var indicator: Row
    /// Where the axis begins, in seconds.
    package var start = 0.0
    /// Where it ends, at the least.
    package var end: Double
}
