@testable import IndicatorCore
import TestSupport

@testable import IndicatorBackends

/// The title in real terminals under Xvfb, read from their windows, in the bytes that GNU screen passes on, and in
/// Emacs.
@Suite("Real terminals", .serialized, .timeLimit(.minutes(10)))
struct RealTerminalTests {
    private let folder: TemporaryDirectory

    init() throws {
        folder = try TemporaryDirectory("indicator-terminal", endsProcesses: true)
        try folder.write("startDelay: 0\nbackends: [terminalTitle]\n", to: "config.yaml")
        // The terminal stays open after the work has ended, until the folder is removed.
        let script = try folder.write(
            """
            #!/bin/sh
            '\(Command.built("test-probe"))' app '\(folder.path)/config.yaml' terminal | tee '\(folder.path)/output'
            touch '\(folder.path)/ended'
            while [ -e '\(folder.path)/run' ]; do sleep 0.1; done

            """,
            to: "run"
        )
        chmod(script, 0o755)
    }

    /// Debian's kitty would turn the sequence for progress into a notification.
    @Test(
        .needs(.terminals),
        .needs("kitty", package: "kitty"),
        .needs(.bus),
        .needs(.screen),
        arguments: [
            (["xterm", "-u8", "-T", "mine", "-e"], "mine"), (["kitty", "-o", "linux_display_server=x11"], "sh"),
        ]
    )
    func `show the title, restore it, and raise no notification`(terminal: [String], own: String) async throws {
        let bus = try await PrivateBus()
        let monitor = try await NotifyMonitor(bus)
        let screen = try await Screen(size: "800x600")
        let environment = ["DBUS_SESSION_BUS_ADDRESS": bus.address, "LIBGL_ALWAYS_SOFTWARE": "1"]
        let daemon = try start(terminal, on: screen.display, environment)
        var shown: [String] = []
        try await expectEventually("\(shown) \(daemon.errors)") {
            shown = try await titles(on: screen)
            return shown.contains { $0.contains("Working - helper") }
        }
        try await endHelper()
        try await expectEventually("\(shown)") {
            shown = try await titles(on: screen)
            return shown.contains { $0.hasSuffix(own) } && !shown.contains { $0.contains("Working") }
        }
        try await monitor.catchUp()
        #expect(monitor.shown == [])
    }

    @Test(
        .needs(.terminals),
        .needs(.screen),
        arguments: [
            (["qterminal", "-e"], "Shell No. 1"), (["urxvt", "-T", "mine –", "-e"], "mine –"),
            (["st", "-t", "mine", "-e"], "mine"), (["xterm", "-u8", "-T", "mine", "-e", "screen", "-U"], "mine"),
        ]
    )
    func `keep a title that could not be restored`(terminal: [String], own: String) async throws {
        let screen = try await Screen(size: "800x600")
        let daemon = try start(terminal, on: screen.display)
        #expect(await eventually { (try? folder.read("output"))?.contains("shown") == true }, "\(daemon.errors)")
        try await endHelper()
        #expect(await eventually { FileManager.default.fileExists(atPath: folder.appending("ended")) })
        // A title that was set would not return. The terminal may show its own one later than it starts programs.
        try await expectEventually { try await titles(on: screen).contains { $0.hasSuffix(own) } }
    }

    @Test(.needs(["mosh-server": "mosh", "tmux": "tmux"])) func `mosh keeps its title`() async throws {
        try folder.write(
            "printf '\\033]0;own\\007'\n" + (try folder.read("run")).replacing("touch", with: "echo all done; touch"),
            to: "run"
        )
        let server = try start(["mosh-server", "new", "-i", "127.0.0.1", "--"], on: "")
        #expect(await eventually { server.output.contains("MOSH CONNECT") }, "\(server.errors)")
        let found = try #require(server.output.firstMatch(of: /MOSH CONNECT (\d+) (\S+)/))
        try await Tmux.withServer { tmux in
            try await tmux.type("MOSH_KEY=\(found.2) mosh-client 127.0.0.1 \(found.1)")
            #expect(try await eventually { try await tmux.title == "[mosh] own" })
            #expect(await eventually { (try? folder.read("output"))?.contains("shown") == true })
            try await endHelper()
            // It arrives together with the title.
            #expect(try await eventually { try await tmux.screen.contains("all done") })
            #expect(try await tmux.title == "[mosh] own")
        }
    }

    @Test(.needs("screen", package: "screen"))
    func `GNU screen passes no bell and no character of the title on to the screen`() async throws {
        try folder.write("startDelay: 0\nbackends: [terminalTitle]\nterminalTitle: {title: on}\n", to: "config.yaml")
        let terminal = try PseudoTerminal()
        let streams = "</dev/tty >/dev/tty 2>/dev/tty"
        let command = "SCREENDIR='\(folder.path)' exec screen -U -c /dev/null sh '\(folder.path)/run' \(streams)"
        let ending = Task { try await terminal.run("sh", ["-c", command]) }
        var emulator = TitleEmulator()
        // More than a turn of the spinner.
        await expectEventually {
            emulator.receive(terminal.read())
            return emulator.titlesSet.count > 24
        }
        try await endHelper()
        await expectEventually {
            emulator.receive(terminal.read())
            return !emulator.title.contains("Working")
        }
        terminal.hangUp()
        _ = try await ending.value
        #expect(emulator.titlesSet.contains("| Working - helper"))
        #expect(emulator.titlesSet.allSatisfy { $0.allSatisfy(\.isASCII) })
        #expect(!emulator.screen.contains("\u{7}") && !emulator.screen.contains("Working"))
    }

    @Test(
        .needs("tmux", package: "tmux"),
        .needs("emacs", package: "emacs-nox", tier: .nightly),
        arguments: ["(ansi-term \"%\")", "(compile \"%\" t)", "(compile \"%\")"]
    )
    func `Emacs shows no title as text: neither in its terminal nor in its compilations`(start: String) async throws {
        let lisp = try folder.write(start.replacing("%", with: folder.appending("run")), to: "start.el")
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

    private func start(_ terminal: [String], on display: String, _ environment: [String: String] = [:]) throws -> Daemon
    {
        let variables = [
            "DISPLAY": display, "QT_QPA_PLATFORM": "xcb", "XDG_RUNTIME_DIR": folder.path, "HOME": folder.path,
            "LC_ALL": "C.UTF-8", "SCREENDIR": folder.path,
            // With Debian's settings, GNU screen itself sets a title.
            "SYSSCREENRC": "/dev/null",
            // Of the terminal in which the tests run.
            "TMUX": "", "STY": "", "TERM": "", "TERM_PROGRAM": "", "VTE_VERSION": "", "KONSOLE_VERSION": "",
            "WAYLAND_DISPLAY": "",
        ]
        return try Daemon(
            terminal + ["sh", folder.appending("run")],
            environment: variables.merging(environment) { $1 }
        )
    }

    private func titles(on screen: Screen) async throws -> [String] {
        try await screen.run("xwininfo", ["-root", "-tree"], package: "x11-utils").matches(of: #/"(.*?)": /#)
            .map { String($0.1) }
    }

    private func endHelper() async throws {
        var processID: pid_t?
        // Its output may arrive after its title.
        await expectEventually {
            let output = (try? folder.read("output")) ?? ""
            processID = output.firstMatch(of: /pid (\d+)\n/).flatMap { pid_t($0.1) }
            return processID != nil
        }
        kill(try #require(processID), SIGTERM)
    }
}
