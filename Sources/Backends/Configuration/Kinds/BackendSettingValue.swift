import DisplayText

/// The value of a setting as code writes it, and as a file or a variable has it.
public enum BackendSettingValue: Sendable, Hashable {
    /// A text, a path or a word.
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

extension BackendSettingValue: ExpressibleByStringInterpolation, ExpressibleByBooleanLiteral,
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

extension BackendSettingValue {
    package var text: String? { if case .string(let text) = self { text } else { nil } }
    package var list: [String]? { if case .list(let texts) = self { texts } else { nil } }
    var boolean: Bool? { if case .boolean(let value) = self { value } else { nil } }
    var integer: Int? { if case .integer(let number) = self { number } else { nil } }
    var duration: Duration? { if case .duration(let time) = self { time } else { nil } }

    /// The value as written in a config file.
    var configurationText: String {
        switch self {
        case .string(let text): text.isEmpty ? "\"\"" : QuotedText.escaped(text)
        case .boolean(let value): String(value)
        case .integer(let value): String(value)
        case .duration(let value): value.secondsText
        case .list(let words): "[\(words.map(QuotedText.escaped).joined(separator: ", "))]"
        }
    }
}
