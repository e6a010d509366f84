/// What is known of a terminal from the environment that it gave its programs.
///
/// Nothing is asked of the terminal itself: its answer would arrive among the keys that the app reads.
struct TerminalTraits: Sendable, Hashable {
    /// Whether it shows OSC 9;4 as progress. Other terminals show the same bytes as a notification, or type them out.
    var showsProgress: Bool

    /// Whether it has a stack to save titles on. Where there is none, the best that can be put back is no title of
    /// ours.
    var hasTitleStack: Bool

    init(showsProgress: Bool, hasTitleStack: Bool = true) {
        self.showsProgress = showsProgress
        self.hasTitleStack = hasTitleStack
    }

    /// Reads the traits from environment variables.
    init(environment: [String: String]) {
        let terminal = environment["TERM"] ?? ""
        // Between the app and the terminal that the other variables speak of: a multiplexer has a title of its own.
        let isMultiplexed =
            environment["TMUX"] != nil || environment["STY"] != nil || environment["ZELLIJ"] != nil
            || terminal.hasPrefix("tmux") || terminal.hasPrefix("screen")
        hasTitleStack = isMultiplexed || !Self.lacksTitleStack(terminal: terminal, environment: environment)
        showsProgress = !isMultiplexed && Self.showsProgress(terminal: terminal, environment: environment)
    }

    private static func lacksTitleStack(terminal: String, environment: [String: String]) -> Bool {
        environment["KONSOLE_VERSION"] != nil
            // https://github.com/microsoft/terminal/issues/14575
            || environment["WT_SESSION"] != nil
            || terminal.hasPrefix("rxvt") || terminal == "st" || terminal.hasPrefix("st-")
    }

    private static func showsProgress(terminal: String, environment: [String: String]) -> Bool {
        // Terminals that do not show it, and may have been started from one that does: its variables are inherited.
        if terminal == "linux" || terminal.hasPrefix("rxvt") || terminal.hasPrefix("xterm-kitty")
            || environment["XTERM_VERSION"] != nil || environment["KITTY_WINDOW_ID"] != nil
        {
            return false
        }
        // https://learn.microsoft.com/windows/terminal/tutorials/progress-bar-sequences
        if environment["WT_SESSION"] != nil { return true }
        // https://conemu.github.io/en/AnsiEscapeCodes.html#ConEmu_specific_OSC
        if environment["ConEmuANSI"] == "ON" { return true }
        // VTE 0.79 and later, as 7900: GNOME Terminal, Ptyxis and their relatives.
        if let version = environment["VTE_VERSION"].flatMap({ Int($0) }) { return version >= 7900 }
        if let features = environment["TERM_FEATURES"], Self.reportsProgress(features) { return true }
        switch environment["TERM_PROGRAM"] {
        // Versions before 1.2 know the sequence and show nothing.
        case "ghostty": return true
        // Versions are dates, and before https://github.com/wezterm/wezterm/issues/6581 it was a notification.
        case "WezTerm": return version(environment["TERM_PROGRAM_VERSION"], isAtLeast: [20_250_209])
        case "iTerm.app": return version(environment["TERM_PROGRAM_VERSION"], isAtLeast: [3, 6, 6])
        default: break
        }
        // iTerm2 tells its name through ssh with these two.
        return environment["LC_TERMINAL"] == "iTerm2"
            && version(environment["LC_TERMINAL_VERSION"], isAtLeast: [3, 6, 6])
    }

    /// Whether the features include `P`, as https://iterm2.com/feature-reporting/ spells them: each an upper-case
    /// letter, then lower-case ones, then a number.
    private static func reportsProgress(_ features: String) -> Bool {
        let characters = Array(features)
        return characters.indices.contains { index in
            guard characters[index] == "P" else { return false }
            let next = index + 1 < characters.count ? characters[index + 1] : nil
            return next.map { !$0.isLowercase } ?? true
        }
    }

    private static func version(_ text: String?, isAtLeast least: [Int]) -> Bool {
        let numbers = (text ?? "").split(whereSeparator: { $0 == "." || $0 == "-" }).prefix(least.count)
            .map { Int($0.prefix(while: \.isNumber)) ?? 0 }
        return !numbers.lexicographicallyPrecedes(least)
    }
}
