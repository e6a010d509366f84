@testable import BackendConfiguration
@testable import TerminalBackends
import IndicatorCore
import Logging
import TestSupport
import Testing

@Suite struct TerminalTitleKindTests {
    private let context = BackendContext(name: "title", applicationName: "app", logger: Logger(label: "test"))

    @Test func `A backend is created from settings`() async throws {
        let terminal = try PseudoTerminal()
        let kind = BackendKind.terminalTitle(path: terminal.path, environment: ["TERM": "xterm"])
        let settings = try kind.values(["format": "busy: {label}", "progress": "on"])
        let backend = try kind.make(context, settings)
        #expect(backend.name == "title")
        try await backend.start()
        try await backend.update(IndicatorSnapshot(state: .active, activityCount: 1, label: "Work"))
        await backend.stop()
        var emulator = TitleEmulator()
        emulator.receive(terminal.read())
        #expect(emulator.titlesSet == ["busy: Work", ""])
        #expect(emulator.progressesSet == ["3", "0"])
    }

    @Test func `The defaults are those of the settings`() throws {
        #expect(BackendKind.terminalTitle.name == "terminalTitle")
        let kind = BackendKind.terminalTitle(path: "/dev/tty", environment: ["TERM": "xterm"])
        let backend = try kind.make(context, [:])
        #expect(backend.delivery.animationInterval == .milliseconds(100))
        #expect(kind.settings.allSatisfy { $0.defaultValue != nil })
    }

    @Test func `A format is checked before a backend is created`() throws {
        let error = try #require(throws: (any Error).self) {
            try BackendKind.terminalTitle.values(["format": "{lable}"])
        }
        let problem = "unknown placeholder '{lable}' at character 1, did you mean '{label}'?"
        #expect("\(error)" == "expected a format with known placeholders (\(problem)), found '{lable}'")
    }

    @Test func `Availability names the terminal and writes nothing`() async throws {
        let terminal = try PseudoTerminal()
        let kind = BackendKind.terminalTitle(path: terminal.path, environment: ["TERM": "xterm"])
        #expect(await kind.availability(context, [:]) == .success(terminal.path))
        #expect(terminal.read() == [])
    }

    @Test func `It is skipped without a terminal but not if one fails`() throws {
        let terminal = try PseudoTerminal()
        func isApplicable(_ path: String, _ type: String?) -> Bool {
            let kind = BackendKind.terminalTitle(path: path, environment: type.map { ["TERM": $0] } ?? [:])
            return kind.isApplicable(context, [:])
        }
        #expect(isApplicable(terminal.path, "xterm"))
        #expect(!isApplicable(terminal.path, "dumb") && !isApplicable(terminal.path, nil))
        #expect(isApplicable("/dev/null/missing", "xterm"))
    }

    @Test
    func `A title that is not written wakes nobody`() throws {
        let environment = ["TERM": "xterm-256color", "KONSOLE_VERSION": "260401"]
        let kind = BackendKind.terminalTitle(path: "/dev/tty", environment: environment)
        let backend = try kind.make(context, [:])
        #expect(backend.delivery.animationInterval == nil)
    }

    @Test func `Accessible stops the animation`() async throws {
        let terminal = try PseudoTerminal()
        let kind = BackendKind.terminalTitle(path: terminal.path, environment: ["TERM": "xterm", "LANG": "C.UTF-8"])
        var context = context
        context.isAccessible = true
        let backend = try kind.make(context, [:])
        #expect(backend.delivery.animationInterval == nil)
        try await backend.start()
        try await backend.update(IndicatorSnapshot(state: .active, activityCount: 1, label: "Work"))
        await backend.stop()
        var emulator = TitleEmulator()
        emulator.receive(terminal.read())
        #expect(emulator.titlesSet.first == "Work - app")
    }

    @Test func `Unavailability has a reason and help`() async throws {
        let terminal = try PseudoTerminal()
        let dumb = BackendKind.terminalTitle(path: terminal.path, environment: ["TERM": "dumb"])
        #expect(
            await dumb.availability(context, [:])
                == .failure(
                    Unavailability(
                        reason: "the terminal does not support control sequences (TERM is 'dumb')"
                    )
                )
        )
        let vt100 = BackendKind.terminalTitle(path: terminal.path, environment: ["TERM": "vt100"])
        #expect(
            await vt100.availability(context, [:])
                == .failure(
                    Unavailability(
                        reason: "this terminal (vt100) is not known to have a title"
                    )
                )
        )
        #expect(!vt100.isApplicable(context, [:]))
        // `auto` gives the same answer.
        for (type, setting, isChosen) in [("vt100", nil, false), ("vt100", "on", true), ("xterm", nil, true)] {
            let kind = BackendKind.terminalTitle(path: terminal.path, environment: ["TERM": type])
            var place = AutomaticPlace(applicationName: "app", environment: [:])
            place.text = { $1 == "title" ? setting : nil }
            #expect(kind.fit?(place).isChosen == isChosen, "\(type)")
        }
        let file = BackendKind.terminalTitle(path: "/dev/null", environment: ["TERM": "xterm"])
        #expect(
            await file.availability(context, [:])
                == .failure(
                    Unavailability(reason: "/dev/null is not a terminal")
                )
        )
    }
}

extension BackendKind {
    /// The values of a section.
    func values(_ given: [String: BackendSettingValue]) throws -> Values {
        try given.reduce(into: Values()) { values, given in
            let setting = try #require(settings.first { $0.name == given.key })
            let (value, faults) = setting.value(given.value, in: [:])
            if let fault = faults.first { throw fault }
            values[given.key] = value
        }
    }
}
