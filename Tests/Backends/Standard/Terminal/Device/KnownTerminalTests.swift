import TestSupport

@testable import IndicatorBackends

@Suite struct KnownTerminalTests {
    @Test(arguments: [
        (["TERM": "xterm-kitty"], TerminalNotificationStyle.kitty), (["TERM": "xterm-ghostty"], .titleAndBody),
        (["TERM": "xterm-256color", "TERM_PROGRAM": "ghostty"], .titleAndBody), (["TERM": "foot-extra"], .titleAndBody),
        (["TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"], .titleAndBody),
        (["TERM": "xterm-256color", "LC_TERMINAL": "iTerm2"], .text),
        (["TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"], .text),
        // In doubt, none.
        ([:], nil), (["TERM_PROGRAM": "iTerm.app", "TERM": "vt100"], nil),
        (["TERM": "xterm-256color", "KITTY_WINDOW_ID": "1"], nil),
        (["TERM": "tmux-256color", "TERM_PROGRAM": "iTerm.app"], nil), (["TERM": "xterm-kitty", "TMUX": "x"], nil),
        (["TERM": "foot", "STY": "1"], nil), (["TERM": "xterm", "VTE_VERSION": "8000"], nil),
        (["TERM": "xterm-kitty", "INSIDE_EMACS": "28.2,compile"], nil),
        // Debian's has no extension for it.
        (["TERM": "rxvt"], nil), (["TERM": "rxvt-unicode-256color"], nil),
    ])
    func `Notifications are sent to terminals that show them`(
        variables: [String: String],
        style: TerminalNotificationStyle?
    ) {
        #expect(KnownTerminal.recognize(by: variables).notification == style)
    }

    private func backend(
        _ environment: [String: String],
        _ settings: TerminalTitleSettings = TerminalTitleSettings()
    ) -> TerminalTitleBackend {
        TerminalTitleBackend(applicationName: "app", settings: settings, path: "/dev/tty", environment: environment)
    }

    private func showsProgress(_ variables: [String: String]) -> Bool {
        let environment = variables.merging(["TERM": "xterm-256color"]) { first, _ in first }
        #expect(backend(environment, .init(progress: .on)).showsProgress)
        #expect(!backend(environment, .init(progress: .off)).showsProgress)
        return backend(environment).showsProgress
    }

    @Test(arguments: [
        ["WT_SESSION": "6f7a"],
        ["ConEmuANSI": "ON"],
        ["VTE_VERSION": "8000"], ["VTE_VERSION": "8203"],
        ["TERM_PROGRAM": "ghostty", "TERM_PROGRAM_VERSION": "1.2.0"], ["TERM": "xterm-ghostty"],
        ["TERM": "xterm-ghostty", "TERM_PROGRAM": "ghostty", "TERM_PROGRAM_VERSION": "1.2.3"],
        ["TERM_PROGRAM": "WezTerm", "TERM_PROGRAM_VERSION": "20250209-182623-44866cc1"],
        ["TERM_PROGRAM": "iTerm.app", "TERM_PROGRAM_VERSION": "3.6.6"],
        ["TERM_PROGRAM": "iTerm.app", "TERM_PROGRAM_VERSION": "3.10.0beta2"],
        ["LC_TERMINAL": "iTerm2", "LC_TERMINAL_VERSION": "3.6.9"],
        ["KONSOLE_VERSION": "260400"], ["KONSOLE_VERSION": "260801"],
        [
            "TERM": "tmux-256color", "TMUX": "/tmp/tmux-0/default,1,0", "TERM_PROGRAM": "tmux",
            "TERM_PROGRAM_VERSION": "3.7",
        ],
        ["TERM": "screen", "TMUX": "/tmp/tmux-0/default,1,0", "TERM_PROGRAM": "tmux", "TERM_PROGRAM_VERSION": "3.7b"],
    ])
    func `Progress is sent to terminals that show it`(variables: [String: String]) {
        #expect(showsProgress(variables))
    }

    @Test(arguments: [
        [:],
        ["TERM": "linux", "WT_SESSION": "6f7a"],
        ["VTE_VERSION": "7802"], ["VTE_VERSION": ""], ["VTE_VERSION": "new"],
        ["TERM_PROGRAM": "WezTerm", "TERM_PROGRAM_VERSION": "20240203-110809-5046fc22"], ["TERM_PROGRAM": "WezTerm"],
        ["TERM_PROGRAM": "iTerm.app", "TERM_PROGRAM_VERSION": "3.5.14"], ["TERM_PROGRAM": "iTerm.app"],
        ["TERM_PROGRAM": "ghostty", "TERM_PROGRAM_VERSION": "1.1.3"],
        ["LC_TERMINAL": "iTerm2"], ["TERM_PROGRAM": "Apple_Terminal"], ["TERM_PROGRAM": "vscode"],
        ["KONSOLE_VERSION": "251203"], ["KONSOLE_VERSION": "221203"],
        // A kitty of unknown version, also with variables inherited from another terminal.
        ["TERM": "xterm-kitty"], ["TERM": "xterm-kitty", "KITTY_INSTALLATION_DIR": "/nowhere"],
        ["TERM": "xterm-kitty", "TERM_PROGRAM": "WezTerm", "TERM_PROGRAM_VERSION": "20250209-182623-44866cc1"],
        // Started from a terminal that shows progress, in one that does not.
        ["WT_SESSION": "6f7a", "XTERM_VERSION": "XTerm(390)"],
        ["TERM": "xterm-kitty", "VTE_VERSION": "8203"], ["KITTY_WINDOW_ID": "1", "TERM_PROGRAM": "ghostty"],
        // Multiplexers interpret the sequence themselves, or as a notification.
        ["WT_SESSION": "6f7a", "TMUX": "/tmp/tmux-0/default,1,0"], ["VTE_VERSION": "8203", "STY": "1.pts-0"],
        ["VTE_VERSION": "8203", "TERM": "screen-256color"], ["VTE_VERSION": "8203", "TERM": "tmux-256color"],
        ["TERM_PROGRAM": "ghostty", "ZELLIJ": "0"],
        [
            "TERM": "tmux-256color", "TMUX": "/tmp/tmux-0/default,1,0", "TERM_PROGRAM": "tmux",
            "TERM_PROGRAM_VERSION": "3.3a",
        ],
        // GNU screen in a tmux that shows progress.
        [
            "TERM": "screen", "STY": "1.pts-0", "TMUX": "/tmp/tmux-0/default,1,0", "TERM_PROGRAM": "tmux",
            "TERM_PROGRAM_VERSION": "3.7",
        ],
    ])
    func `Progress is not sent to others`(variables: [String: String]) {
        #expect(!showsProgress(variables))
    }

    @Test(arguments: [
        (["TERM_PROGRAM": "iTerm.app", "TERM_PROGRAM_VERSION": "3.7.5"], true),
        (["LC_TERMINAL": "iTerm2", "LC_TERMINAL_VERSION": "3.7.5"], true),
        (["TERM_PROGRAM": "iTerm.app", "TERM_PROGRAM_VERSION": "3.7.4"], false), (["LC_TERMINAL": "iTerm2"], false),
        (["TERM_PROGRAM": "iTerm.app", "TERM_PROGRAM_VERSION": "3.7.5", "TMUX": "/tmp/tmux-0/default,1,0"], false),
        (["TERM_PROGRAM": "ghostty", "TERM_PROGRAM_VERSION": "1.4.0"], false), ([:], false),
    ])
    func `The status is reported to terminals that show it`(variables: [String: String], isShown: Bool) {
        let environment = variables.merging(["TERM": "xterm-256color"]) { $1 }
        for (setting, expected) in [(TerminalTitleSettings.When.auto, isShown), (.on, true), (.off, false)] {
            #expect(backend(environment, TerminalTitleSettings(status: setting)).showsStatus == expected)
        }
    }

    @Test(arguments: [
        ("0, 26, 5", false), ("0, 46, 2", false), ("0, 47, 0", true), ("0, 50, 1", true), ("1, 0, 0", true),
    ])
    func `The version of kitty is read from its installation`(version: String, shown: Bool) throws {
        let folder = try TemporaryDirectory()
        try folder.write("appname: str = 'kitty'\nversion: Version = Version(\(version))\n", to: "kitty/constants.py")
        #expect(showsProgress(["TERM": "xterm-kitty", "KITTY_INSTALLATION_DIR": folder.path]) == shown)
    }

    @Test(arguments: [
        (["TERM": "screen", "STY": "1.pts-0"], KnownTerminal.TitleStyle.ascii),
        (["TERM": "xterm-256color", "STY": "1.pts-0"], .ascii),
        (["TERM": "screen.xterm-256color", "STY": "1.pts-0", "KONSOLE_VERSION": "221203"], .ascii),
        // Over SSH, it may be either.
        (["TERM": "screen-256color"], .ascii),
        (["TERM": "screen", "STY": "1.pts-0", "TMUX": "/tmp/tmux-0/default,1,0"], .ascii),
        (["TERM": "screen-256color", "TMUX": "/tmp/tmux-0/default,1,0"], .stack),
        (["TERM": "tmux-256color", "STY": "1.pts-0", "TMUX": "/tmp/tmux-0/default,1,0"], .stack),
        (["TERM": "xterm-256color", "KONSOLE_VERSION": "221203", "XTERM_VERSION": "XTerm(390)"], .emptied),
        (["TERM": "xterm-256color", "WT_SESSION": "6f7a"], .emptied),
        (["TERM": "xterm-256color"], .emptied), (["TERM": "xterm-kitty"], .stack), (["TERM": "alacritty"], .stack),
    ])
    func `Each terminal has its style of title`(variables: [String: String], style: KnownTerminal.TitleStyle) {
        #expect(KnownTerminal.recognize(by: variables).title == style)
    }

    @Test(arguments: [
        ["TERM": "xterm-256color"], ["TERM": "xterm"], ["TERM": "xterm-kitty"], ["TERM": "foot"],
        ["TERM": "alacritty"], ["TERM": "vte-256color", "VTE_VERSION": "7006"], ["TERM": "gnome-256color"],
        ["TERM": "mlterm"], ["TERM": "wezterm"], ["TERM": "contour"], ["TERM": "xterm", "XTERM_VERSION": "XTerm(379)"],
        ["TERM": "tmux-256color", "TMUX": "/tmp/tmux-0/default,1,0"], ["TERM": "xterm-256color", "WT_SESSION": "6f7a"],
        ["TERM": "xterm", "CI": "false"], ["TERM": "xterm", "CI": ""],
    ])
    func `The title is set where it can be restored`(variables: [String: String]) {
        #expect(backend(variables).setsTitle)
        #expect(!backend(variables, TerminalTitleSettings(title: .off)).setsTitle)
    }

    @Test(arguments: [
        // No title, or none that is known.
        [:], ["TERM": "eterm-color", "INSIDE_EMACS": "28.2,term:0.96"], ["TERM": "eterm-color"],
        ["TERM": "xterm-256color", "INSIDE_EMACS": "28.2,compile"],
        ["TERM": "eterm-color", "INSIDE_EMACS": "28.2,term:0.96", "TMUX": "/tmp/tmux-0/default,1,0"],
        ["TERM": "vt100"], ["TERM": "vt220"], ["TERM": "ansi"], ["TERM": "linux"], ["TERM": "unknown"],
        ["TERM": "vt100", "VTE_VERSION": "7006"], ["TERM": "sun"], ["TERM": "stv52"],
        // Each title would make the log of a job longer.
        ["TERM": "xterm-256color", "CI": "true"], ["TERM": "xterm-kitty", "CI": "1"],
        // Their own title would be lost.
        ["TERM": "xterm-256color", "KONSOLE_VERSION": "221203"], ["TERM": "konsole", "KONSOLE_VERSION": "221203"],
        ["TERM": "xterm-256color", "WINDOWID": "0"], ["TERM": "xterm-256color", "NCURSES_NO_UTF8_ACS": "1"],
        ["TERM": "screen", "STY": "1.pts-0"], ["TERM": "screen-256color"],
        ["TERM": "rxvt-unicode-256color"], ["TERM": "st-256color"],
    ])
    func `Other titles are left alone`(variables: [String: String]) {
        #expect(!backend(variables).setsTitle)
        #expect(backend(variables, TerminalTitleSettings(title: .on)).setsTitle)
    }
}
