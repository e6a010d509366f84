import IndicatorCore

/// Rows of bars on one time axis.
package struct Timeline: Sendable, Hashable {
    /// A row: when any of its activities was in progress.
    package struct Row: Sendable, Hashable {
        package var label: String
        /// The bars, in seconds.
        package private(set) var spans: [ClosedRange<Double>] = []
        /// The text after the bars, such as `200 OK`.
        package var note = ""
        /// Whether the note says that something went right or wrong, for its colour.
        package var isGood: Bool?
        private var openSince: Double?
        private var count = 0

        package init(_ label: String) { self.label = label }

        /// Changes the number of activities in progress. Times must not decrease.
        package mutating func change(by growth: Int, at time: Duration) {
            count = max(count + growth, 0)
            if count > 0 {
                openSince = openSince ?? time / .seconds(1)
            } else {
                end(at: time)
            }
        }

        /// Notes how the last activity ended.
        mutating func note(_ outcome: ActivityOutcome) {
            switch outcome {
            case .succeeded: (note, isGood) = ("done", true)
            case .failed(let message): (note, isGood) = ("failed" + (message.isEmpty ? "" : ": \(message)"), false)
            case .cancelled: (note, isGood) = ("cancelled", nil)
            case .unspecified: (note, isGood) = ("ended", nil)
            }
        }

        /// Ends the last bar if it has no end, with a note that says so.
        package mutating func end(at time: Duration, _ note: String? = nil) {
            guard let start = openSince else { return }
            spans.append(start...max(start, time / .seconds(1)))
            openSince = nil
            self.note = note ?? self.note
        }
    }

    /// The rows above the indicator's.
    package var rows: [Row]
    /// The times at which the indicator was shown.
    package var indicator: Row
    /// The end of the axis in seconds.
    package var end: Double
    /// The time of 0 on the axis, if that is another one.
    package var origin: String?

    package init(rows: [Row], indicator: Row, end: Double) {
        (self.rows, self.indicator, self.end) = (rows, indicator, end)
    }
}
