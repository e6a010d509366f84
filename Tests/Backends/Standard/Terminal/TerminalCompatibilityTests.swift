import TestSupport

@testable import IndicatorBackends

/// The backends of this module on pseudo terminals. They hang, and another one takes the place of one that is closed.
@Suite final class TerminalCompatibilityTests: Sendable {
    private let folder: TemporaryDirectory
    /// A link to the terminal.
    private let path: String
    private let terminal: Locked<PseudoTerminal>
    private let screen = Locked(ScreenEmulator(columns: 80, rows: 24))
    private let title = Locked(TitleEmulator())

    init() throws {
        folder = try TemporaryDirectory()
        path = folder.appending("terminal")
        let terminal = try PseudoTerminal()
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: terminal.path)
        self.terminal = Locked(terminal)
    }

    private var current: PseudoTerminal { terminal.withLock { $0 } }

    private func close() throws {
        current.hangUp()
        try FileManager.default.removeItem(atPath: path)
    }

    private func open() throws {
        let new = try PseudoTerminal()
        terminal.withLock { $0 = new }
        title.withLock { $0 = TitleEmulator() }
        screen.withLock { $0 = ScreenEmulator(columns: 80, rows: 24) }
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: new.path)
    }

    /// The terminal. A descriptor of the app becomes that of the one that is opened.
    private func surface(
        isTaken: Bool = true,
        replacing descriptor: Int32? = nil,
        _ shown: (@Sendable ([UInt8]) -> String)? = nil
    ) -> BackendCompatibility.Surface {
        BackendCompatibility.Surface(
            take: isTaken ? { @Sendable [self] in try close() } : nil,
            giveBack: { [self] in
                try open()
                guard let descriptor else { return }
                let new = try #require(FileHandle(forUpdatingAtPath: path))
                dup2(new.fileDescriptor, descriptor)
                withExtendedLifetime(new) {}
            },
            hang: { [self] in current.stopOutput() },
            goOn: { [self] in current.startOutput() },
            shown: shown.map { shown in { @Sendable [self] in shown(current.read()) } }
        )
    }

    @Test(arguments: BackendCompatibility.Case.allCases)
    func `The title does what every backend must`(_ expectation: BackendCompatibility.Case) async throws {
        let environment = ["TERM": "xterm-ghostty", "LC_ALL": "C.UTF-8"]
        // Without a spinner, which may move between two equal snapshots.
        let settings = TerminalTitleSettings(accessible: true)
        let suite = BackendCompatibility(
            make: { [path] in
                TerminalTitleBackend(applicationName: "app", settings: settings, path: path, environment: environment)
            },
            surface: surface { [self] bytes in
                title.withLock { title in
                    title.receive(bytes)
                    return title.title
                }
            }
        )
        try await suite.check(expectation)
    }

    @Test(arguments: BackendCompatibility.Case.allCases)
    func `Bars do what every backend must`(_ expectation: BackendCompatibility.Case) async throws {
        let file = try #require(FileHandle(forUpdatingAtPath: path))
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
            // The app's descriptor becomes that of another terminal. One that is closed at first is like a file.
            surface: surface(isTaken: expectation == .recovers, replacing: file.fileDescriptor) { [self] bytes in
                screen.withLock { screen in
                    screen.receive(String(decoding: bytes, as: UTF8.self))
                    return screen.lines.joined(separator: "\n")
                }
            }
        )
        try await suite.check(expectation)
    }

    @Test(arguments: BackendCompatibility.Case.allCases)
    func `Notifications do what every backend must`(_ expectation: BackendCompatibility.Case) async throws {
        let suite = BackendCompatibility(
            make: { [path] in
                TerminalNotificationBackend(applicationName: "app", path: path, environment: ["TERM": "foot"])
            },
            // It writes only when work has ended.
            surface: surface(isTaken: expectation != .recovers)
        )
        try await suite.check(expectation)
    }
}
