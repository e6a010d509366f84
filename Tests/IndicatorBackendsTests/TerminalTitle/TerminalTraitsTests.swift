import Testing

@testable import IndicatorBackends

@Suite struct TerminalTraitsTests {
    @Test(arguments: [
        ["WT_SESSION": "6f7a"],
        ["ConEmuANSI": "ON"],
        ["VTE_VERSION": "7900"], ["VTE_VERSION": "8203"],
        ["TERM_PROGRAM": "ghostty", "TERM_PROGRAM_VERSION": "1.2.0"],
        ["TERM_PROGRAM": "WezTerm", "TERM_PROGRAM_VERSION": "20250209-182623-44866cc1"],
        ["TERM_PROGRAM": "iTerm.app", "TERM_PROGRAM_VERSION": "3.6.6"],
        ["TERM_PROGRAM": "iTerm.app", "TERM_PROGRAM_VERSION": "3.10.0beta2"],
        ["LC_TERMINAL": "iTerm2", "LC_TERMINAL_VERSION": "3.6.9"],
        ["TERM_FEATURES": "T3CwLrMSc7UUw9Ts3BFGsSyHNoSxP"], ["TERM_FEATURES": "PT3"],
    ])
    func progressIsShownByTerminalsThatAreKnownTo(variables: [String: String]) {
        let environment = variables.merging(["TERM": "xterm-256color"]) { first, _ in first }
        #expect(TerminalTraits(environment: environment).showsProgress)
    }

    @Test(arguments: [
        [:],
        ["TERM": "linux", "WT_SESSION": "6f7a"],
        ["VTE_VERSION": "7802"], ["VTE_VERSION": ""], ["VTE_VERSION": "new"],
        ["TERM_PROGRAM": "WezTerm", "TERM_PROGRAM_VERSION": "20240203-110809-5046fc22"], ["TERM_PROGRAM": "WezTerm"],
        ["TERM_PROGRAM": "iTerm.app", "TERM_PROGRAM_VERSION": "3.5.14"], ["TERM_PROGRAM": "iTerm.app"],
        ["LC_TERMINAL": "iTerm2"], ["TERM_PROGRAM": "Apple_Terminal"], ["TERM_PROGRAM": "vscode"],
        ["TERM_FEATURES": "T3CwPx"],
        // Started from a terminal that shows progress, in one that does not.
        ["WT_SESSION": "6f7a", "XTERM_VERSION": "XTerm(390)"],
        ["TERM": "xterm-kitty", "VTE_VERSION": "8203"], ["KITTY_WINDOW_ID": "1", "TERM_PROGRAM": "ghostty"],
        // Multiplexers take the sequence for themselves, or for a notification.
        ["WT_SESSION": "6f7a", "TMUX": "/tmp/tmux-0/default,1,0"], ["VTE_VERSION": "8203", "STY": "1.pts-0"],
        ["VTE_VERSION": "8203", "TERM": "screen-256color"], ["VTE_VERSION": "8203", "TERM": "tmux-256color"],
        ["TERM_PROGRAM": "ghostty", "ZELLIJ": "0"],
    ])
    func otherTerminalsAreLeftAlone(variables: [String: String]) {
        let environment = variables.merging(["TERM": "xterm-256color"]) { first, _ in first }
        #expect(!TerminalTraits(environment: environment).showsProgress)
    }

    @Test(arguments: [
        ["KONSOLE_VERSION": "240202"], ["WT_SESSION": "6f7a"], ["TERM": "rxvt-unicode-256color"],
        ["TERM": "st-256color"],
    ])
    func terminalsWithoutATitleStackAreKnown(variables: [String: String]) {
        #expect(!TerminalTraits(environment: variables).hasTitleStack)
    }

    @Test(arguments: [
        ["TERM": "xterm"], ["TERM": "tmux-256color", "KONSOLE_VERSION": "240202", "TMUX": "/tmp/tmux-0/default,1,0"],
        ["TERM": "xterm-256color", "VTE_VERSION": "7802"], ["TERM": "stterm"],
    ])
    func aTitleStackIsAssumedElsewhere(variables: [String: String]) {
        #expect(TerminalTraits(environment: variables).hasTitleStack)
    }
}
