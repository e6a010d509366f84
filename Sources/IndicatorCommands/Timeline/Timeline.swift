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
    /// The wall-clock time of 0 on the axis, if it is known.
    package var origin: String?

    package init(rows: [Row], indicator: Row, start: Double = 0, end: Double) {
        (self.rows, self.indicator, self.start, self.end) = (rows, indicator, start, end)
    }
}

/// Records the bars of a row, while any of its activities is in progress.
package struct SpanRecorder {
    package private(set) var spans: [Timeline.Span] = []
    private var openSince: Double?
    private var count = 0
    private let kind: Timeline.Kind

    package init(kind: Timeline.Kind) {
        self.kind = kind
    }

    /// Changes the number of activities in progress. Times must not decrease.
    package mutating func change(by growth: Int, at time: Duration) {
        count += growth
        if count > 0 {
            openSince = openSince ?? time / .seconds(1)
        } else if let start = openSince {
            spans.append(Timeline.Span(start: start, end: time / .seconds(1), kind: kind))
            openSince = nil
        }
    }

    /// The row, with a note if its last bar is still open at the end.
    package func row(_ label: String, end: Duration, open: String = "") -> Timeline.Row {
        let last = openSince.map { Timeline.Span(start: $0, end: end / .seconds(1), kind: kind) }
        return Timeline.Row(label: label, spans: spans + [last].compactMap(\.self), note: last == nil ? "" : open)
    }
}
