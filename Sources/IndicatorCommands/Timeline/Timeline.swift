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

/// The bars of a row, in bounded memory: bars that are too close together to be drawn separately are joined.
package struct BoundedSpans {
    /// The number of bars above which they are joined.
    package static let capacity = 4096

    package private(set) var spans: [Timeline.Span] = []
    private var openSince: Double?
    private let kind: Timeline.Kind

    package init(kind: Timeline.Kind) {
        self.kind = kind
    }

    /// Whether a bar has begun and not ended.
    package var isOpen: Bool { openSince != nil }

    /// Begins a bar. Times must not decrease.
    package mutating func begin(at time: Double) {
        if openSince == nil { openSince = time }
    }

    /// Ends the bar.
    package mutating func end(at time: Double) {
        guard let start = openSince else { return }
        openSince = nil
        spans.append(Timeline.Span(start: start, end: time, kind: kind))
        if spans.count > Self.capacity { join() }
    }

    /// Closes gaps shorter than 1/2048 of the total, less than a column of any terminal. At most half of the bars
    /// remain.
    private mutating func join() {
        guard let first = spans.first, let last = spans.last else { return }
        let resolution = (last.end - first.start) / Double(Self.capacity / 2)
        var joined: [Timeline.Span] = []
        for span in spans {
            if let previous = joined.indices.last, span.start - joined[previous].end < resolution {
                joined[previous].end = span.end
            } else {
                joined.append(span)
            }
        }
        spans = joined
    }
}
