import TestSupport

/// The terminals of the real Emacs, in tmux.
@Suite(.needs("tmux", package: "tmux")) struct EmacsTests {
    @Test(
        .needs("emacs", package: "emacs-nox", tier: .nightly),
        arguments: ["(ansi-term \"%\")", "(compile \"%\" t)", "(compile \"%\")"]
    )
    func `Emacs shows no title as text: neither in its terminal nor in its compilations`(start: String) async throws {
        let folder = try TemporaryDirectory("indicator-emacs")
        let helper = try Command.built("test-probe")
        let config = try folder.write("startDelay: 0\nbackends: [terminalTitle]\n", to: "config.yaml")
        let script = try folder.write(
            "#!/bin/sh\n'\(helper)' signals '\(config)' terminal\necho all done; sleep 1000\n",
            to: "run"
        )
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: script)
        let lisp = try folder.write(start.replacing("%", with: script), to: "start.el")
        try await Tmux.withServer { tmux in
            // Emacs compiles what it loads, and leaves files.
            let variables = "HOME='\(folder.path)' TMPDIR='\(folder.path)' LC_ALL=C.UTF-8"
            try await tmux.type("\(variables) exec emacs -nw -Q -l '\(lisp)'")
            var screen = ""
            try await expectEventually("\(screen)") {
                screen = try await tmux.screen
                return screen.contains("shown")
            }
            for text in ["]0;", "]2;", "^[", "\\033", "22;0t", "Working"] {
                #expect(!screen.contains(text), "\(screen)")
            }
        }
    }
}
