import TestSupport

@testable import IndicatorBackends

@Suite struct KnownTerminalTests {
    private func backend(_ environment: [String: String], _ when: TerminalTitleSettings.When) -> TerminalTitleBackend {
        let settings = TerminalTitleSettings(title: when, progress: when, status: when)
        return .init(applicationName: "app", settings: settings, path: "/dev/tty", environment: environment)
    }

    /// The style of its title, and whether it gets progress, the status of programs, and which notifications.
    private func shown(in environment: [String: String]) -> String {
        let (known, backend) = (KnownTerminal.recognize(by: environment), backend(environment, .auto))
        let words = [
            "\(known.title)", backend.showsProgress ? "progress" : nil, backend.showsStatus ? "status" : nil,
            known.notification.map { "\($0)" },
        ]
        return words.compactMap(\.self).joined(separator: " ")
    }

    /// The variables of terminals, of which the first one is `TERM` (`-`: it is not set), and what they get.
    private static let terminals = """
        // Of its own type.
        xterm-kitty | xterm-kitty KITTY_INSTALLATION_DIR=/nowhere = stack kitty
        xterm-ghostty | xterm-ghostty TERM_PROGRAM=ghostty TERM_PROGRAM_VERSION=1.2.3 = stack progress titleAndBody
        foot | foot-extra = stack titleAndBody
        alacritty = stack
        // Its own title would be lost. Debian's urxvt has no extension for notifications.
        rxvt | rxvt-unicode-256color | st-256color = kept
        xterm NCURSES_NO_UTF8_ACS=1 | xterm-256color WINDOWID=0 = kept
        konsole KONSOLE_VERSION=221203 | xterm-256color KONSOLE_VERSION=251203 = kept
        xterm-256color KONSOLE_VERSION=260400 | xterm-256color KONSOLE_VERSION=260801 = kept progress
        // Of a common type, with what its versions show.
        xterm | mlterm | wezterm | contour | gnome-256color = emptied
        vte-256color VTE_VERSION=7006 | xterm-256color VTE_VERSION=7802 | xterm-256color VTE_VERSION=new = emptied
        xterm-256color VTE_VERSION= STY= TMUX= ZELLIJ= = emptied
        xterm-256color VTE_VERSION=8000 = emptied progress
        xterm-256color WT_SESSION=6f7a | xterm-256color ConEmuANSI=ON = emptied progress
        xterm-256color TERM_PROGRAM=Apple_Terminal | xterm-256color TERM_PROGRAM=vscode = emptied
        xterm-256color TERM_PROGRAM=ghostty TERM_PROGRAM_VERSION=1.1.3 = emptied titleAndBody
        xterm-256color TERM_PROGRAM=ghostty TERM_PROGRAM_VERSION=1.2.0 = emptied progress titleAndBody
        xterm-256color TERM_PROGRAM=WezTerm = emptied titleAndBody
        xterm-256color TERM_PROGRAM=WezTerm TERM_PROGRAM_VERSION=20240203-110809-5046fc22 = emptied titleAndBody
        xterm-256color TERM_PROGRAM=WezTerm TERM_PROGRAM_VERSION=20250209-182623 = emptied progress titleAndBody
        xterm-256color TERM_PROGRAM=iTerm.app | xterm-256color LC_TERMINAL=iTerm2 = emptied text
        xterm-256color TERM_PROGRAM=iTerm.app TERM_PROGRAM_VERSION=3.5.14 = emptied text
        xterm-256color TERM_PROGRAM=iTerm.app TERM_PROGRAM_VERSION=3.6.6 = emptied progress text
        xterm-256color TERM_PROGRAM=iTerm.app TERM_PROGRAM_VERSION=3.7.4 = emptied progress text
        xterm-256color TERM_PROGRAM=iTerm.app TERM_PROGRAM_VERSION=3.7.5 = emptied progress status text
        xterm-256color TERM_PROGRAM=iTerm.app TERM_PROGRAM_VERSION=3.10.0beta2 = emptied progress status text
        xterm-256color LC_TERMINAL=iTerm2 LC_TERMINAL_VERSION=3.6.9 = emptied progress text
        xterm-256color LC_TERMINAL=iTerm2 LC_TERMINAL_VERSION=3.7.5 = emptied progress status text
        // In doubt, nothing.
        - | - TERM_PROGRAM=ghostty | unknown | ansi | sun | stv52 | vt220 = unknown
        vt100 VTE_VERSION=8203 | vt100 TERM_PROGRAM=iTerm.app | linux WT_SESSION=6f7a = unknown
        // Started from a terminal that shows more.
        xterm-256color WT_SESSION=6f7a XTERM_VERSION=XTerm(390) = emptied
        xterm-256color KONSOLE_VERSION=260400 XTERM_VERSION=XTerm(390) = emptied
        xterm-kitty VTE_VERSION=8203 = stack kitty
        xterm-kitty TERM_PROGRAM=WezTerm TERM_PROGRAM_VERSION=20250209-182623-44866cc1 = stack kitty
        xterm-256color KITTY_WINDOW_ID=1 TERM_PROGRAM=ghostty TERM_PROGRAM_VERSION=1.2.0 = emptied
        // Multiplexers interpret the sequences themselves, or as a notification. Over SSH, it may be either.
        screen STY=1.pts-0 | screen-256color | screen-256color VTE_VERSION=8203 | foot STY=1 = ascii
        xterm-256color VTE_VERSION=8203 STY=1.pts-0 | screen.xterm-256color STY=1.pts-0 KONSOLE_VERSION=221203 = ascii
        tmux-256color VTE_VERSION=8203 | tmux-256color TERM_PROGRAM=iTerm.app = stack
        screen-256color TMUX=/tmp/tmux-0/default,1,0 | xterm-kitty TMUX=/tmp/tmux-0/default,1,0 = stack
        xterm-256color TMUX=/tmp/tmux-0/default,1,0 WT_SESSION=6f7a = stack
        xterm-256color TMUX=/tmp/tmux-0/default,1,0 TERM_PROGRAM=iTerm.app TERM_PROGRAM_VERSION=3.7.5 = stack
        tmux-256color TMUX=/tmp/tmux-0/default,1,0 TERM_PROGRAM=tmux TERM_PROGRAM_VERSION=3.3a = stack
        tmux-256color TMUX=/tmp/tmux-0/default,1,0 TERM_PROGRAM=tmux TERM_PROGRAM_VERSION=3.7 = stack progress
        screen TMUX=/tmp/tmux-0/default,1,0 TERM_PROGRAM=tmux TERM_PROGRAM_VERSION=3.7b = stack progress
        // GNU screen in tmux, which shows progress, and tmux in GNU screen.
        screen STY=1.pts-0 TMUX=/tmp/tmux-0/default,1,0 TERM_PROGRAM=tmux TERM_PROGRAM_VERSION=3.7 = ascii
        tmux-256color STY=1.pts-0 TMUX=/tmp/tmux-0/default,1,0 = stack
        xterm-256color ZELLIJ=0 TERM_PROGRAM=ghostty TERM_PROGRAM_VERSION=1.2.0 = emptied
        // Emacs shows the sequences as text, also within tmux.
        eterm-color | eterm-color INSIDE_EMACS=28.2,term:0.96 | xterm-kitty INSIDE_EMACS=28.2,compile = unknown
        eterm-color INSIDE_EMACS=28.2,term:0.96 TMUX=/tmp/tmux-0/default,1,0 = unknown
        // Each title would make the log of a job longer.
        xterm-kitty CI=1 | xterm-256color CI=true VTE_VERSION=8203 = unknown
        xterm-kitty CI=false | xterm-kitty CI= = stack kitty
        """

    @Test(arguments: terminals.components(separatedBy: "\n").filter { !$0.hasPrefix("//") })
    func `Each terminal gets what it is known to show, or what the settings say`(row: String) {
        let sides = row.components(separatedBy: " = ")
        for words in sides[0].split(separator: " | ") {
            var environment: [String: String] = [:]
            for (index, word) in words.split(separator: " ").enumerated() where word != "-" {
                let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
                environment[index == 0 ? "TERM" : parts[0]] = parts[parts.count - 1]
            }
            #expect(shown(in: environment) == sides[1], "\(words)")
            let canRestore = sides[1].hasPrefix("stack") || sides[1].hasPrefix("emptied")
            #expect(backend(environment, .auto).setsTitle == canRestore, "\(words)")
            let (on, off) = (backend(environment, .on), backend(environment, .off))
            #expect(on.setsTitle && on.showsProgress && on.showsStatus, "\(words)")
            #expect(!off.setsTitle && !off.showsProgress && !off.showsStatus, "\(words)")
        }
    }

    @Test(arguments: [
        ("0, 26, 5", false), ("0, 46, 2", false), ("0, 47, 0", true), ("0, 50, 1", true), ("1, 0, 0", true),
    ])
    func `The version of kitty is read from its installation`(version: String, shown: Bool) throws {
        let folder = try TemporaryDirectory()
        try folder.write("appname: str = 'kitty'\nversion: Version = Version(\(version))\n", to: "kitty/constants.py")
        #expect(backend(["TERM": "xterm-kitty", "KITTY_INSTALLATION_DIR": folder.path], .auto).showsProgress == shown)
    }
}
