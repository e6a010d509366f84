package import Foundation

/// A number in JSON. It keeps its decimal text, and converts to Swift's number types.
public struct JSONNumber: Hashable, Sendable {
    /// The decimal text.
    package let text: String

    /// Creates a number from a text that is known to be a JSON number.
    init(unchecked text: String) { self.text = text }

    /// Creates a number from an integer.
    package init(_ value: some BinaryInteger) { text = String(value) }

    /// Creates a number from a floating-point value, with the shortest text that converts back to it; `nil` for
    /// infinity and NaN, which JSON does not have.
    package init?(_ value: Double) {
        guard value.isFinite else { return nil }
        var text = "\(value)"
        if text.hasSuffix(".0") { text.removeLast(2) }
        self.text = text
    }

    /// The value as an integer; `nil` when it is not an integer or does not fit. `1.0` and `1e3` are integers.
    package var int: Int? {
        if let int = Int(text) { return int }
        guard let decimal else { return nil }
        var exact = decimal
        var rounded = Decimal()
        NSDecimalRound(&rounded, &exact, 0, .plain)
        guard rounded == decimal else { return nil }
        return Int("\(rounded)")
    }

    /// The nearest floating-point value; `nil` when it is too large for one.
    package var double: Double? { Double(text).flatMap { $0.isFinite ? $0 : nil } }

    /// The value as a decimal number, exact up to 38 digits.
    package var decimal: Decimal? { Decimal(string: text, locale: Locale(identifier: "en_US_POSIX")) }
}

extension JSONNumber: CustomStringConvertible {
    /// The decimal text.
    public var description: String { text }
}
