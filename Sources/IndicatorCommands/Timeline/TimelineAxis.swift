import Foundation

/// The time axis of a timeline: its marks and their labels.
package struct TimelineAxis {
    private struct Unit {
        var name: String
        var seconds: Double
    }

    private static let units = [
        Unit(name: "s", seconds: 1), Unit(name: "min", seconds: 60), Unit(name: "h", seconds: 3600),
        Unit(name: "d", seconds: 86_400),
    ]

    /// Readable steps, in seconds.
    private static let steps: [Double] =
        [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30]
        + [1, 2, 5, 10, 15, 30].map { $0 * 60 } + [1, 2, 3, 6, 12].map { $0 * 3600 }
        + [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000].map { $0 * 86_400 }

    /// The row of labels.
    package let labels: String
    /// The row of marks.
    package let rule: String

    /// Creates an axis.
    ///
    /// - Parameters:
    ///   - duration: its length in seconds; it begins at zero.
    ///   - columns: its width.
    ///   - usesUnicode: whether the rule may contain non-ASCII characters.
    package init(duration: Double, columns: Int, usesUnicode: Bool) {
        let step = Self.steps.first { duration / $0 * 9 <= Double(columns) } ?? duration / 4
        var labels = ""
        var rule = [Character](repeating: usesUnicode ? "─" : "-", count: columns)
        var index = 0.0
        while index * step <= duration {
            let column = Int(index * step / duration * Double(columns))
            let text = Self.text(index * step, step: step)
            guard column < columns else { break }
            rule[column] = usesUnicode ? (column == 0 ? "├" : "┼") : "+"
            if column + text.count <= columns, column == 0 || column > labels.count {
                labels += String(repeating: " ", count: column - labels.count) + text
            }
            index += 1
        }
        self.labels = labels
        self.rule = String(rule)
    }

    private static func text(_ time: Double, step: Double) -> String {
        let unit = units.last { step >= $0.seconds } ?? units[0]
        let digits = step >= 1 ? 0 : step >= 0.1 ? 1 : step >= 0.01 ? 2 : 3
        return String(format: "%.\(digits)f", time / unit.seconds) + " " + unit.name
    }
}
