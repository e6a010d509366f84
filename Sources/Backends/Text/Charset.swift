import Foundation

/// The characters that a terminal shows, by the locale of the process.
///
/// A terminal takes the bytes of another character set for other characters, and some of them for control characters:
/// in ISO 8859-1, the last byte of a UTF-8 `Ü` is ST, which ends a title.
package enum Charset: Sendable, Hashable {
    case ascii
    /// ISO 8859-1 and ISO 8859-15, without the eight characters in which they differ.
    case latin1
    case utf8

    /// The character set that the locale's name contains, as in `de_DE.ISO-8859-1` (locale(7)); otherwise ASCII.
    ///
    /// The name is not looked up: over SSH, the locale of the terminal is often not installed here.
    ///
    /// - Parameter variable: returns the value of an environment variable.
    package init(_ variable: (String) -> String?) {
        // POSIX, section 8.2: the first of these that is set and not empty determines the encoding.
        let name = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap(variable).first { !$0.isEmpty } ?? ""
        self.init(name: name.lowercased().filter { $0.isLetter || $0.isNumber })
    }

    package init(environment: [String: String]) {
        self.init { environment[$0] }
    }

    private init(name: String) {
        let part = name.split(separator: "8859").dropFirst().first?.prefix(while: \.isNumber)
        self = name.contains("utf8") ? .utf8 : part == "1" || part == "15" ? .latin1 : .ascii
    }

    /// The text with plain letters, dashes and quotes, or `?`, for the characters that are missing here.
    package func text(_ text: String) -> String {
        if self == .utf8 || text.utf8.allSatisfy({ $0 < 0x80 }) { return text }
        return text.unicodeScalars.reduce(into: "") { result, scalar in
            if contains(scalar) {
                result.unicodeScalars.append(scalar)
            } else {
                result += Self.replacement(for: scalar)
            }
        }
    }

    /// The bytes of such a text. ASCII, and so a control sequence, is unchanged.
    package func bytes(of text: String) -> [UInt8] {
        self == .utf8 ? Array(text.utf8) : self.text(text).unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
    }

    private func contains(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x80: true
        case 0xA4, 0xA6, 0xA8, 0xB4, 0xB8, 0xBC...0xBE: self == .utf8
        case 0xA0...0xFF: self != .ascii
        default: self == .utf8
        }
    }

    private static func replacement(for scalar: Unicode.Scalar) -> String {
        String(scalar).decomposedStringWithCompatibilityMapping.unicodeScalars.map { scalar in
            if scalar.isASCII { return String(scalar) }
            switch scalar.properties.generalCategory {
            case .nonspacingMark, .enclosingMark, .format: return ""
            case .dashPunctuation: return "-"
            case .initialPunctuation, .finalPunctuation: return "'"
            default: return "?"
            }
        }.joined()
    }
}
