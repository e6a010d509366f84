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
        /// How many activities are in progress, have ended with an outcome, and have failed.
        private var (count, ended, failed) = (0, 0, 0)

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

        /// Notes how the last activity ended; of several, that some failed.
        mutating func note(_ outcome: ActivityOutcome) {
            ended += 1
            switch outcome {
            case .failed(let message):
                failed += 1
                let failures = ended == 1 ? "failed" : "\(failed) of \(ended) failed"
                (note, isGood) = (failures + (message.isEmpty ? "" : ": \(message)"), false)
            case _ where failed > 0: note = "\(failed) of \(ended) failed"
            case .succeeded: (note, isGood) = ("done", true)
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
