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
