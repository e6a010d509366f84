import Foundation

/// The characters and colours that a terminal, or what a program's output goes to, shows.
package struct TextLook: Sendable, Hashable {
    package var usesUnicode: Bool
    package var usesColor: Bool
    package var numbers: NumberStyle

    /// Follows the locale and the variables `NO_COLOR` (no-color.org) and `CLICOLOR_FORCE` (bixense.com/clicolors).
    ///
    /// - Parameter isTerminal: whether to use colours if the variables are not set.
    package init(environment: [String: String], isTerminal: Bool) {
        func value(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        // The Linux console lacks the characters of the spinner.
        usesUnicode = Charset(value) == .utf8 && environment["TERM"] != "linux"
        let isForced = value("CLICOLOR_FORCE").map { $0 != "0" } ?? false
        usesColor = value("NO_COLOR") == nil && (isTerminal || isForced)
        numbers = NumberStyle(value)
    }

    /// The style, or plain without colours.
    package func style(_ style: TextStyle) -> TextStyle { usesColor ? style : .plain }

    /// A text with the control sequences of a style, if colours are shown.
    package func styled(_ text: String, _ style: TextStyle) -> String {
        usesColor && style != .plain && !text.isEmpty ? style.sequence + text + TextStyle.plain.sequence : text
    }

    /// A text in the characters that are shown.
    package func shown(_ text: String) -> String { usesUnicode ? text : Charset.ascii.text(text) }

    /// Such as `2.1 s`, and from a minute on `1:05`.
    package func time(_ duration: Duration) -> String {
        let seconds = max(duration / .seconds(1), 0)
        return seconds < 60 ? "\(shown(numbers.text(seconds, digits: 1))) s" : SnapshotFormat.time(seconds)
    }

    /// How long an activity lasted; if it counted something, also how much and at which average rate.
    package func summary(of finished: FinishedActivity) -> String {
        shown(finished.summary(time: time(finished.duration), in: numbers))
    }
}

/// Colours and weights.
package struct TextStyle: Sendable, Hashable {
    package static let plain = Self(parameters: "")
    package static let faint = Self(parameters: "2")
    package static let accent = Self(parameters: "36")
    package static let failure = Self(parameters: "31")
    package static let success = Self(parameters: "32")
    package static let warning = Self(parameters: "33")

    /// The parameters of SGR (ECMA-48), such as `1;36`.
    package var parameters: String

    package init(parameters: String) { self.parameters = parameters }

    /// SGR: sets the style of the text that follows.
    package var sequence: String { "\u{1B}[\(parameters.isEmpty ? "" : "0;\(parameters)")m" }
}

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
