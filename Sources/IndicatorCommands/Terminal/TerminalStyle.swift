import Foundation
package import IndicatorBackends
import IndicatorCore

/// The capabilities of the output of a program.
package struct TerminalStyle: Sendable, Hashable {
    /// The number of columns.
    package var width: Int
    /// Whether it is a terminal whose lines can be overwritten.
    package var isTerminal: Bool
    /// The characters and colours.
    package var look: TextLook

    /// The style of standard output, whose width is that of the terminal or `$COLUMNS`.
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
        self.isTerminal = isTerminal && !["", "dumb"].contains(environment["TERM"] ?? "")
        look = TextLook(environment: environment, isTerminal: self.isTerminal)
    }
}
