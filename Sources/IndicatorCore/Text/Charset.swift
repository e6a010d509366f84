import Foundation

/// The characters that a terminal shows, by the locale of the process: all of Unicode in UTF-8, otherwise ASCII.
///
/// A terminal takes the bytes of another character set for other characters, and some of them for control characters:
/// in ISO 8859-1, the last byte of a UTF-8 `Ü` is ST, which ends a title.
package enum Charset: Sendable, Hashable {
    case ascii
    case utf8

    /// The character set that the locale's name contains, as in `de_DE.UTF-8` (locale(7)).
    ///
    /// The name is not looked up: over SSH, the locale of the terminal is often not installed here.
    ///
    /// - Parameter variable: returns the value of an environment variable.
    package init(_ variable: (String) -> String?) {
        // POSIX, section 8.2: the first of these that is set and not empty determines the encoding.
        let name = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap(variable).first { !$0.isEmpty } ?? ""
        self = name.lowercased().filter { $0.isLetter || $0.isNumber }.contains("utf8") ? .utf8 : .ascii
    }

    package init(environment: [String: String]) {
        self.init { environment[$0] }
    }

    /// The text with plain letters, dashes and quotes, or `?`, for the characters that are missing here.
    package func text(_ text: String) -> String {
        if self == .utf8 || text.utf8.allSatisfy({ $0 < 0x80 }) { return text }
        return text.unicodeScalars.reduce(into: "") { result, scalar in
            if scalar.isASCII {
                result.unicodeScalars.append(scalar)
            } else {
                result += Self.replacement(for: scalar)
            }
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
