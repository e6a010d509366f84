import Foundation
import TestSupport
import Testing

/// What a shell's code leaves while the user looks at the terminal, in a real terminal on sway.
@Suite struct TerminalFocusTests {
    @Test(
        "On sway, only a terminal without the focus leaves a notification",
        .enabled(
            if: Sway.isPossible(with: ["/usr/bin/foot", "/usr/bin/swaymsg"]),
            "needs root; Scripts/bootstrap leaves sway out, with foot"
        ),
        arguments: [true, false]
    )
    func sway(isFocused: Bool) async throws {
        let program = try ExecProgram()
        let sway = try await Sway()
        let report = "\(program.path) exec --lasted 20 --after 1 -- true"
        let terminal = try foot(
            """
            touch opened; while [ ! -e reported ]; do sleep 0.02; done
            script -qec '\(report)' log >/dev/null; touch ended
            """,
            in: sway,
            of: program
        )
        func exists(_ file: String) -> Bool { FileManager.default.fileExists(atPath: program.home.appending(file)) }
        #expect(await eventually { exists("opened") }, "\(terminal.errors)")
        let other = try isFocused ? nil : foot("touch other; exec sleep 1000", in: sway, of: program)
        #expect(await eventually { isFocused || exists("other") }, "\(other?.errors ?? "")")
        let focused = other?.processID ?? terminal.processID
        #expect(try await eventually { try await sway.focusedProcess() == focused })
        try program.home.write("", to: "reported")
        #expect(await eventually { exists("ended") })
        #expect(try program.home.read("log").contains("Done after") == !isFocused)
    }

    /// Starts a terminal in the user's home folder.
    private func foot(_ script: String, in sway: Sway, of program: ExecProgram) throws -> Daemon {
        try sway.start(
            "/usr/bin/foot",
            ["--working-directory=\(program.home.path)", "sh", "-c", script],
            environment: program.variables.filter { $0.key != "HOME" && $0.key != "XDG_CONFIG_HOME" }
        )
    }
}
