import IndicatorCore
import TestSupport
import Testing

@testable import DisplayText
@testable import TerminalBackends

@Suite struct TerminalNotificationBackendTests {
    private let terminal: PseudoTerminal

    init() throws {
        terminal = try PseudoTerminal()
    }

    private func makeBackend(
        _ settings: TerminalNotificationSettings,
        _ environment: [String: String]
    ) -> TerminalNotificationBackend {
        TerminalNotificationBackend(
            applicationName: "app",
            settings: settings,
            path: terminal.path,
            environment: environment
        )
    }

    private func activity(_ label: String, _ outcome: ActivityOutcome, seconds: Int = 12) -> FinishedActivity {
        FinishedActivity(label: label, outcome: outcome, duration: .seconds(seconds))
    }

    private func written() -> String { String(decoding: terminal.read(), as: UTF8.self) }

    @Test(arguments: [
        (
            ["TERM": "xterm-kitty"],
            "\u{1B}]99;i=indicator-N:o=unfocused:d=0;a;b\u{1B}\\"
                + "\u{1B}]99;i=indicator-N:o=unfocused:p=body;Failed after 12 s: HTTP; 503\u{1B}\\"
        ),
        (["TERM": "foot"], "\u{1B}]777;notify;a,b;Failed after 12 s: HTTP; 503\u{1B}\\"),
        (["TERM": "xterm", "LC_TERMINAL": "iTerm2"], "\u{1B}]9;a,b: Failed after 12 s: HTTP, 503\u{1B}\\"),
    ])
    func `Each terminal gets its own sequence`(environment: [String: String], expected: String) throws {
        let backend = makeBackend(TerminalNotificationSettings(), environment)
        let notify = try backend.open()
        // No text can end the sequence or begin another one.
        try notify([activity("a;\u{1B}\u{07}\u{9C}b", .failed("HTTP;\u{1B}\\\n503"))])
        let first = written()
        #expect(
            first.replacing(/i=indicator-[0-9]+-[0-9]+/, with: "i=indicator-N")
                == expected.replacing("HTTP; 503", with: "HTTP;\\ 503").replacing("HTTP, 503", with: "HTTP,\\ 503")
        )
        // kitty replaces a notification by another one with the same identifier.
        try notify([activity("a", .failed("HTTP 503"))])
        #expect(!expected.contains("i=") || first.prefix { $0 != ":" } != written().prefix { $0 != ":" })
    }

    @Test func `Only long and selected outcomes are notified`() throws {
        func sent(_ whenDone: WhenDone, _ outcome: ActivityOutcome, seconds: Int = 12) throws -> Bool {
            let backend = makeBackend(TerminalNotificationSettings(whenDone: whenDone), ["TERM": "foot"])
            let notify = try backend.open()
            try notify([activity("A", outcome, seconds: seconds)])
            return !terminal.read().isEmpty
        }
        #expect(try sent(.always, .succeeded) && sent(.always, .unspecified) && sent(.always, .failed("")))
        #expect(try sent(.failures, .failed("")) && !sent(.failures, .succeeded) && !sent(.never, .failed("")))
        #expect(try !sent(.always, .cancelled) && !sent(.always, .succeeded, seconds: 9))
    }

    @Test func `Several are one notification`() throws {
        let backend = makeBackend(TerminalNotificationSettings(), ["TERM": "foot"])
        let notify = try backend.open()
        try notify([
            activity("A", .succeeded), activity("B", .failed("no"), seconds: 200), activity("C", .succeeded),
        ])
        #expect(written() == "\u{1B}]777;notify;B;Failed after 3 min 20 s: no; 2 more have ended\u{1B}\\")
    }

    @Test func `An activity that was never shown is notified`() async throws {
        let indicator = IndicatorManager()
        let settings = TerminalNotificationSettings(after: .zero)
        indicator.addBackend(makeBackend(settings, ["TERM": "foot"]))
        #expect(await eventually { indicator.backendStatuses[0].updatesDelivered > 0 })
        indicator.begin("A").end(.failed("HTTP 503"))
        var output = ""
        #expect(
            await eventually {
                output += written()
                return output == "\u{1B}]777;notify;A;Failed: HTTP 503\u{1B}\\"
            }
        )
        await indicator.shutdown()
        #expect(written() == "")
    }

    @Test func `An unknown terminal is not written to`() throws {
        #expect(throws: TerminalError.showsNoNotifications(terminal: "VTE")) {
            try makeBackend(TerminalNotificationSettings(), ["TERM": "xterm", "VTE_VERSION": "8000"]).open()
        }
        #expect(terminal.read() == [])
    }
}
