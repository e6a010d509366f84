import Foundation
import IndicatorCore
import IndicatorTesting
import IndicatorThreads
import TestSupport
import Testing

@testable import TerminalBackends

/// The backends of this module on pseudo terminals.
@Suite final class TerminalCompatibilityTests: Sendable {
    private let terminal: PseudoTerminal
    private let screen = Locked(ScreenEmulator(columns: 80, rows: 24))
    private let title = Locked(TitleEmulator())

    init() throws {
        terminal = try PseudoTerminal()
        terminal.setSize(columns: 80, rows: 24)
    }

    @Test(arguments: BackendCompatibility.Case.allCases)
    func `The title`(_ expectation: BackendCompatibility.Case) async throws {
        let environment = ["TERM": "xterm-ghostty", "LC_ALL": "C.UTF-8"]
        // Without a spinner, which may move between two equal snapshots.
        let settings = TerminalTitleSettings(accessible: true)
        let suite = BackendCompatibility(
            make: { [terminal] in
                TerminalTitleBackend(
                    applicationName: "app",
                    settings: settings,
                    path: terminal.path,
                    environment: environment
                )
            },
            surface: BackendCompatibility.Surface(shown: { [self] in
                let bytes = terminal.read()
                return title.withLock { title in
                    title.receive(bytes)
                    return title.title
                }
            })
        )
        try await suite.check(expectation)
    }

    @Test(arguments: BackendCompatibility.Case.allCases)
    func `Bars`(_ expectation: BackendCompatibility.Case) async throws {
        let file = try #require(FileHandle(forUpdatingAtPath: terminal.path))
        let environment = ["TERM": "xterm", "LANG": "C.UTF-8"]
        // Only the lines below the cursor are restored; lines of ended activities stay.
        let settings = TerminalProgressSettings(finished: .none, template: try LineTemplate("{label}  {progress}"))
        let suite = BackendCompatibility(
            make: {
                TerminalProgressBackend(
                    applicationName: "app",
                    settings: settings,
                    descriptor: file.fileDescriptor,
                    environment: environment
                )
            },
            surface: BackendCompatibility.Surface(shown: { [self] in
                let text = String(decoding: terminal.read(), as: UTF8.self)
                return screen.withLock { screen in
                    screen.receive(text)
                    return screen.lines.joined(separator: "\n")
                }
            })
        )
        try await suite.check(expectation)
    }

    @Test(arguments: BackendCompatibility.Case.allCases)
    func `Notifications`(_ expectation: BackendCompatibility.Case) async throws {
        let suite = BackendCompatibility(make: { [terminal] in
            TerminalNotificationBackend(applicationName: "app", path: terminal.path, environment: ["TERM": "foot"])
        })
        try await suite.check(expectation)
    }
}
