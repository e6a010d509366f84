@testable import BackendConfiguration
@testable import TerminalBackends
import IndicatorCore
import IndicatorTesting
import Logging
import TestSupport
import Testing

@Suite struct TerminalTitleKindTests {
    private let context = BackendContext(name: "title", applicationName: "app", logger: Logger(label: "test"))

    @Test func `A backend is created from settings`() async throws {
        let terminal = try PseudoTerminal()
        let kind = BackendKind.terminalTitle(path: terminal.path, environment: ["TERM": "xterm"])
        let backend = try kind.with(["format": "busy: {label}", "progress": "on"]).make(context)
        #expect(backend.name == "title")
        let driver = try await BackendDriver(try #require(backend as? TerminalTitleBackend)).started()
        try await driver.update(IndicatorSnapshot(state: .active, activityCount: 1, label: "Work"))
        await driver.stop()
        var emulator = TitleEmulator()
        emulator.receive(terminal.read())
        #expect(emulator.titlesSet == ["busy: Work", ""])
        #expect(emulator.progressesSet == ["3", "0"])
    }

    @Test func `The defaults are those of the settings`() throws {
        #expect(BackendKind.terminalTitle.name == "terminalTitle")
        let kind = BackendKind.terminalTitle(path: "/dev/tty", environment: ["TERM": "xterm"])
        let backend = try kind.with().make(context)
        #expect(backend.delivery.animationInterval == .milliseconds(100))
        #expect(kind.settings.allSatisfy { $0.standard != nil })
    }

    @Test func `A format is checked before a backend is created`() throws {
        let error = #expect(throws: ConfigurationError.self) {
            try BackendKind.terminalTitle.with(["format": "{lable}"])
        }
        let problem = "unknown placeholder '{lable}' at character 1, did you mean '{label}'? For a brace, write '{{'"
        let message = "expected a format with known placeholders (\(problem)), found '{lable}'"
        #expect(error?.mistakes.map(\.message) == [message])
    }

    @Test func `Availability names the terminal and writes nothing`() async throws {
        let terminal = try PseudoTerminal()
        let kind = BackendKind.terminalTitle(path: terminal.path, environment: ["TERM": "xterm"])
        #expect(try await kind.with().availability(context) == .success(terminal.path))
        let place = try await kind.with(["status": "on"]).availability(context)
        #expect(place == .success("\(terminal.path), for the title and the status (OSC 7501)"))
        let konsole = ["TERM": "xterm-256color", "KONSOLE_VERSION": "260400"]
        let progress = try await BackendKind.terminalTitle(path: terminal.path, environment: konsole).with()
            .availability(context)
        #expect(progress == .success("\(terminal.path), for the progress (OSC 9;4)"))
        #expect(terminal.read() == [])
    }

    @Test func `It is skipped without a terminal but not if one fails`() throws {
        let terminal = try PseudoTerminal()
        func isApplicable(_ path: String, _ type: String?) throws -> Bool {
            let kind = BackendKind.terminalTitle(path: path, environment: type.map { ["TERM": $0] } ?? [:])
            return try kind.with().isApplicable(context)
        }
        #expect(try isApplicable(terminal.path, "xterm"))
        #expect(try !isApplicable(terminal.path, "dumb") && !isApplicable(terminal.path, nil))
        #expect(try isApplicable("/dev/null/missing", "xterm"))
    }

    @Test func `A title that is not written wakes nobody`() throws {
        let environment = ["TERM": "xterm-256color", "KONSOLE_VERSION": "260401"]
        let kind = BackendKind.terminalTitle(path: "/dev/tty", environment: environment)
        let backend = try kind.with().make(context)
        #expect(backend.delivery.animationInterval == nil)
    }

    @Test func `Accessible stops the animation`() async throws {
        let terminal = try PseudoTerminal()
        let kind = BackendKind.terminalTitle(path: terminal.path, environment: ["TERM": "xterm", "LANG": "C.UTF-8"])
        var context = context
        context.isAccessible = true
        let backend = try kind.with().make(context)
        #expect(backend.delivery.animationInterval == nil)
        let driver = try await BackendDriver(try #require(backend as? TerminalTitleBackend)).started()
        try await driver.update(IndicatorSnapshot(state: .active, activityCount: 1, label: "Work"))
        await driver.stop()
        var emulator = TitleEmulator()
        emulator.receive(terminal.read())
        #expect(emulator.titlesSet.first == "Work - app")
    }

    @Test func `Unavailability has a reason and help`() async throws {
        let terminal = try PseudoTerminal()
        let dumb = BackendKind.terminalTitle(path: terminal.path, environment: ["TERM": "dumb"])
        #expect(
            try await dumb.with().availability(context)
                == .failure(Unavailability(reason: "the terminal does not support control sequences (TERM is 'dumb')"))
        )
        let vt100 = BackendKind.terminalTitle(path: terminal.path, environment: ["TERM": "vt100"])
        #expect(
            try await vt100.with().availability(context)
                == .failure(Unavailability(reason: "this terminal (vt100) is not known to have a title"))
        )
        #expect(try !vt100.with().isApplicable(context))
        // `auto` gives the same answer.
        for (type, title, isChosen) in [("vt100", "auto", false), ("vt100", "on", true), ("xterm", "auto", true)] {
            let kind = BackendKind.terminalTitle(path: terminal.path, environment: ["TERM": type])
            #expect(try kind.with(["title": .string(title)]).fit?(context).isChosen == isChosen, "\(type)")
        }
        let file = BackendKind.terminalTitle(path: "/dev/null", environment: ["TERM": "xterm"])
        #expect(
            try await file.with().availability(context)
                == .failure(Unavailability(reason: "/dev/null is not a terminal"))
        )
    }
}
