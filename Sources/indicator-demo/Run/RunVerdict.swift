import Foundation
import IndicatorCore

/// Whether the indicator was shown and hidden when the rules require it.
struct RunVerdict: Sendable, Hashable {
    /// How long the indicator may differ from the rules: a busy machine wakes threads late.
    static let tolerance = Duration.milliseconds(500)

    /// The differences, for the user; empty when there are none.
    private(set) var differences: [String] = []
    /// The longest time for which it differed.
    private(set) var largestDeviation = Duration.zero

    var isAsExpected: Bool { differences.isEmpty }

    /// Compares the observed changes with those according to the rules.
    init(observed: [VisibilityChange], expected: [VisibilityChange]) {
        var (isShown, mustBeShown, start) = (false, false, Duration.zero)
        let changes = observed.map { ($0, true) } + expected.map { ($0, false) }
        for (change, isObserved) in changes.sorted(by: { $0.0.instant < $1.0.instant }) {
            let (text, deviation) = (isShown ? "shown" : "hidden", change.instant - start)
            if isShown != mustBeShown {
                largestDeviation = max(largestDeviation, deviation)
                if deviation > Self.tolerance {
                    differences.append(
                        "wrongly \(text) from \(start.hundredthsText) to \(change.instant.hundredthsText)"
                    )
                }
            }
            if isObserved { isShown = change.isVisible } else { mustBeShown = change.isVisible }
            start = change.instant
        }
        if isShown != mustBeShown { differences.append("wrongly \(isShown ? "shown" : "hidden") at the end") }
    }
}

extension Duration {
    /// In seconds with two decimals: `2.41 s`.
    var hundredthsText: String { String(format: "%.2f s", self / .seconds(1)) }
}
