import Foundation

/// Numbers as text.
enum Decimals {
    static func ratio(_ value: Double) -> String {
        String(format: value < 100 ? "%.2f" : "%.0f", value)
    }

    /// A time in a suitable unit.
    static func time(nanoseconds: Double) -> String {
        if nanoseconds < 1e3 { return String(format: nanoseconds < 100 ? "%.1f ns" : "%.0f ns", nanoseconds) }
        if nanoseconds < 1e6 { return String(format: nanoseconds < 1e4 ? "%.2f µs" : "%.1f µs", nanoseconds / 1e3) }
        return String(format: "%.2f ms", nanoseconds / 1e6)
    }

    /// A counted number, without decimals if it is whole.
    static func count(_ value: Double) -> String {
        value == value.rounded() ? String(format: "%.0f", value) : String(format: "%.1f", value)
    }

    /// A whole number, in groups of three digits.
    static func grouped(_ value: Int) -> String {
        var groups: [Substring] = []
        var digits = String(value)[...]
        while digits.count > 3 {
            groups.insert(digits.suffix(3), at: 0)
            digits = digits.dropLast(3)
        }
        return ([digits] + groups).joined(separator: " ")
    }

    /// A number without trailing zeros.
    static func short(_ value: Double) -> String {
        String(format: "%g", value)
    }
}
