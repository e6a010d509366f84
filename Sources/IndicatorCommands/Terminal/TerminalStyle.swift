import Foundation
import IndicatorBackends
import IndicatorCore

/// The capabilities of the output.
package struct TerminalStyle: Sendable, Hashable {
    /// The number of columns.
    package var width: Int
    /// Whether it shows Unicode; otherwise only ASCII is written.
    package var usesUnicode: Bool
    /// Whether it shows colours.
    package var usesColor: Bool
    /// Whether it is a terminal whose lines can be overwritten.
    package var isTerminal: Bool

    /// The style of standard output: its width or `$COLUMNS`, colours if it is a terminal and `$NO_COLOR` is not set,
    /// Unicode if the locale's encoding is UTF-8.
    package static func standardOutput() -> Self {
        Self(
            columns: TerminalDevice.size(of: STDOUT_FILENO).columns,
            isTerminal: isatty(STDOUT_FILENO) == 1,
            environment: ProcessInfo.processInfo.environment
        )
    }

    /// Creates a style.
    ///
    /// - Parameters:
    ///   - columns: the columns that the terminal reports; 0 when it does not.
    ///   - isTerminal: whether it is a terminal.
    ///   - environment: the environment variables.
    package init(columns: Int, isTerminal: Bool, environment: [String: String]) {
        let fromEnvironment = environment["COLUMNS"].flatMap(Int.init) ?? 0
        width = columns > 0 ? columns : fromEnvironment > 0 ? fromEnvironment : 80
        usesUnicode = Charset(environment: environment) == .utf8
        let isDumb = ["", "dumb"].contains(environment["TERM"] ?? "")
        self.isTerminal = isTerminal && !isDumb
        usesColor = self.isTerminal && (environment["NO_COLOR"] ?? "").isEmpty
    }

    package init(width: Int, usesUnicode: Bool, usesColor: Bool = false, isTerminal: Bool = false) {
        (self.width, self.usesUnicode, self.usesColor, self.isTerminal) = (width, usesUnicode, usesColor, isTerminal)
    }

    /// A colour or weight of a text (ECMA-48, `SGR`).
    package enum Emphasis: String {
        case faint = "2"
        case red = "31"
        case green = "32"
        case yellow = "33"
        case cyan = "36"
    }

    /// A text in a colour, if the output shows colours.
    package func styled(_ text: String, _ emphasis: Emphasis) -> String {
        usesColor && !text.isEmpty ? "\u{1B}[\(emphasis.rawValue)m\(text)\u{1B}[0m" : text
    }
}

/// Texts in the width of a terminal.
package enum TextWidth {
    /// Wraps a text between words, to lines of at least 20 columns. A longer word, such as a path, has its own line.
    package static func wrapped(_ text: String, to width: Int) -> [String] {
        text.split(separator: " ", omittingEmptySubsequences: false).reduce(into: []) { lines, word in
            let columns = (lines.last.map { SafeText.columns(of: $0) + 1 } ?? 0) + SafeText.columns(of: String(word))
            if !lines.isEmpty, columns <= max(width, 20) {
                lines[lines.count - 1] += " \(word)"
            } else {
                lines.append(String(word))
            }
        }
    }

    /// A text with spaces up to a width.
    package static func padded(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(width - SafeText.columns(of: text), 0))
    }

    /// Rows whose cells are below each other. A cell of more than 48 columns moves the rest of its own row only.
    static func aligned(_ rows: [[String]]) -> [String] {
        let widths = (rows.first ?? []).indices.map { column in
            min(rows.map { SafeText.columns(of: $0[column]) }.max() ?? 0, 48)
        }
        return rows.map { row in
            let cells = zip(row, widths).map { padded($0, to: $1) }
            return String(cells.joined(separator: "  ").reversed().drop { $0 == " " }.reversed())
        }
    }
}
