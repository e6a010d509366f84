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
