@testable import BackendConfiguration
@testable import IndicatorCore
@testable import IndicatorBackends
import TestSupport

@Suite struct TerminalTitleBackendTests {
    private let terminal: PseudoTerminal

    init() throws { terminal = try PseudoTerminal() }

    private func makeBackend(
        _ format: String = "{label} - {app}",
        title: TerminalTitleSettings.When = .auto,
        progress: TerminalTitleSettings.When = .off,
        status: TerminalTitleSettings.When = .off,
        environment: [String: String] = ["TERM": "xterm-ghostty"],
        path: String? = nil,
        clock: VirtualClock = VirtualClock()
    ) throws -> BackendDriver<TerminalTitleBackend> {
        let format = try SnapshotFormat(format)
        return BackendDriver(
            TerminalTitleBackend(
                applicationName: "app",
                settings: TerminalTitleSettings(format: format, title: title, progress: progress, status: status),
                path: path ?? terminal.path,
                environment: environment.merging(["LC_ALL": "C.UTF-8"]) { own, _ in own },
                clock: clock
            )
        )
    }

    private func written() -> String { String(decoding: terminal.read(), as: UTF8.self) }

    private static let konsole = ["TERM": "xterm-256color", "KONSOLE_VERSION": "260400"]

    /// First the environment, the settings and the format. Then updates with a label (`-` is none), a count, a
    /// percentage, `?` if it asks the user and `!` if another activity has failed, and milliseconds that pass; after
    /// `=` is what is written, as of ``titleSequences(_:)``.
    private static let updates: Table = """
        The title is saved, set and restored
          TERM=xterm-ghostty: {label} ({count}) - {app}
          +0 = | Work = save [Work - app] | Work x2 = [Work (2) - app] | idle = restore | stop =
        Nothing is written without a change
          TERM=xterm-ghostty: {label}
          inactive = | delaying = | Work = save [Work] | Work 50% =
        An empty title shows the app
          TERM=xterm-ghostty: {label}
          - = save [app]
        A control character in the format would end the title
          TERM=xterm-ghostty: a\u{7}{label}
          Work = save [aWork]
        The spinner turns ten times a second at most
          TERM=xterm-ghostty: {spinner} {label}
          Work = save [⠋ Work] | +50 | Work = | +49 | Work = | +1 | Work = [⠙ Work] | +900 | Work = [⠋ Work]
          stop = restore | +100 | stop =
        Progress is not repeated where it stays, which would restart its animation
          TERM=xterm WT_SESSION=6f7a progress=auto: {label} {spinner}
          Work = save [Work ⠋] {3} | +60100 | Work = [Work ⠙]
        Progress is repeated before Ghostty removes it
          TERM=xterm-ghostty progress=auto: {label}
          Work = save [Work] {3} | +4999 | Work = | +1 | Work = {3} | Work =
        Progress is shown where the title is left alone
          TERM=xterm KONSOLE_VERSION=260400 progress=auto: {label}
          Work 50% = {1;50} | stop = {0}
        A failure is shown while the indicator is, and a request for attention
          TERM=xterm-ghostty progress=auto: {label}
          A ! = save [A] {3} | B 50% ! = [B] {2;50} | B 50% = | idle = {0} restore
          C ? = save [C: Passphrase?] {4} | C = [C] {3}
        GNU screen is written to in ASCII
          TERM=screen STY=1.pts-0 title=on: {spinner} {label} – {app}
          Überprüfe… = save [| Uberprufe... - app] | +100 | x = [/ x - app] | +100 | x = [- x - app]
          +100 | x = [\\ x - app] | +100 | x = [| x - app] | stop = [] restore
        // The last byte of a UTF-8 `Ü`, 0x9C, is ST in ISO 8859-1: it ends the title.
        So is a terminal with another character set
          TERM=xterm LC_ALL=de_DE.ISO-8859-1: {spinner} {label}
          Überprüfe日本 = save [| Uberprufe??]
        """

    @Test(arguments: updates) func `What is shown is written`(sentence: String, script: String) async throws {
        let clock = VirtualClock()
        let setup = try #require(script.firstMatch(of: /(.*?): (.*)\n/))
        var values: [String: String] = [:]
        for word in setup.1.split(separator: " ") {
            let parts = word.split(separator: "=")
            values[String(parts[0])] = String(parts[1])
        }
        let backend = try makeBackend(
            String(setup.2),
            title: .init(rawValue: values["title"] ?? "auto")!,
            progress: .init(rawValue: values["progress"] ?? "off")!,
            environment: values,
            clock: clock
        )
        try await backend.start()
        for step in script[setup.range.upperBound...].split(separator: #/\n| \| /#) {
            let sides = step.split(separator: "=", omittingEmptySubsequences: false)
            let words = sides[0].split(separator: " ")
            switch words[0] {
            case "stop": await backend.stop()
            case "idle": try await backend.update(IndicatorSnapshot())
            case "inactive", "delaying":
                let state: IndicatorState = words[0] == "inactive" ? .inactive : .delayingStart
                try await backend.update(IndicatorSnapshot(state: state, activityCount: 1, label: "Work"))
            case let word where word.first == "+": clock.advance(by: .milliseconds(Int(word.dropFirst()) ?? 0))
            case let word:
                let percentage = words.first { $0.last == "%" }.flatMap { Double($0.dropLast()) }
                let label = word == "-" ? nil : String(word)
                let count = words.contains("x2") ? 2 : 1
                var snapshot = IndicatorSnapshot.shown(label, count: count, progress: percentage.map { $0 / 100 })
                if words.last == "?" { snapshot.activities[0].attention = "Passphrase?" }
                let failed = FinishedActivity(label: "other", outcome: .failed("HTTP 503"), duration: .zero)
                try await backend.update(IndicatorUpdate(snapshot, finished: words.last == "!" ? [failed] : []))
            }
            if sides.count > 1 { #expect(written() == titleSequences(sides[1]), "\(sentence): \(step)") }
        }
    }

    @Test func `A title is updated as often as a part of it changes, and progress where a terminal removes it`() throws
    {
        func interval(
            _ format: String,
            _ progress: TerminalTitleSettings.When = .off,
            in environment: [String: String] = ["TERM": "xterm-256color", "VTE_VERSION": "8203"]
        ) throws -> Duration? {
            let backend = try makeBackend(format, progress: progress, environment: environment).backend
            return backend.delivery.animationInterval
        }
        #expect(try interval("{label}") == nil && interval("{label}", .auto) == nil)
        #expect(try interval("{label}", .auto, in: ["TERM": "xterm-ghostty"]) == .seconds(5))
        #expect(try interval("{label} {elapsed}") == .seconds(1))
        #expect(try interval("{spinner} {elapsed}") == .milliseconds(100))
        #expect(try interval("{spinner} {elapsed}", .on, in: Self.konsole) == nil)
    }

    @Test func `A hostile label does no harm`() async throws {
        let backend = try await makeBackend().started()
        let title = /(\u{1B}\[22;0t)?\u{1B}\]0;\P{Cc}*app\u{7}/.matchingSemantics(.unicodeScalar)
        for label in [
            "\u{1B}]0;owned\u{07}", "\u{1B}[2J\u{1B}[23;0t", "one\ntwo\r\nthree\u{85}", "\u{9D}0;owned\u{9C}",
            "\u{1B}\\\u{1B}c", String(repeating: "a", count: 10_000), String(repeating: "\u{1B}[31m\n", count: 2_500),
            "e" + String(repeating: "\u{0301}", count: 10_000), "\u{202E}txt.exe", "\0", "…\u{2028}…",
        ] {
            try await backend.update(.shown(label))
            let text = written()
            #expect(text.utf8.count < 1000 && text.wholeMatch(of: title) != nil, "\(text.debugDescription)")
        }
        await backend.stop()
        #expect(written() == titleSequences("restore"))
    }

    /// An activity of a script, such as `2?` for one that asks the user.
    private func details(_ word: Substring) -> ActivityDetails {
        var details = ActivityDetails(label: "label \(word.first!)", progress: 0.4)
        details.id = UInt64(word.prefix { $0.isNumber })!
        if word.last == "?" { details.attention = "Passphrase?" }
        return details
    }

    /// How an activity of a script has ended, such as `2!` for one that has failed.
    private func finished(_ word: Substring) -> FinishedActivity {
        let outcomes: [Character: ActivityOutcome] = ["+": .succeeded, "!": .failed("full"), "-": .cancelled]
        var finished = FinishedActivity(label: "ended", outcome: outcomes[word.last!] ?? .unspecified, duration: .zero)
        finished.id = UInt64(word.prefix { $0.isNumber })!
        return finished
    }

    /// An update of a script: the activities in progress, and those that have ended. While the indicator is `waiting`
    /// or `disabled`, there are others.
    private func update(_ words: some StringProtocol) -> IndicatorUpdate {
        let words = words.split(separator: " ").map { Substring($0) }
        if words == ["waiting"] || words == ["disabled"] {
            let state: IndicatorState = words == ["waiting"] ? .delayingStart : .inactive
            return IndicatorUpdate(IndicatorSnapshot(state: state, activityCount: 1))
        }
        let ended = words.filter { "+!-.".contains($0.last!) }
        let running = words.filter { !ended.contains($0) }.map(details)
        let state: IndicatorState = running.isEmpty ? .inactive : .active
        let snapshot = IndicatorSnapshot(state: state, activityCount: running.count, activities: running)
        return IndicatorUpdate(snapshot, finished: ended.map(finished))
    }

    /// Updates, of which those before a comma are skipped, and then the states of the records, that of the whole first.
    private static let statuses: Table = """
        The records are those of the work that is shown, and its success or failure stays
          1 = working 1:working | 1 = working 1:working | 1 2? = blocked 1:working 2:blocked
          2 3 1- = working 1:idle 2:working 3:working | 3 2! = working 1:idle 2:error 3:working
          3+ = error | = error | 4 = working 4:working | 5 4. = working 5:working | 5+ 9+ = done
          6 5! = working 6:working | 6- = | 7 = working 7:working | disabled = | 8 = working 8:working | stop =
        The outcome of skipped work counts, and stays after the end
          1, 1! = error | waiting = error | 1 = working 1:working | 1!, 1, 2+ = done | 1! = done | stop = done
        """

    @Test(arguments: statuses) func `The status is reported`(sentence: String, script: String) async throws {
        let (clock, id) = (VirtualClock(), "indicator.\(getpid())")
        let backend = try await makeBackend("{label}", status: .on, clock: clock).started()
        var emulator = TitleEmulator()
        for step in script.split(separator: #/\n| \| /#) {
            let sides = step.split(separator: "=", omittingEmptySubsequences: false)
            clock.advance(by: .milliseconds(100))
            if step.hasPrefix("stop") {
                await backend.stop()
            } else {
                let updates = sides[0].split(separator: ",", omittingEmptySubsequences: false).map(update)
                var last = updates[updates.count - 1]
                last.earlier = Array(updates.dropLast())
                try await backend.update(last)
            }
            emulator.receive(terminal.read())
            let shown = emulator.records.sorted { $0.key < $1.key }.map { key, state in
                key == id ? state : key.replacing("\(id)/", with: "") + ":" + state
            }
            let expected = sides[1].trimmingCharacters(in: .whitespaces)
            #expect(shown.joined(separator: " ") == expected, "\(sentence): \(step)")
        }
    }

    @Test func `A record has the app, the label and the progress, and is cleared after the title`() async throws {
        let id = "indicator.\(getpid())"
        let backend = try await makeBackend("{label}", status: .on).started()
        try await backend.update(update("8"))
        let title = Data("label 8".utf8).base64EncodedString()
        let records = ["\(id):app=app:title=\(title)", "\(id)/8:title=\(title)"]
        let reports = records.map { "\u{1B}]7501;state=working:progress=40:id=\($0)\u{1B}\\" }
        #expect(written() == titleSequences("save [label 8]") + reports.joined())
        await backend.stop()
        #expect(written() == titleSequences("restore") + "\u{1B}]7501;state=clear:id=\(id)\u{1B}\\")
    }

    @Test func `Of the activities that have ended, the status has the last ones, so that all fit`() async throws {
        let backend = try await makeBackend("{label}", status: .on).started()
        var emulator = TitleEmulator()
        for start in stride(from: 0, to: 1600, by: 16) {
            let ended = start == 0 ? [] : (start - 16..<start).map { "\($0)+" }
            let words = ended + (start..<start + 16).map(String.init)
            try await backend.update(update(words.joined(separator: " ")))
            emulator.receive(terminal.read())
            #expect(emulator.records.count == (start == 0 ? 17 : 33))
        }
    }

    @Test func `The status is reported ten times a second at most`() throws {
        #expect(try makeBackend("{label}", status: .on).backend.delivery.minimumInterval == .milliseconds(100))
        #expect(try makeBackend("{label}").backend.delivery.minimumInterval == .zero)
    }

    // MARK: Stopped and closed terminals

    @Test(.timeLimit(.minutes(10)))
    func `Stop does not wait for a stopped terminal and the title is restored later`() async throws {
        let backend = try await makeBackend("{label}", progress: .on).started()
        try await backend.update(.shown("Work"))
        var emulator = terminal.emulated
        terminal.stopOutput()
        // It waits for half a second on its own clock; without a limit it would wait forever.
        await Task(executorPreference: ServiceThread(name: "own", idleTime: .zero)) { await backend.stop() }.value
        #expect(terminal.read() == [])
        terminal.startOutput()
        // The title is restored although the backend is not called again.
        await expectEventually {
            emulator.receive(terminal.read())
            return emulator.title == "the old title"
        }
        #expect(emulator.restores == 1 && emulator.progress == nil && !emulator.isInsideSequence)
    }

    @Test func `Two backends share a terminal: the one that was shown last sets its title`() async throws {
        let (first, second) = try await (makeBackend("{label}").started(), makeBackend("{label}").started())
        try await first.update(.shown("A"))
        try await second.update(.shown("B"))
        #expect(written() == titleSequences("save [A] [B]"))
        await second.stop()
        await first.stop()
        #expect(written() == titleSequences("[A] restore"))
    }

    @Test(.timeLimit(.minutes(10))) func `Closing a stopped terminal ends the wait`() async throws {
        let backend = try await makeBackend("{label}", progress: .on).started()
        terminal.stopOutput()
        let update = Task { try await backend.update(.shown("Work")) }
        terminal.hangUp()
        await #expect(throws: TerminalError.hungUp) { try await update.value }
    }

    // MARK: The kind

    private let context = BackendContext(name: "title", applicationName: "app", logger: Logger(label: "test"))

    private func kind(_ environment: [String: String] = ["TERM": "xterm"], path: String? = nil) -> BackendKind {
        .terminalTitle(path: path ?? terminal.path, environment: environment)
    }

    @Test func `A backend is created from settings, without an animation where that is read aloud`() async throws {
        var context = context
        context.isAccessible = true
        let backend = try kind().with(["format": "busy: {spinner} {label}", "progress": "on"]).make(context)
        #expect(backend.name == "title" && backend.delivery.animationInterval == nil)
        let driver = try await BackendDriver(try #require(backend as? TerminalTitleBackend)).started()
        try await driver.update(.shown("Work"))
        await driver.stop()
        let emulator = terminal.emulated
        #expect(emulator.titlesSet == ["busy: Work", ""])
        #expect(emulator.progressesSet == ["3", "0"])
    }

    @Test func `Availability names the terminal and writes nothing`() async throws {
        #expect(try await kind().with().availability(context) == .success(terminal.path))
        let place = try await kind().with(["status": "on"]).availability(context)
        #expect(place == .success("\(terminal.path), for the title and the status (OSC 7501)"))
        let progress = try await kind(Self.konsole).with().availability(context)
        #expect(progress == .success("\(terminal.path), for the progress (OSC 9;4)"))
        #expect(terminal.read() == [])
    }

    /// The type of the terminal, or its path if that is none; the problem; and whether the backend is created, so that
    /// it is reported.
    @Test(arguments: [
        ("dumb", "the terminal does not support control sequences (TERM is 'dumb')", false),
        (
            "",
            "the type of the terminal is unknown (TERM is not set); set TERM to the type of the terminal, such as "
                + "xterm-256color",
            false
        ),
        ("vt100", "this terminal (vt100) is not known to have a title", false),
        ("rxvt", "the title of this terminal (urxvt) cannot be restored; set 'title: on' to set it anyway", false),
        ("/dev/null", "/dev/null is not a terminal", true),
        (
            "/dev/null/missing",
            "cannot open /dev/null/missing: Not a directory; check the permissions of the terminal's device", true
        ),
    ])
    func `What cannot be used is not written to, and is silent where no terminal could show it`(
        terminal type: String,
        problem: String,
        isReported: Bool
    ) async throws {
        let path = type.hasPrefix("/") ? type : terminal.path
        let environment = ["TERM": path == type ? "xterm" : type].filter { $0.value != "" }
        let backend = try makeBackend(environment: environment, path: path)
        let error = await #expect(throws: TerminalError.self) { try await backend.update(.shown("Work")) }
        #expect(error?.description == problem)
        await backend.stop()
        let configured = try kind(environment, path: path).with()
        let availability = await configured.availability(context)
        #expect(throws: Unavailability(reason: error?.reason ?? "", help: error?.help)) { try availability.get() }
        #expect(configured.isApplicable(context) == isReported)
        #expect(configured.fit?(context).isChosen == false)
        #expect(terminal.read() == [])
        let insisting = try kind(["TERM": "rxvt"]).with(["title": "on"])
        #expect(insisting.isApplicable(context) && insisting.fit?(context).isChosen == true)
    }
}
