@testable import BackendConfiguration
@testable import IndicatorCore
@testable import IndicatorBackends
import TestSupport

@Suite struct TerminalTitleBackendTests {
    private let terminal: PseudoTerminal

    init() throws { terminal = try PseudoTerminal() }

    private func makeBackend(
        _ format: String = "{label} ({count}) - {app}",
        title: TerminalTitleSettings.When = .auto,
        progress: TerminalTitleSettings.When = .off,
        status: TerminalTitleSettings.When = .off,
        environment: [String: String] = ["TERM": "xterm-ghostty"],
        locale: String = "C.UTF-8",
        path: String? = nil,
        clock: VirtualClock = VirtualClock()
    ) throws -> BackendDriver<TerminalTitleBackend> {
        BackendDriver(
            TerminalTitleBackend(
                applicationName: "app",
                settings: TerminalTitleSettings(
                    format: try SnapshotFormat(format),
                    title: title,
                    progress: progress,
                    status: status
                ),
                path: path ?? terminal.path,
                environment: environment.merging(["LC_ALL": locale]) { $1 },
                clock: clock
            )
        )
    }

    private func written() -> String { String(decoding: terminal.read(), as: UTF8.self) }

    /// What a backend writes for a snapshot.
    private func written(_ snapshot: IndicatorSnapshot, by backend: BackendDriver<TerminalTitleBackend>) async throws
        -> String
    {
        try await backend.update(snapshot)
        return written()
    }

    private func busy(_ label: String? = "Work", count: Int = 1, progress: Double? = nil) -> IndicatorSnapshot {
        IndicatorSnapshot(state: .active, activityCount: count, label: label, progress: progress)
    }

    private let idle = IndicatorSnapshot()

    private static let ghostty = ["TERM": "xterm-ghostty"]
    private static let konsole = ["TERM": "xterm-256color", "KONSOLE_VERSION": "260400"]
    private static let standard = "{label} ({count}) - {app}"

    /// Updates with a label (`-` is none), a count and a percentage, and milliseconds that pass; after `=` is what is
    /// written, as of ``titleSequences(_:)``.
    @Test(arguments: [
        (
            "The title is saved, set and restored", standard, TerminalTitleSettings.When.off, ghostty,
            "+0 = | Work = save [Work - app] | Work x2 = [Work (2) - app] | idle = restore | stop ="
        ),
        ("Stopping restores it once", standard, .off, ghostty, "Work = save [Work - app] | stop = restore | stop ="),
        (
            "Nothing is written without a change", standard, .off, ghostty,
            "inactive = | delaying = | Work = save [Work - app] | Work 50% ="
        ),
        ("An empty title shows the app", "{label}", .off, ghostty, "- = save [app]"),
        (
            "The spinner turns ten times a second at most", "{spinner} {label}", .off, ghostty,
            """
            Work = save [⠋ Work] | +50 | Work = | +49 | Work = | +1 | Work = [⠙ Work] | +900 | Work = [⠋ Work]
            idle = restore | +100 | idle =
            """
        ),
        (
            "Progress is not repeated where it stays, which would restart its animation", "{label} {spinner}", .auto,
            ["TERM": "xterm-256color", "WT_SESSION": "6f7a"], "Work = save [Work ⠋] {3} | +60100 | Work = [Work ⠙]"
        ),
        (
            "Progress is repeated before Ghostty removes it", "{label}", .auto, ghostty,
            "Work = save [Work] {3} | +4999 | Work = | +1 | Work = {3} | Work ="
        ),
        (
            "Progress is shown where the title is left alone", standard, .auto, konsole,
            "Work 50% = {1;50} | stop = {0}"
        ),
    ])
    func `What is shown is written`(
        sentence: String,
        format: String,
        progress: TerminalTitleSettings.When,
        environment: [String: String],
        script: String
    ) async throws {
        let clock = VirtualClock()
        let backend = try makeBackend(format, progress: progress, environment: environment, clock: clock)
        try await backend.start()
        for step in script.split(whereSeparator: { "|\n".contains($0) }) {
            let sides = step.split(separator: "=", omittingEmptySubsequences: false)
            let words = sides[0].split(separator: " ")
            switch words[0] {
            case "stop": await backend.stop()
            case "idle": try await backend.update(idle)
            case "inactive", "delaying":
                let state: IndicatorState = words[0] == "inactive" ? .inactive : .delayingStart
                try await backend.update(IndicatorSnapshot(state: state, activityCount: 1, label: "Work"))
            case let word where word.first == "+": clock.advance(by: .milliseconds(Int(word.dropFirst()) ?? 0))
            case let word:
                let count = words.contains("x2") ? 2 : 1
                let percentage = words.last?.last == "%" ? words.last.flatMap { Double($0.dropLast()) } : nil
                let label = word == "-" ? nil : String(word)
                try await backend.update(busy(label, count: count, progress: percentage.map { $0 / 100 }))
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
        #expect(try interval("{label}", .auto, in: Self.ghostty) == .seconds(5))
        #expect(try interval("{label} {elapsed}") == .seconds(1))
        #expect(try interval("{spinner} {elapsed}") == .milliseconds(100))
    }

    @Test func `GNU Screen is written to in ASCII`() async throws {
        let clock = VirtualClock()
        let environment = ["TERM": "screen.xterm-256color", "STY": "1.pts-0"]
        let backend = try makeBackend("{spinner} {label} – {app}", title: .on, environment: environment, clock: clock)
        try await backend.start()
        for (label, title) in [
            ("Überprüfe café…", "| Uberprufe cafe... - app"), ("日本 “x” ½ ⠇", "| ?? 'x' 1?2 ? - app"),
        ] {
            #expect(try await written(busy(label), by: backend).hasSuffix("\u{1B}]0;\(title)\u{07}"))
        }
        for frame in ["/", "-", "\\", "|"] {
            clock.advance(by: .milliseconds(100))
            #expect(try await written(busy("x"), by: backend) == "\u{1B}]0;\(frame) x - app\u{07}")
        }
        await backend.stop()
        #expect(written() == "\u{1B}]0;\u{07}\u{1B}[23;0t")
    }

    /// The last byte of a UTF-8 `Ü`, 0x9C, is ST in ISO 8859-1: it ends the title.
    @Test(arguments: [
        ("de_DE.ISO-8859-1", "| Uberprufe ??? - app"), ("C", "| Uberprufe ??? - app"),
        ("", "| Uberprufe ??? - app"), ("de_DE.UTF-8", "⠋ Überprüfe 日本語 – app"),
    ])
    func `A title has the characters of the locale`(locale: String, title: String) async throws {
        let environment = ["TERM": "xterm", "LANG": ""]
        let backend = try makeBackend("{spinner} {label} – {app}", environment: environment, locale: locale)
        try await backend.start()
        try await backend.update(busy("Überprüfe 日本語"))
        let isLatin1 = locale.hasSuffix("8859-1")
        let expected = isLatin1 ? title.unicodeScalars.map { UInt8($0.value) } : Array(title.utf8)
        #expect(terminal.read() == Array("\u{1B}[22;0t\u{1B}]0;".utf8) + expected + [7])
    }

    @Test(arguments: [
        ["TERM": "vt220"], ["TERM": "eterm-color", "INSIDE_EMACS": "28.2,term:0.96"], ["TERM": "screen", "STY": "1"],
        ["TERM": "xterm", "NCURSES_NO_UTF8_ACS": "1"], ["TERM": "rxvt-unicode"],
        // Without this window, the title cannot be read.
        ["TERM": "rxvt-unicode", "DISPLAY": ":65000", "WINDOWID": "2097162"],
    ])
    func `A title that would be lost is left alone`(environment: [String: String]) async throws {
        let hasTitle = !["vt220", "eterm-color"].contains(environment["TERM"])
        let backend = try makeBackend(environment: environment)
        do {
            try await backend.start()
        } catch let error as TerminalError {
            #expect(error.description.contains("; set 'title: on' to set it anyway") == hasTitle)
        }
        try? await backend.update(busy())
        await backend.stop()
        #expect(terminal.read() == [])
        let insisting = try await makeBackend(title: .on, environment: environment).started()
        try await insisting.update(busy())
        await insisting.stop()
        #expect(written().contains(";Work - app\u{07}"))
    }

    @Test func `A hostile label does no harm`() async throws {
        let backend = try await makeBackend("{spinner} {label} - {app}").started()
        var emulator = TitleEmulator()
        let labels = [
            "\u{1B}]0;owned\u{07}", "\u{1B}[2J\u{1B}[23;0t", "one\ntwo\r\nthree\u{85}", "\u{9D}0;owned\u{9C}",
            "\u{1B}\\\u{1B}c",
            String(repeating: "a", count: 10_000), String(repeating: "\u{1B}[31m\n", count: 2_500),
            "e" + String(repeating: "\u{0301}", count: 10_000), "\u{202E}txt.exe", "\0", "…\u{2028}…",
        ]
        for label in labels {
            try await backend.update(busy(label))
            let bytes = terminal.read()
            #expect(bytes.count < 1000)
            emulator.receive(bytes)
            #expect(!emulator.title.unicodeScalars.contains { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) })
            #expect(emulator.title.hasSuffix("app"))
        }
        #expect(emulator.titlesSet.count == labels.count)
        try await backend.update(idle)
        emulator.receive(terminal.read())
        #expect(emulator.title == "the old title")
        #expect(emulator.saves == 1 && emulator.restores == 1 && emulator.screen == "" && !emulator.isInsideSequence)
    }

    @Test func `The default format is the documented one`() {
        let format = TerminalTitleSettings.defaultFormat
        #expect(format.description == "{spinner} {label} {progress} ({count}) - {app}")
        #expect(format == (try? SnapshotFormat(format.description)))
    }

    @Test func `A failure and a request for attention are shown beside the title`() async throws {
        let indicator = IndicatorManager(delays: .zero)
        indicator.addBackend(try makeBackend("{label}", progress: .on).backend)
        var output = ""
        func writes(_ sequence: String) async -> Bool {
            await eventually {
                output += written()
                return output.contains(sequence)
            }
        }
        indicator.start("a", label: "A")
        #expect(await writes("\u{1B}]9;4;3\u{1B}\\"))
        indicator.start("b", label: "B", progress: 0.5)
        indicator.stop("a", .failed("HTTP 503"))
        #expect(await writes("\u{1B}]9;4;2;50\u{1B}\\"))
        indicator.stop("b")
        #expect(await writes("\u{1B}]9;4;0\u{1B}\\\u{1B}[23;0t"))
        output = ""
        // The failure belongs to the previous period.
        let activity = indicator.begin("C")
        activity.attention = "Passphrase?"
        #expect(await writes("\u{1B}]9;4;4\u{1B}\\"))
        #expect(await writes("C: Passphrase?"))
        // BEL ends a title; elsewhere it would beep.
        #expect(!output.replacing(#/\x1B\]0;[^\x07]*\x07/#, with: "").contains("\u{7}"))
        activity.attention = nil
        #expect(await writes("\u{1B}]9;4;3\u{1B}\\"))
        activity.end()
        await indicator.shutdown()
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

    @Test func `The status is cleared with the title, and a success or failure of the work stays`() async throws {
        let clock = VirtualClock()
        let backend = try await makeBackend("{label}", status: .on, clock: clock).started()
        var emulator = TitleEmulator()
        var output = ""
        let id = "indicator.\(getpid())"
        // What is in progress, what has ended, and then the states of the records, that of the whole first.
        let script: [(activities: String, ended: String, states: String)] = [
            ("1", "", "working 1:working"),
            ("1", "", "working 1:working"),
            ("1 2?", "", "blocked 1:working 2:blocked"),
            ("2 3", "1-", "working 1:idle 2:working 3:working"),
            ("3", "2!", "working 1:idle 2:error 3:working"),
            ("", "3+", "error"),
            ("", "", "error"),
            ("4", "", "working 4:working"),
            ("5", "4", "working 5:working"),
            ("", "5+ 9+", "done"),
            ("6", "5!", "working 6:working"),
            ("", "6-", ""),
            ("7", "", "working 7:working"),
            // It was disabled.
            ("", "", "-"),
            ("8", "", "working 8:working"),
        ]
        for (activities, ended, states) in script {
            var snapshot = IndicatorSnapshot(state: activities.isEmpty ? .inactive : .active)
            snapshot.activities = activities.split(separator: " ").map(details)
            snapshot.activityCount = states == "-" ? 1 : snapshot.activities.count
            let ended = ended.split(separator: " ").map(finished)
            clock.advance(by: .milliseconds(100))
            try await backend.update(IndicatorUpdate(snapshot, finished: ended))
            output = written()
            emulator.receive(Array(output.utf8))
            let shown: [String] = emulator.records.sorted { $0.key < $1.key }.map { key, state in
                key == id ? state : key.replacing("\(id)/", with: "") + ":" + state
            }
            let expected: [String] = states.split(separator: " ").map(String.init).filter { $0 != "-" }
            #expect(shown == expected)
        }
        let title = Data("label 8".utf8).base64EncodedString()
        let texts: [String] = ["\(id):app=app:title=\(title)", "\(id)/8:title=\(title)"]
        let reports: [String] = texts.map { "\u{1B}]7501;state=working:progress=40:id=\($0)\u{1B}\\" }
        let shown = "\u{1B}[22;0t\u{1B}]0;label 8\u{7}" + reports.joined()
        #expect(output == shown)
        await backend.stop()
        #expect(written() == "\u{1B}[23;0t\u{1B}]7501;state=clear:id=\(id)\u{1B}\\")
    }

    @Test func `Of the activities that have ended, the status has the last ones, so that all fit`() async throws {
        let clock = VirtualClock()
        let backend = try await makeBackend("{label}", status: .on, clock: clock).started()
        var emulator = TitleEmulator()
        for number in 0..<100 {
            clock.advance(by: .milliseconds(100))
            var snapshot = IndicatorSnapshot(state: .active, activityCount: 16)
            snapshot.activities = (0..<16).map { details("\(number * 16 + $0)") }
            let ended = number == 0 ? [] : (0..<16).map { finished("\((number - 1) * 16 + $0)+") }
            try await backend.update(IndicatorUpdate(snapshot, finished: ended))
            emulator.receive(terminal.read())
            #expect(emulator.records.count <= 33)
        }
        await backend.stop()
        emulator.receive(terminal.read())
        #expect(emulator.records == [:])
    }

    @Test func `The status is reported ten times a second at most, and an outcome of skipped work`() async throws {
        let backend = try makeBackend("{label}", status: .on)
        #expect(backend.backend.delivery.minimumInterval == .milliseconds(100))
        #expect(try makeBackend("{label}").backend.delivery.minimumInterval == .zero)
        try await backend.start()
        var emulator = TitleEmulator()
        let working = IndicatorUpdate(IndicatorSnapshot(state: .active, activityCount: 1, label: "A"))
        let (failed, done) = (
            IndicatorUpdate(idle, finished: [finished("1!")]), IndicatorUpdate(idle, finished: [finished("2+")])
        )
        // What is shown, with what was skipped before, and the records then.
        let script: [([IndicatorUpdate], [String])] = [
            ([working, failed], ["error"]),
            // Work that is not shown yet.
            ([IndicatorUpdate(IndicatorSnapshot(state: .delayingStart, activityCount: 1))], ["error"]),
            ([working], ["working", "working"]), ([failed, working, done], ["done"]), ([failed], ["done"]),
        ]
        for (steps, states) in script {
            var update = steps[steps.count - 1]
            update.earlier = Array(steps.dropLast())
            try await backend.update(update)
            emulator.receive(terminal.read())
            #expect(Array(emulator.records.values) == states)
        }
        await backend.stop()
        emulator.receive(terminal.read())
        #expect(Array(emulator.records.values) == ["done"])
    }

    // MARK: Missing, stopped and closed terminals

    @Test(arguments: ["dumb", "", nil]) func `A dumb terminal is not written to`(type: String?) async throws {
        let backend = try makeBackend(environment: type.map { ["TERM": $0] } ?? [:])
        let error = await #expect(throws: TerminalError.dumbTerminal(type: type)) { try await backend.start() }
        #expect(error?.description.contains("set TERM to the type of the terminal") == (type != "dumb"))
        try? await backend.update(busy())
        await backend.stop()
        #expect(terminal.read() == [])
    }

    @Test func `A file or a pipe is not written to`() async throws {
        let (folder, pipe) = (try TemporaryDirectory(), Pipe())
        let writer = "/proc/self/fd/\(pipe.fileHandleForWriting.fileDescriptor)"
        for path in [try folder.write("", to: "file"), writer] {
            let backend = try makeBackend(path: path)
            await #expect(throws: TerminalError.notATerminal(path: path)) { try await backend.start() }
            try? await backend.update(busy())
            await backend.stop()
        }
        try pipe.fileHandleForWriting.close()
        #expect(try pipe.fileHandleForReading.readToEnd() == nil && folder.read("file") == "")
    }

    @Test func `A missing terminal is named in the error`() async throws {
        let backend = try makeBackend(path: "/dev/no-such-terminal")
        let error = await #expect(throws: TerminalError.self) { try await backend.start() }
        #expect(error?.reason == "cannot open /dev/no-such-terminal: No such file or directory")
    }

    @Test(.timeLimit(.minutes(10)))
    func `Stop does not wait for a stopped terminal and the title is restored later`() async throws {
        let backend = try await makeBackend("{label}", progress: .on).started()
        try await backend.update(busy())
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

    @Test(.timeLimit(.minutes(10))) func `An incomplete sequence is completed on a slow terminal`() async throws {
        let backend = try await makeBackend("{label}", progress: .on).started()
        // A window that hangs: its buffer is full, and occasionally it takes a few bytes.
        let filled = try terminal.fill()
        let labels = (0..<30).map { "\($0)" + String(repeating: "ä", count: 100) }
        let updates = Task(executorPreference: ServiceThread(name: "own", idleTime: .zero)) {
            for label in labels { try await backend.update(busy(label)) }
            await backend.stop()
            try await backend.start()
            try await backend.update(busy("again"))
            await backend.stop()
        }
        var emulator = TitleEmulator()
        var taken = 0
        await expectEventually(within: .seconds(300)) {
            for _ in 0..<97 {
                guard let byte = terminal.readByte() else { break }
                taken += 1
                if taken > filled { emulator.receive(byte) }
            }
            return emulator.titlesSet.last == "again" && emulator.stack.isEmpty
        }
        try await updates.value
        emulator.receive(terminal.read())
        #expect(emulator.screen == "" && !emulator.isInsideSequence)
        #expect(emulator.saves == emulator.restores && emulator.title == "the old title")
    }

    @Test(.timeLimit(.minutes(10))) func `Closing a stopped terminal ends the wait`() async throws {
        let backend = try await makeBackend("{label}", progress: .on).started()
        terminal.stopOutput()
        let update = Task { try await backend.update(busy()) }
        terminal.hangUp()
        await #expect(throws: TerminalError.hungUp) { try await update.value }
    }

    // MARK: The kind

    private let context = BackendContext(name: "title", applicationName: "app", logger: Logger(label: "test"))

    private func kind(_ environment: [String: String] = ["TERM": "xterm"], path: String? = nil) -> BackendKind {
        .terminalTitle(path: path ?? terminal.path, environment: environment)
    }

    @Test func `A backend is created from settings`() async throws {
        let backend = try kind().with(["format": "busy: {label}", "progress": "on"]).make(context)
        #expect(backend.name == "title")
        let driver = try await BackendDriver(try #require(backend as? TerminalTitleBackend)).started()
        try await driver.update(IndicatorSnapshot(state: .active, activityCount: 1, label: "Work"))
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

    @Test func `It is skipped without a terminal but not if one fails`() throws {
        func isApplicable(_ path: String, _ type: String?) throws -> Bool {
            try kind(type.map { ["TERM": $0] } ?? [:], path: path).with().isApplicable(context)
        }
        #expect(try isApplicable(terminal.path, "xterm"))
        #expect(try !isApplicable(terminal.path, "dumb") && !isApplicable(terminal.path, nil))
        #expect(try isApplicable("/dev/null/missing", "xterm"))
    }

    @Test func `A title that is not written wakes nobody`() throws {
        #expect(try kind(Self.konsole, path: "/dev/tty").with().make(context).delivery.animationInterval == nil)
    }

    @Test func `Accessible stops the animation`() async throws {
        var context = context
        context.isAccessible = true
        let backend = try kind(["TERM": "xterm", "LANG": "C.UTF-8"]).with().make(context)
        #expect(backend.delivery.animationInterval == nil)
        let driver = try await BackendDriver(try #require(backend as? TerminalTitleBackend)).started()
        try await driver.update(IndicatorSnapshot(state: .active, activityCount: 1, label: "Work"))
        await driver.stop()
        let emulator = terminal.emulated
        #expect(emulator.titlesSet.first == "Work - app")
    }

    @Test func `Unavailability has a reason and help`() async throws {
        func reason(_ type: String, path: String? = nil) async throws -> Result<String?, Unavailability> {
            try await kind(["TERM": type], path: path).with().availability(context)
        }
        let dumb = "the terminal does not support control sequences (TERM is 'dumb')"
        #expect(try await reason("dumb") == .failure(Unavailability(reason: dumb)))
        let unknown = Unavailability(reason: "this terminal (vt100) is not known to have a title")
        #expect(try await reason("vt100") == .failure(unknown))
        #expect(try !kind(["TERM": "vt100"]).with().isApplicable(context))
        // `auto` gives the same answer.
        for (type, title, isChosen) in [("vt100", "auto", false), ("vt100", "on", true), ("xterm", "auto", true)] {
            let fit = try kind(["TERM": type]).with(["title": .string(title)]).fit?(context)
            #expect(fit?.isChosen == isChosen, "\(type)")
        }
        let file = Unavailability(reason: "/dev/null is not a terminal")
        #expect(try await reason("xterm", path: "/dev/null") == .failure(file))
    }
}
