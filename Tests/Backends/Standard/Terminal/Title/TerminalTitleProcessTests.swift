import TestSupport

extension PseudoTerminal {
    /// A terminal after what was written since the last reading.
    var emulated: TitleEmulator {
        var emulator = TitleEmulator()
        emulator.receive(read())
        return emulator
    }
}

/// What a real process writes to its controlling terminal, and what remains on it.
@Suite struct TerminalTitleProcessTests {
    private let helper: String

    init() throws { helper = try Command.built("test-probe") }

    @Test(
        .timeLimit(.minutes(10)),
        arguments: [
            ("return", 0, 1), ("exit", 3, 1), ("exit-on-thread", 3, 1), ("stop", 0, 1),
            // A stopped terminal does not keep the process from exiting.
            ("exit-stopped", 3, 0),
            // The parent ends with `_exit`, so only a forked child could restore the title.
            ("exit-child", 0, 0),
        ]
    )
    func `The title is restored when the process exits, and by no other`(mode: String, status: Int, restores: Int)
        async throws
    {
        let terminal = try PseudoTerminal()
        let shown = ["TERM_PROGRAM=iTerm.app", "TERM_PROGRAM_VERSION=3.7.5"]
        let ending = try await terminal.run("env", ["-uCI"] + shown + [helper, "title", mode])
        // The title was written to the terminal, although neither standard stream is connected to it.
        #expect(ending.status == status && ending.output.hasPrefix("shown\n") && ending.error == "")
        let emulator = terminal.emulated
        #expect(emulator.saves == 1 && emulator.restores == restores && emulator.screen == "")
        #expect(
            emulator.titlesSet == ["⠋ Working - helper"] + (restores == 1 ? [""] : []) && !emulator.isInsideSequence
        )
        #expect(emulator.statesSet == ["working", "working"] + (restores == 1 ? ["clear"] : []))
        #expect(restores == 0 || emulator.title == "the old title")
    }

    @Test func `Without a terminal nothing is written anywhere`() async throws {
        let ending = try await Command.run(helper, ["title", "return"], isSession: true)
        let text = """
            the process has no controlling terminal; start the app in a terminal; a service, a cron job or a container \
            without 'docker run -t' has none

            """
        #expect(ending.status == 0 && ending.output == text && ending.error == "")
    }

    @Test(.timeLimit(.minutes(10))) func `A background job is not stopped by the terminal`() async throws {
        let terminal = try PseudoTerminal()
        // With `set -m` the job is a separate process group in the background; `tostop` stops it when it writes.
        let script = "stty tostop < /dev/tty; set -m; \(helper) title stop & wait $!; echo status $?"
        let ending = try await terminal.run("sh", ["-c", script])
        #expect(ending.output == "shown\nstatus 0\n")
        let emulator = terminal.emulated
        #expect(emulator.saves == 1 && emulator.restores == 1)
    }
}
