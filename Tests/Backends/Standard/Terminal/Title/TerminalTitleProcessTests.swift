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

    @Test(arguments: [("return", 0), ("exit", 3), ("exit-on-thread", 3), ("stop", 0)])
    func `The title is restored when the process exits`(mode: String, status: Int) async throws {
        let terminal = try PseudoTerminal()
        let shown = ["TERM_PROGRAM=iTerm.app", "TERM_PROGRAM_VERSION=3.7.5"]
        let ending = try await terminal.run("env", ["-uCI"] + shown + [helper, "title", mode])
        // The title was written to the terminal, although neither standard stream is connected to it.
        #expect(ending.status == status && ending.output == "shown\n" && ending.error == "")
        let emulator = terminal.emulated
        #expect(emulator.titlesSet == ["⠋ Working - helper", ""])
        #expect(emulator.title == "the old title")
        #expect(emulator.saves == 1 && emulator.restores == 1 && emulator.screen == "")
        #expect(emulator.statesSet == ["working", "working", "clear"])
    }

    @Test(.timeLimit(.minutes(10))) func `A stopped terminal does not keep the process from exiting`() async throws {
        let terminal = try PseudoTerminal()
        let ending = try await terminal.run(helper, ["title", "exit-stopped"])
        #expect(ending.status == 3)
        let emulator = terminal.emulated
        #expect(emulator.saves == 1 && emulator.restores == 0 && !emulator.isInsideSequence)
    }

    @Test func `A forked child restores nothing`() async throws {
        let terminal = try PseudoTerminal()
        let ending = try await terminal.run(helper, ["title", "exit-child"])
        #expect(ending.status == 0 && ending.output == "shown\nchild has ended\n" && ending.error == "")
        let emulator = terminal.emulated
        // The parent ended with `_exit`, so only the child could have restored the title.
        #expect(emulator.saves == 1 && emulator.restores == 0)
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
