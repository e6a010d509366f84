import Foundation

/// A value as a line of JSON Lines, without control characters that a terminal would interpret.
enum JSONLine {
    static func text(of value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let text = String(decoding: try encoder.encode(value), as: UTF8.self)
        // The encoder only escapes ASCII control characters. They only occur in strings.
        return text.unicodeScalars.map { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator:
                String(scalar).utf16.map { "\\u" + String(0x10000 | Int($0), radix: 16).dropFirst() }.joined()
            default: String(scalar)
            }
        }.joined()
    }
}
