import BackendConfiguration
import IndicatorCore
import Foundation
import Synchronization

/// The capabilities of a terminal, and the environment variables that identify it.
///
/// The terminal itself is not queried: its answer would arrive in the app's input.
package struct KnownTerminal: Sendable, Hashable {
    /// Its name.
    let name: String
    /// How its title is set and restored.
    let title: TitleStyle
    /// Which versions show progress (OSC 9;4). Other versions may show the same bytes as a notification.
    let progress: Versions
    /// Which versions show the status of programs (OSC 7501).
    let status: Versions
    /// How it shows a notification; `nil` if it is not known to support them.
    let notification: TerminalNotificationStyle?
    /// The environment variables that identify it: `NAME`, which must not be empty, or `NAME=value`, where a trailing
    /// `*` matches any text.
    private let variables: [String]

    private init(
        _ name: String,
        _ variables: String...,
        title: TitleStyle = .emptied,
        progress: Versions = .never,
        status: Versions = .never,
        notification: TerminalNotificationStyle? = nil
    ) {
        self.name = name
        self.variables = variables
        self.title = title
        self.progress = progress
        self.status = status
        self.notification = notification
    }

    /// Terminals that interpret the sequences themselves, and terminals with their own `TERM`. The first one whose
    /// variables all match is used; multiplexers come first, because the terminals that they run in set variables, too.
    private static let withOwnType: [KnownTerminal] = [
        // Shows the sequences as text, also with the type and variables of a terminal that it runs in.
        KnownTerminal("Emacs", "INSIDE_EMACS", title: .unknown),
        // Either one may run in the other.
        KnownTerminal("GNU screen or tmux", "STY", "TMUX", "TERM=screen*", title: .ascii),
        KnownTerminal("GNU screen", "STY", "TERM=screen*", title: .ascii),
        KnownTerminal("tmux", "TERM=tmux*", "TERM_PROGRAM=tmux", title: .stack, progress: .since("3.7")),
        KnownTerminal("tmux", "TERM=screen*", "TERM_PROGRAM=tmux", "TMUX", title: .stack, progress: .since("3.7")),
        KnownTerminal("tmux", "TERM=tmux*", title: .stack),
        KnownTerminal("tmux", "TMUX", title: .stack),
        KnownTerminal("GNU screen", "STY", title: .ascii),
        KnownTerminal("GNU screen or tmux", "TERM=screen*", title: .ascii),
        KnownTerminal("Zellij", "ZELLIJ"),

        // Versions before 0.38 show the sequence as a notification. Official builds do not reveal their version.
        KnownTerminal(
            "kitty",
            "TERM=xterm-kitty",
            title: .stack,
            progress: .since("0.47", in: kittyFolder),
            notification: .kitty
        ),
        KnownTerminal("kitty", "KITTY_WINDOW_ID", "TERM=xterm*"),
        // Earlier versions ignore the sequence, so it is safe even if SSH does not pass the version on.
        KnownTerminal("Ghostty", "TERM=xterm-ghostty", title: .stack, progress: .always, notification: .titleAndBody),
        KnownTerminal("foot", "TERM=foot*", title: .stack, notification: .titleAndBody),
        KnownTerminal("Alacritty", "TERM=alacritty*", title: .stack),
        // These have no title stack. urxvt shows notifications only with an extension that Debian does not have.
        KnownTerminal("urxvt", "TERM=rxvt*", title: .kept),
        KnownTerminal("st", "TERM=st", title: .kept),
        KnownTerminal("st", "TERM=st-*", title: .kept),
    ]

    /// The other types (`TERM`) that have a title, which OSC 0 sets: how they begin. Anything else might show it as
    /// text, as Emacs does (`eterm`), or the terminals `vt100` and `ansi`.
    private static let titledTypes = [
        "xterm", "Apple_Terminal", "Eterm", "contour", "cygwin", "gnome", "iTerm", "konsole", "mintty", "mlterm",
        "ms-terminal", "nsterm", "putty", "rio", "terminology", "vte", "wezterm",
    ]

    /// Terminals of these types that are identified by what they add, which a terminal started from them inherits.
    private static let withVariables: [KnownTerminal] = [
        // It sets this for each program that it runs (mosh-server.cc), and has no title stack.
        KnownTerminal("mosh", "NCURSES_NO_UTF8_ACS=1", title: .kept),
        KnownTerminal("xterm", "XTERM_VERSION"),
        // The format of the tabs, `%d : %n` by default, does not contain the title, and it has no title stack.
        KnownTerminal("Konsole", "KONSOLE_VERSION", title: .kept, progress: .since("260400", in: "KONSOLE_VERSION")),
        // QTerminal and others with its widget, which has no title stack (Session::windowId).
        KnownTerminal("QTerminal", "WINDOWID=0", title: .kept),
        // https://learn.microsoft.com/windows/terminal/tutorials/progress-bar-sequences
        KnownTerminal("Windows Terminal", "WT_SESSION", progress: .always),
        // https://conemu.github.io/en/AnsiEscapeCodes.html#ConEmu_specific_OSC
        KnownTerminal("ConEmu", "ConEmuANSI=ON", progress: .always),
        // The terminal of GNOME, Xfce, Ptyxis and others: 0.80.0 is 8000.
        KnownTerminal("VTE", "VTE_VERSION", progress: .since("8000", in: "VTE_VERSION")),
        KnownTerminal("Ghostty", "TERM_PROGRAM=ghostty", progress: .since("1.2"), notification: .titleAndBody),
        // Versions are dates: https://github.com/wezterm/wezterm/issues/6581
        KnownTerminal("WezTerm", "TERM_PROGRAM=WezTerm", progress: .since("20250209"), notification: .titleAndBody),
        // Its release notes name the first version that shows the status: docs/notes-3.7.5.txt.
        KnownTerminal(
            "iTerm2",
            "TERM_PROGRAM=iTerm.app",
            progress: .since("3.6.6"),
            status: .since("3.7.5"),
            notification: .text
        ),
        // The variables that SSH passes on.
        KnownTerminal(
            "iTerm2",
            "LC_TERMINAL=iTerm2",
            progress: .since("3.6.6", in: "LC_TERMINAL_VERSION"),
            status: .since("3.7.5", in: "LC_TERMINAL_VERSION"),
            notification: .text
        ),
    ]

    /// Whether it removes progress that is not repeated: Ghostty after 15 seconds, kitty after 60.
    var progressExpires: Bool { ["Ghostty", "kitty"].contains(name) }

    /// Whether what is written to the terminal is kept in the log of a CI job, which every change makes longer: the
    /// variable `CI` is set, and not to `false` or `0`.
    static func isLog(in environment: [String: String]) -> Bool {
        !["", "false", "0"].contains(environment["CI"] ?? "")
    }

    /// The terminal that set these environment variables.
    static func recognize(by environment: [String: String]) -> KnownTerminal {
        if isLog(in: environment) { return KnownTerminal("a log of CI", title: .unknown) }
        func isMatch(_ terminal: KnownTerminal) -> Bool { terminal.variables.allSatisfy { matches($0, environment) } }
        if let terminal = withOwnType.first(where: isMatch) { return terminal }
        let type = environment["TERM"] ?? ""
        let name = SafeText.singleLine(type, limit: 40)
        guard titledTypes.contains(where: type.hasPrefix) else { return KnownTerminal(name, title: .unknown) }
        return withVariables.first(where: isMatch) ?? KnownTerminal(name)
    }

    /// Whether this process's terminal is known to wrap lines again when its window becomes narrower. Those with a
    /// title stack or progress do; xterm, mosh, urxvt and st do not.
    package static var wrapsAgain: Bool {
        let known = recognize(by: ProcessInfo.processInfo.environment)
        return known.title == .stack || known.progress != .never
    }

    /// The characters that its title can have.
    func charset(in environment: [String: String]) -> Charset {
        title == .ascii ? .ascii : Charset { environment[$0] }
    }

    private static func matches(_ pattern: String, _ environment: [String: String]) -> Bool {
        let parts = pattern.split(separator: "=", maxSplits: 1)
        guard let value = environment[String(parts[0])] else { return false }
        guard let expected = parts.dropFirst().first else { return !value.isEmpty }
        return expected.last == "*" ? value.hasPrefix(expected.dropLast()) : value == expected
    }

    /// Whether the variables name one of these versions.
    static func isOne(of versions: Versions, in environment: [String: String]) -> Bool {
        switch versions {
        case .never: return false
        case .always: return true
        case .since(let least, let variable):
            let version = variable == kittyFolder ? kittyVersion(environment) : environment[variable]
            return version.map { numbers($0) }.map { !$0.lexicographicallyPrecedes(numbers(least)) } ?? false
        }
    }

    /// The numbers of a version such as `3.10.0beta2` or `20250209-182623-44866cc1`.
    private static func numbers(_ version: String) -> [Int] {
        version.split(whereSeparator: { $0 == "." || $0 == "-" }).map { Int($0.prefix(while: \.isNumber)) ?? 0 }
    }

    private static let kittyFolder = "KITTY_INSTALLATION_DIR"

    /// The version of kitty, which is in no variable but in a file that distributions install, in a line such as
    /// `version: Version = Version(0, 26, 5)`.
    private static func kittyVersion(_ environment: [String: String]) -> String? {
        guard let folder = environment[kittyFolder],
            let text = try? String(contentsOfFile: folder + "/kitty/constants.py", encoding: .utf8),
            let match = text.firstMatch(of: /version: Version = Version\((\d+), (\d+), (\d+)\)/)
        else { return nil }
        return "\(match.1).\(match.2).\(match.3)"
    }
}

extension KnownTerminal {
    /// Which versions of a terminal show something.
    enum Versions: Sendable, Hashable {
        case never
        case always
        case since(String, in: String = "TERM_PROGRAM_VERSION")
    }

    /// How the title is set and restored.
    enum TitleStyle: Sendable, Hashable {
        /// Saved on the terminal's stack and restored from there.
        case stack
        /// Like `stack`, but the title is emptied before it is restored, for terminals that may have no stack: they
        /// show their own title instead of a stale one.
        case emptied
        /// Left alone, because what it was before would be lost. If the settings want one, it is as `emptied`.
        case kept
        /// Like `kept`, in ASCII: GNU screen keeps only the low byte of each character, so `⠇` becomes a bell.
        case ascii
        /// Like `kept`: it is not known to have a title.
        case unknown

        /// Whether to set it unless the settings say otherwise.
        var isSet: Bool { self == .stack || self == .emptied }

        /// The sequence before the first title. XTWINOPS 22;0 and 23;0: push the icon and window titles on the
        /// terminal's stack, and pop them.
        static let beginning = "\u{1B}[22;0t"

        /// The sequence that sets a title. `text` must be free of control characters.
        ///
        /// Terminated by BEL, as in terminfo's `fsl`: every terminal supports it, some support nothing else.
        func setTitle(_ text: String) -> String { "\u{1B}]0;\(text)\u{07}" }

        /// The sequences after the last title.
        var end: String { (self == .stack ? "" : setTitle("")) + "\u{1B}[23;0t" }
    }
}

/// The control sequence for a notification. Texts must be free of control characters.
enum TerminalNotificationStyle: Sendable, Hashable {
    /// OSC 99, https://sw.kovidgoyal.net/kitty/desktop-notifications
    case kitty
    /// OSC 777, first of urxvt, whose extension is rarely installed.
    case titleAndBody
    /// OSC 9, of iTerm2.
    case text

    /// How many notifications were made: one with the identifier of another replaces it.
    private static let count = Atomic(0)

    func sequence(for notice: OutcomeNotice) -> String {
        switch self {
        case .kitty:
            // Two parts of one notification, which a focused window does not show.
            let number = Self.count.add(1, ordering: .relaxed).newValue
            let common = "i=indicator-\(getpid())-\(number):o=unfocused"
            return "\u{1B}]99;\(common):d=0;\(notice.title)\u{1B}\\\u{1B}]99;\(common):p=body;\(notice.body)\u{1B}\\"
        case .titleAndBody:
            // A semicolon ends the title.
            return "\u{1B}]777;notify;\(notice.title.replacing(";", with: ","));\(notice.body)\u{1B}\\"
        case .text:
            // A number followed by a semicolon is another command.
            let text = "\(notice.title): \(notice.body)".replacing(";", with: ",")
            return "\u{1B}]9;\(text)\u{1B}\\"
        }
    }
}

extension Charset {
    /// The characters of an animation that shows that work is in progress.
    var spinnerFrames: [String] { (self == .utf8 ? "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏" : "|/-\\").map { String($0) } }
}
