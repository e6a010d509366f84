import IndicatorCore

/// Whether the indicator was shown and hidden when the rules say that it should have been.
struct RunVerdict: Sendable, Hashable {
    /// How much earlier or later a change may be.
    static let tolerance = Duration.milliseconds(100)

    /// What was wrong, for the user; empty when nothing was.
    var differences: [String] = []
    /// How far the changes were from the rules at most.
    var largestDeviation = Duration.zero

    var isAsExpected: Bool { differences.isEmpty }

    /// Compares what was observed with what the rules say.
    ///
    /// - Parameters:
    ///   - observed: when the indicator was shown and hidden.
    ///   - expected: when it should have been.
    ///   - slack: by how much more a change may be early or late. Times for which it is hidden that are not longer
    ///     need not be there.
    ///   - lateness: how late the machine itself was between two times, which is granted.
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
                let deviation = abs(actual.time - rule.time)
                largestDeviation = max(largestDeviation, deviation)
                if deviation > Self.tolerance + slack + lateness(rule.time, actual.time) {
                    differences.append("\(Self.text(actual)), and by the rules it is \(Self.text(rule))")
                }
            case (let actual?, let rule?):
                differences.append("\(Self.text(actual)), and by the rules it is \(Self.text(rule))")
                return
            case (let actual?, nil): differences.append("\(Self.text(actual)), and by the rules it is not")
            case (nil, let rule?): differences.append("not \(Self.text(rule)), as it is by the rules")
            case (nil, nil): break
            }
        }
    }

    /// The changes without those by which it is hidden for no longer than the slack.
    private static func joined(_ changes: [VisibilityChange], slack: Duration) -> [VisibilityChange] {
        changes.reduce(into: []) { joined, change in
            if slack > .zero, change.isVisible, let last = joined.last, change.time - last.time <= slack {
                joined.removeLast()
            } else {
                joined.append(change)
            }
        }
    }

    private static func text(_ change: VisibilityChange) -> String {
        "\(change.isVisible ? "shown" : "hidden") at \(change.time.secondsText)"
    }
}

private func abs(_ duration: Duration) -> Duration {
    duration < .zero ? .zero - duration : duration
}

extension Duration {
    /// In seconds, to the hundredth: `2.41 s`.
    var secondsText: String { "\(formatted(hundredths: true)) s" }

    /// In seconds, without zeros at the end: `0.2 s`.
    var shortText: String {
        var text = formatted(hundredths: false)
        while text.contains("."), text.last == "0" || text.last == "." { text.removeLast() }
        return "\(text) s"
    }

    private func formatted(hundredths: Bool) -> String {
        let unit: Int64 = hundredths ? 100 : 1_000_000
        let scaled = Int64((self / .seconds(1) * Double(unit)).rounded())
        let fraction = String(unit + Swift.abs(scaled % unit)).dropFirst()
        return "\(scaled < 0 ? "-" : "")\(Swift.abs(scaled / unit)).\(fraction)"
    }
}
