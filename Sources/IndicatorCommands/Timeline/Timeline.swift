/// Rows of bars on one time axis.
package struct Timeline: Sendable, Hashable {
    /// What a bar represents.
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
        package var start: Double
        package var end: Double
        package var kind: Kind

        package init(start: Double, end: Double, kind: Kind) {
            (self.start, self.end, self.kind) = (start, end, kind)
        }
    }

    /// The result of a row, for its colour.
    package enum Outcome: Sendable, Hashable {
        case neutral, good, bad
    }

    /// A row.
    package struct Row: Sendable, Hashable {
        package var label: String
        package var spans: [Span]
        /// The text after the bars, such as `200 OK`.
        package var note: String
        package var outcome: Outcome

        package init(label: String, spans: [Span], note: String = "", outcome: Outcome = .neutral) {
            (self.label, self.spans, self.note, self.outcome) = (label, spans, note, outcome)
        }
    }

    /// The rows above the indicator's.
    package var rows: [Row]
    /// The times at which the indicator was shown.
    package var indicator: Row
    /// The start of the axis in seconds.
    package var start: Double
    /// The minimum end of the axis in seconds.
    package var end: Double

    package init(rows: [Row], indicator: Row, start: Double = 0, end: Double) {
        (self.rows, self.indicator, self.start, self.end) = (rows, indicator, start, end)
    }
}
