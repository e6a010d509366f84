public import Foundation

/// A number in JSON: the decimal text that it was written with, and what it is as one of Swift's types.
public struct JSONNumber: Hashable, Sendable {
    /// The decimal text.
    public let text: String

    /// Takes a text that is already known to be a JSON number.
    init(unchecked text: String) {
        self.text = text
    }

    /// Makes a number of its decimal text, `nil` when the text is not a number by RFC 8259 §6.
    public init?(_ text: String) {
        guard case .number(let number)? = try? JSONValue(parsing: text), number.text == text else { return nil }
        self = number
    }

    /// Makes a number of an integer.
    public init(_ value: some BinaryInteger) {
        text = String(value)
    }

    /// Makes a number of a floating-point value, with the fewest digits that tell it from its neighbours. JSON has no
    /// infinity and no NaN: those give `nil`.
    public init?(_ value: Double) {
        guard value.isFinite else { return nil }
        var text = "\(value)"
        if text.hasSuffix(".0") { text.removeLast(2) }
        self.text = text
    }

    /// The value as an integer; `nil` when it is not one or does not fit. `1.0` and `1e3` are integers.
    public var int: Int? {
        if let int = Int(text) { return int }
        guard let decimal else { return nil }
        var exact = decimal
        var rounded = Decimal()
        NSDecimalRound(&rounded, &exact, 0, .plain)
        guard rounded == decimal else { return nil }
        return Int("\(rounded)")
    }

    /// The nearest floating-point value; `nil` when it is too large for one.
    public var double: Double? {
        guard let value = Double(text), value.isFinite else { return nil }
        return value
    }

    /// The value as a decimal number, exact up to its 38 digits.
    public var decimal: Decimal? { Decimal(string: text, locale: Locale(identifier: "en_US_POSIX")) }
}

extension JSONNumber: CustomStringConvertible {
    /// The decimal text.
    public var description: String { text }
}
