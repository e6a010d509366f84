import DisplayText
import Foundation
import IndicatorCore
import IndicatorThreads

/// The value of a setting as code writes it, and as a file or a variable has it.
public enum SettingValue: Sendable, Hashable {
    /// A text, a path or a word; from a file or a variable, also a number.
    case string(String)
    /// `true` or `false`.
    case boolean(Bool)
    /// A whole number, a number of bytes, or a number of seconds.
    case integer(Int)
    /// A time.
    case duration(Duration)
    /// A list of texts, names or words.
    case list([String])
}

extension SettingValue: ExpressibleByStringInterpolation, ExpressibleByBooleanLiteral,
    ExpressibleByIntegerLiteral, ExpressibleByArrayLiteral
{
    /// A ``string(_:)``.
    public init(stringLiteral value: String) { self = .string(value) }
    /// A ``boolean(_:)``.
    public init(booleanLiteral value: Bool) { self = .boolean(value) }
    /// An ``integer(_:)``; also of seconds.
    public init(integerLiteral value: Int) { self = .integer(value) }
    /// A ``list(_:)``.
    public init(arrayLiteral elements: String...) { self = .list(elements) }
}

extension SettingValue {
    package var text: String? { if case .string(let text) = self { text } else { nil } }
    package var list: [String]? { if case .list(let texts) = self { texts } else { nil } }
    var integer: Int? { if case .integer(let number) = self { number } else { nil } }

    /// The booleans of YAML 1.1, and what variables often have.
    var boolean: Bool? {
        if case .boolean(let value) = self { return value }
        return switch text?.lowercased() {
        case "true", "yes", "on", "1": true
        case "false", "no", "off", "0": false
        default: nil
        }
    }

    /// A time, with the limit and the rounding of the delays. A text with a longer finite one means the longest.
    package var seconds: Duration? {
        let longest = IndicatorDelays.longestSeconds
        if case .duration(let time) = self { return time < .zero ? nil : min(time, .seconds(longest)) }
        guard let seconds = integer.map(Double.init) ?? text.flatMap(Self.decimal), seconds >= 0,
            seconds.isFinite
        else { return nil }
        return .microseconds(Int64((min(seconds, longest) * 1e6).rounded()))
    }

    /// A number of bytes: `1048576`, `512 kB`, `1 MiB`.
    var bytes: Int? {
        if let integer { return integer < 0 ? nil : integer }
        guard let text else { return nil }
        let units = [
            "": 1, "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12,
            "kib": 0x1p10, "mib": 0x1p20, "gib": 0x1p30, "tib": 0x1p40,
        ]
        let number = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        let unit = text[number.endIndex...].trimmingCharacters(in: .whitespaces).lowercased()
        guard let bytes = Self.decimal(number).flatMap({ count in units[unit].map { count * $0 } }), bytes < 0x1p62,
            bytes == bytes.rounded()
        else { return nil }
        return Int(bytes)
    }

    /// A decimal number: `1`, `-0.5`, `.5`, `1e3`; not `0x10`, `.nan`, `inf`.
    ///
    /// Without a regular expression: an app's first one costs 0.9 MiB and half a millisecond.
    private static func decimal(_ text: some StringProtocol) -> Double? {
        text.utf8.allSatisfy(Set("0123456789+-.eE".utf8).contains) ? Double(text) : nil
    }

    /// The value as written in a config file.
    package var configurationText: String {
        switch self {
        case .string(let text):
            text.first?.isNumber == false && text.allSatisfy { $0.isLetter || $0.isNumber || "./-~_".contains($0) }
                ? text : QuotedText.escaped(QuotedText.quoted(text))
        case .boolean(let value): String(value)
        case .integer(let value): String(value)
        case .duration(let value): value.secondsText
        case .list(let words): "[\(words.map { Self.string($0).configurationText }.joined(separator: ", "))]"
        }
    }
}
