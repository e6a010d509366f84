import TestSupport

/// What a shell's code leaves while the user looks at the terminal, in a real terminal on sway.
@Suite(
    .needs(.root),
    .needs(.sway, .nightly),
    .needs("foot", package: "foot", tier: .nightly),
    .needs("wtype", package: "wtype", tier: .nightly)
)
struct TerminalFocusTests {
    @Test("On sway, only a terminal without the focus leaves a notification", arguments: [true, false])
    func sway(isFocused: Bool) async throws {
        let program = try TestedProgram()
        try program.configure("")
        let terminals = try await report(isFocused: isFocused, of: program)
        #expect(try program.home.read("log").contains("Done after") == !isFocused)
        withExtendedLifetime(terminals) {}
    }

    @Test(
        "Where the focus cannot be asked for, foot notifies instead of the desktop, and only without the focus",
        arguments: [true, false],
        [nil, "whenDone: always", "whenDone: never", "whenDone: failures"]
    )
    func foot(isFocused: Bool, setting: String?) async throws {
        let (bus, server, monitor) = try await PrivateBus.withNotifications()
        let program = try TestedProgram(bus: bus)
        try program.configure(setting.map { "backends: [desktopNotification]\ndesktopNotification: {\($0)}\n" } ?? "")
        let terminals = try await report(isFocused: isFocused, asking: false, of: program)
        // The config file's `never` stands for its own notification of work, not for that of commands.
        let isWanted = setting != "whenDone: failures"
        #expect(try program.home.read("log").contains("Done after") == isWanted)
        func isShown() -> Bool { FileManager.default.fileExists(atPath: program.home.appending("shown")) }
        if isWanted, !isFocused { #expect(await eventually { isShown() }) }
        #expect(!isShown() || isWanted && !isFocused)
        try await monitor.catchUp()
        #expect(monitor.shown.isEmpty)
        withExtendedLifetime((server, terminals)) {}
    }

    /// Reports a command in a terminal; `log` has what arrives in it. `shown` is made when it notifies.
    ///
    /// - Returns: what runs until it is released.
    private func report(isFocused: Bool, asking: Bool = true, of program: TestedProgram) async throws -> [Any] {
        let sway = try await Sway()
        let variables = "\(asking ? "" : "-u SWAYSOCK") INDICATOR_CONFIG=config/indicator/indicator.yaml"
        let report = "env \(variables) \(program.path) exec --lasted 20 --after 1 -- true"
        // It tells of its focus (mode 1004), and, asked for its attributes, that it has read what came before.
        let terminal = try foot(
            """
            stty raw -echo; cat </dev/tty >answers & printf '\\033[?1004h\\033[c'
            while [ ! -e reported ]; do sleep 0.02; done
            script -qec '\(report)' log </dev/null >/dev/null; cat log; printf '\\033[c'; wait
            """,
            in: sway,
            of: program
        )
        func answers() -> String { (try? program.home.read("answers")) ?? "" }
        #expect(await eventually { answers().hasSuffix("c") }, "\(terminal.errors)")
        // Without a keyboard, no window has its focus.
        let keyboard = try sway.start("/usr/bin/wtype", ["-s", "1000000"])
        #expect(await eventually { answers().hasSuffix("\u{1B}[I") }, "\(keyboard.errors)")
        let other = try isFocused ? nil : foot("exec sleep 1000", in: sway, of: program)
        #expect(await eventually { answers().hasSuffix(isFocused ? "\u{1B}[I" : "\u{1B}[O") })
        #expect(try await eventually { try await sway.focusedProcess() == (other ?? terminal).processID })
        try program.home.write("", to: "reported")
        #expect(await eventually { answers().hasSuffix("c") })
        return [sway, keyboard, terminal, other as Any]
    }

    /// Starts a terminal in the user's home folder.
    private func foot(_ script: String, in sway: Sway, of program: TestedProgram) throws -> Daemon {
        let configuration = try program.home.write("notify=touch \(program.home.appending("shown"))\n", to: "foot.ini")
        return try sway.start(
            "/usr/bin/foot",
            ["--config=\(configuration)", "--working-directory=\(program.home.path)", "sh", "-c", script],
            environment: program.variables.filter { $0.key != "HOME" && $0.key != "XDG_CONFIG_HOME" }
        )
    }
}
