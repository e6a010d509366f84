@testable import IndicatorCore
import TestSupport

@testable import IndicatorBackends

@Suite struct TerminalNotificationBackendTests {
    private let terminal: PseudoTerminal

    init() throws { terminal = try PseudoTerminal() }

    private func makeBackend(
        _ settings: TerminalNotificationSettings,
        _ environment: [String: String]
    ) -> TerminalNotificationBackend {
        .init(applicationName: "app", settings: settings, path: terminal.path, environment: environment)
    }

    private func output() -> String { String(decoding: terminal.read(), as: UTF8.self) }

    /// What it writes for activities that have ended, in a session of its own.
    private func written(
        _ finished: FinishedActivity...,
        settings: TerminalNotificationSettings = TerminalNotificationSettings(),
        environment: [String: String] = ["TERM": "foot"]
    ) async throws -> String {
        let driver = BackendDriver(makeBackend(settings, environment))
        try await driver.update(IndicatorUpdate(IndicatorSnapshot(), finished: finished))
        await driver.stop()
        return output()
    }

    @Test(arguments: [
        (
            ["TERM": "xterm-kitty"],
            "\u{1B}]99;i=indicator-N:o=unfocused:d=0;a;b\u{1B}\\"
                + "\u{1B}]99;i=indicator-N:o=unfocused:p=body;Failed after 12 s: HTTP; 503\u{1B}\\"
        ),
        (["TERM": "foot"], "\u{1B}]777;notify;a,b;Failed after 12 s: HTTP; 503\u{1B}\\"),
        (["TERM": "xterm", "LC_TERMINAL": "iTerm2"], "\u{1B}]9;a,b: Failed after 12 s: HTTP, 503\u{1B}\\"),
    ])
    func `Each terminal gets its own sequence`(environment: [String: String], expected: String) async throws {
        // No text can end the sequence or begin another one.
        let text = "a;\u{1B}\u{07}\u{9C}b"
        let first = try await written(FinishedActivity(text, .failed("HTTP;\u{1B}\\\n503")), environment: environment)
        #expect(
            first.replacing(/i=indicator-[0-9]+-[0-9]+/, with: "i=indicator-N")
                == expected.replacing("HTTP; 503", with: "HTTP;\\ 503").replacing("HTTP, 503", with: "HTTP,\\ 503")
        )
        // Also of an activity that was never shown.
        #expect(makeBackend(TerminalNotificationSettings(), environment).delivery.includesHidden)
        // kitty replaces a notification by another one with the same identifier.
        let second = try await written(FinishedActivity("a", .failed("HTTP 503")), environment: environment)
        #expect(!expected.contains("i=") || first.prefix { $0 != ":" } != second.prefix { $0 != ":" })
    }

    @Test(
        "Only long and selected outcomes are notified",
        arguments: [
            (WhenDone.always, ActivityOutcome.succeeded, 12, true), (.always, .unspecified, 12, true),
            (.always, .failed(""), 12, true), (.always, .cancelled, 12, false), (.always, .succeeded, 9, false),
            (.failures, .failed(""), 12, true), (.failures, .succeeded, 12, false), (.never, .failed(""), 12, false),
        ]
    )
    func selection(whenDone: WhenDone, outcome: ActivityOutcome, seconds: Int, isSent: Bool) async throws {
        let settings = TerminalNotificationSettings(whenDone: whenDone)
        let output = try await written(FinishedActivity("A", outcome, seconds: seconds), settings: settings)
        #expect(output.isEmpty == !isSent)
    }

    @Test func `Several are one notification, and those of the next seconds another one`() async throws {
        let driver = BackendDriver(makeBackend(TerminalNotificationSettings(), ["TERM": "foot"]))
        let first: [FinishedActivity] = [.init("A"), .init("B", .failed("no"), seconds: 200), .init("C")]
        try await driver.update(IndicatorUpdate(IndicatorSnapshot(), finished: first))
        #expect(output() == "\u{1B}]777;notify;B;Failed after 3 min 20 s: no; 2 more have ended\u{1B}\\")
        for _ in 0..<60 {
            try await driver.update(IndicatorUpdate(IndicatorSnapshot(), finished: [FinishedActivity("D")]))
        }
        await driver.stop()
        let others = output().matches(of: /D;Done after 12 s(?:; ([0-9]+) more)?/).map { 1 + (Int($0.1 ?? "0") ?? 0) }
        // One, or a few on a busy machine, which needs more than five seconds for this.
        #expect(others.reduce(0, +) == 60 && others.count < 30, "\(others)")
    }

    @Test func `An unknown terminal is not written to`() throws {
        #expect(throws: TerminalError.showsNoNotifications(terminal: "VTE")) {
            try makeBackend(TerminalNotificationSettings(), ["TERM": "xterm", "VTE_VERSION": "8000"]).open()
        }
        #expect(terminal.read() == [])
    }
}
