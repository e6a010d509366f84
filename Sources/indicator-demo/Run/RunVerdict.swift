import Foundation
import IndicatorCore

/// Whether the indicator was shown and hidden when the rules require it.
struct RunVerdict: Sendable, Hashable {
    /// The allowed deviation of a change.
    static let tolerance = Duration.milliseconds(100)

    /// The differences, for the user; empty when there are none.
    var differences: [String] = []
    /// The largest deviation of a change from the rules.
    var largestDeviation = Duration.zero

    var isAsExpected: Bool { differences.isEmpty }

    /// Compares the observed changes with the expected ones.
    ///
    /// - Parameters:
    ///   - observed: the observed changes.
    ///   - expected: the changes according to the rules.
    ///   - slack: the additional allowed deviation. Times not longer than this for which the indicator is hidden are
    ///     ignored.
    ///   - lateness: the delay of the machine itself between two times, which is allowed too.
    init(
        observed: [VisibilityChange],
        expected: [VisibilityChange],
        slack: Duration = .zero,
        lateness: (Duration, Duration) -> Duration = { _, _ in .zero }
    ) {
        let observed = Self.joined(observed, slack: slack)
        let expected = Self.joined(expected, slack: slack)
        for index in 0..<max(observed.count, expected.count) {
            let actual = index < observed.count ? observed[index] : nil
            let rule = index < expected.count ? expected[index] : nil
            switch (actual, rule) {
            case (let actual?, let rule?) where actual.isVisible == rule.isVisible:
                let deviation = abs(actual.instant - rule.instant)
                largestDeviation = max(largestDeviation, deviation)
                if deviation > Self.tolerance + slack + lateness(rule.instant, actual.instant) {
                    differences.append("\(Self.text(actual)), expected \(Self.text(rule))")
                }
            case (let actual?, let rule?):
                differences.append("\(Self.text(actual)), expected \(Self.text(rule))")
                return
            case (let actual?, nil): differences.append("\(Self.text(actual)), not expected")
            case (nil, let rule?): differences.append("expected \(Self.text(rule)), not observed")
            case (nil, nil): break
            }
        }
    }

    /// The changes without times of at most `slack` for which the indicator is hidden.
    private static func joined(_ changes: [VisibilityChange], slack: Duration) -> [VisibilityChange] {
        changes.reduce(into: []) { joined, change in
            if slack > .zero, change.isVisible, let last = joined.last, change.instant - last.instant <= slack {
                joined.removeLast()
            } else {
                joined.append(change)
            }
        }
    }

    private static func text(_ change: VisibilityChange) -> String {
        "\(change.isVisible ? "shown" : "hidden") at \(change.instant.hundredthsText)"
    }
}

private func abs(_ duration: Duration) -> Duration {
    duration < .zero ? .zero - duration : duration
}

extension Duration {
    /// In seconds with two decimals: `2.41 s`.
    var hundredthsText: String { String(format: "%.2f s", self / .seconds(1)) }
}
