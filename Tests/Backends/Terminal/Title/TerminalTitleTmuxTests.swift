@testable import TerminalBackends
import TestSupport

/// The title in tmux, a real terminal whose title and screen can be read.
@Suite(.needs("tmux", package: "tmux")) struct TerminalTitleTmuxTests {
    private func makeBackend(_ tmux: Tmux, progress: TerminalTitleSettings.When = .auto) async throws
        -> BackendDriver<TerminalTitleBackend>
    {
        BackendDriver(
            TerminalTitleBackend(
                applicationName: "app",
                settings: TerminalTitleSettings(progress: progress),
                path: try await tmux.terminalPath,
                environment: ["TERM": "tmux-256color", "TMUX": "yes", "VTE_VERSION": "8203", "LANG": "C.UTF-8"]
            )
        )
    }

    private func busy(_ label: String, count: Int = 1) -> IndicatorSnapshot {
        IndicatorSnapshot(state: .active, activityCount: count, label: label)
    }

    @Test func `The old title is restored`() async throws {
        try await Tmux.withServer { tmux in
            try await tmux.command("select-pane", "-T", "the old title")
            let backend = try await makeBackend(tmux).started()
            #expect(try await tmux.title == "the old title")
            for _ in 0..<2 {
                try await backend.update(busy("Fetching äöü 日本"))
                #expect(try await eventually { try await tmux.title == "⠋ Fetching äöü 日本 - app" })
                try await backend.update(busy("Parsing", count: 2))
                #expect(try await eventually { try await tmux.title.hasSuffix("Parsing (2) - app") })
                try await backend.update(IndicatorSnapshot())
                #expect(try await eventually { try await tmux.title == "the old title" })
            }
            try await backend.update(busy("Fetching"))
            #expect(try await eventually { try await tmux.title == "⠋ Fetching - app" })
            await backend.stop()
            #expect(try await eventually { try await tmux.title == "the old title" })
        }
    }

    @Test func `Two backends restore the old title`() async throws {
        try await Tmux.withServer { tmux in
            try await tmux.command("select-pane", "-T", "the old title")
            let first = try await makeBackend(tmux)
            let second = try await makeBackend(tmux)
            try await first.start()
            try await second.start()
            try await first.update(busy("first"))
            try await second.update(busy("second"))
            #expect(try await eventually { try await tmux.title == "⠋ second - app" })
            await first.stop()
            try await second.update(busy("still second"))
            #expect(try await eventually { try await tmux.title.hasSuffix("still second - app") })
            await second.stop()
            #expect(try await eventually { try await tmux.title == "the old title" })
        }
    }
}
