import IndicatorCore
import Foundation

/// The value of a setting as a file, a variable or code writes it.
public enum SettingValue: Sendable, Hashable, ExpressibleByStringInterpolation, ExpressibleByBooleanLiteral,
    ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByArrayLiteral
{
    /// A text, a path or a word; also a number, a time, `true` or `false`.
    case string(String)
    /// A list of texts, names or words.
    case list([String])

    /// A text.
    public init(stringLiteral value: String) { self = .string(value) }
    /// `true` or `false`.
    public init(booleanLiteral value: Bool) { self = .string("\(value)") }
    /// A number; also of bytes or seconds.
    public init(integerLiteral value: Int) { self = .string("\(value)") }
    /// A number of seconds.
    public init(floatLiteral value: Double) { self = .string("\(value)") }
    /// A list.
    public init(arrayLiteral elements: String...) { self = .list(elements) }
}

extension SettingValue {
    package var text: String? { if case .string(let text) = self { text } else { nil } }
    package var list: [String]? { if case .list(let texts) = self { texts } else { nil } }

    /// The booleans of YAML 1.1, and what variables often have.
    var boolean: Bool? {
        switch text?.lowercased() {
        case "true", "yes", "on", "1": true
        case "false", "no", "off", "0": false
        default: nil
        }
    }

    /// A time, with the limit and the rounding of the delays. A longer finite one means the longest.
    package var seconds: Duration? {
        guard let seconds = text.flatMap(Self.decimal), seconds >= 0, seconds.isFinite else { return nil }
        return .microseconds(Int64((min(seconds, TimeSource.longest / .seconds(1)) * 1e6).rounded()))
    }

    /// A number of bytes: `1048576`, `512 kB`, `1 MiB`.
    var bytes: Int? {
        guard let text else { return nil }
        let units = [
            "": 1, "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12,
            "kib": 0x1p10, "mib": 0x1p20, "gib": 0x1p30, "tib": 0x1p40,
        ]
        let number = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        let unit = units[text[number.endIndex...].trimmingCharacters(in: .whitespaces).lowercased()]
        return unit.flatMap { unit in Self.decimal(number).flatMap { Int(exactly: $0 * unit) } }
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
            !["", "-", "~", "null"].contains(text.lowercased())
                && text.allSatisfy { $0.isLetter || $0.isNumber || "./-~_".contains($0) }
                ? text : QuotedText.escaped(QuotedText.quoted(text))
        case .list(let words): "[\(words.map { Self.string($0).configurationText }.joined(separator: ", "))]"
        }
    }
}
