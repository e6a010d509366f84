/// The control sequences that the backend writes; xterm's `ctlseqs` is the reference for the title, ConEmu's
/// `AnsiEscapeCodes` for the progress.
enum ControlSequences {
    /// XTWINOPS 22;0: pushes the icon and window titles on the terminal's stack.
    static let saveTitle = "\u{1B}[22;0t"

    /// XTWINOPS 23;0: pops the icon and window titles off the terminal's stack.
    static let restoreTitle = "\u{1B}[23;0t"

    /// OSC 0: sets the icon and window titles. `text` must be free of control characters.
    ///
    /// Ended with BEL, as terminfo's `fsl` says: every terminal takes it, also those that know no other end.
    static func setTitle(_ text: String) -> String {
        "\u{1B}]0;\(text)\u{07}"
    }

    /// OSC 9;4: shows, changes or, with `nil`, clears the progress.
    ///
    /// Ended with ST: VTE, the terminal of GNOME and others, asks for it in every OSC that is newer than the title.
    static func setProgress(_ progress: TerminalProgress?) -> String {
        switch progress {
        case nil: "\u{1B}]9;4;0\u{1B}\\"
        case .indeterminate: "\u{1B}]9;4;3\u{1B}\\"
        case .known(let percentage): "\u{1B}]9;4;1;\(percentage.value)\u{1B}\\"
        }
    }
}

/// What OSC 9;4 can show.
enum TerminalProgress: Sendable, Hashable {
    /// Something is going on, and how far it is nobody knows.
    case indeterminate
    /// So far it is.
    case known(Percentage)

    init(_ progress: Double?) {
        self = Percentage(progress).map(Self.known) ?? .indeterminate
    }
}
