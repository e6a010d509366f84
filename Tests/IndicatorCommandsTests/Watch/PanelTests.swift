import IndicatorBackends
import TestSupport

@testable import IndicatorCommands

/// `watch --format`, on a virtual clock.
@Suite struct PanelTests {
    /// An event from words, as they are in scripts: its kind, the app, with its machine if that is known, and the rest.
    private static func event(_ words: [String]) -> WatchEvent {
        let names = words[1].split(separator: "@").map(String.init)
        let host = names.count > 1 ? names[1] : nil
        let source = WatchEvent.Source(name: words[1], host: host, app: names[0], instance: "i")
        let rest = words.dropFirst(2)
        var state = WatchedState()
        (state.label, state.count) = ("x", 1)
        switch words[0] {
        case "vanished": return WatchEvent(.vanished, source)
        case "lost" where rest.isEmpty: return WatchEvent(.lost, source)
        case "hidden", "delaying": state.state = words[0] == "hidden" ? "inactive" : "delayingStart"
        case "shown", "lost":
            (state.visible, state.state) = (true, "active")
            state.label = rest.first == "-" ? nil : rest.first
            for word in rest.dropFirst() {
                switch word.last {
                case "%": state.progress = Double(word.dropLast()).map { $0 / 100 }
                case "?": state.attention = word
                default: state.count = Int(word) ?? 1
                }
            }
        default:
            let (seconds, message) = (Double(rest[2]) ?? 0, rest.dropFirst().joined(separator: " "))
            let end = WatchEvent.Finished(label: "Fetching", outcome: words[0], message: message, seconds: seconds)
            return WatchEvent(.finished, source, finished: end)
        }
        return WatchEvent(words[0] == "lost" ? .lost : .changed, source, state: state)
    }

    private static func shown(_ words: String...) -> WatchEvent { event(["shown"] + words) }

    private var panel = WatchPanel(.text)

    /// Each step is a time in ms, what happens then, and, after `=`, the line that follows at once: `none`, or its
    /// text, in brackets its kind and percentage, and a tooltip that is another text.
    ///
    /// - `shown APP LABEL`, with `N` activities, `N%` and a question; `delaying`, `hidden`, `vanished`;
    /// - `lost APP@HOST`, with a label if it was shown;
    /// - an outcome, the app, after how many seconds, and a message.
    private static let table: Table = """
        The first line is empty and is written once
            0 hidden a = [idle] | 5000 = none
        All apps are on one line
            0 = [idle] | 1000 shown a Fetching 3 40% = a: Fetching 40% (3) [active 40%]
            2000 shown b - 80% = a: Fetching 40% (3) · b: 80% [active 60%; a: Fetching 40% (3)⏎b: 80%]
            3000 shown b Login Passphrase? = b: Login: Passphrase? · a: Fetching 40% (3)\
         [attention 40%; b: Login: Passphrase?⏎a: Fetching 40% (3)]
            4000 vanished b = a: Fetching 40% (3) [active 40%] | 5000 hidden a = [idle]
        The start delay is not shown
            0 = [idle] | 1000 delaying a = none
        The end is shown at once and no line twice
            0 = [idle] | 1000 shown a Fetching = a: Fetching [active] | 2000 shown a Fetching = none
            3000 shown a Fetching 50% = a: Fetching 50% [active 50%] | 3001 hidden a = [idle] | 4000 hidden a = none
        An outcome is shown for five seconds, also if the app has ended
            0 = [idle] | 1000 shown a Fetching = a: Fetching [active] | 2000 hidden a = [idle]
            2100 succeeded a 12 = a: Fetching done [succeeded; a: Fetching done after 12.0 s]
            2200 vanished a = none | 7099 = none | 7100 = [idle]
        Work whose outcome nobody gave is not shown as done
            0 = [idle] | 2100 unspecified a 12 = a: Fetching ended [ended; a: Fetching ended after 12.0 s]
        A failure is shown beside other work; a cancellation and a short success are not
            0 = [idle] | 1000 shown a Fetching = a: Fetching [active]
            2000 shown b Indexing = a: Fetching · b: Indexing [active; a: Fetching⏎b: Indexing]
            3000 failed a 0.1 HTTP 503\u{1B}[31m = a: Fetching · b: Indexing · a: Fetching failed: HTTP 503[31m\
         [failed; a: Fetching⏎b: Indexing⏎a: Fetching failed after 0.1 s: HTTP 503[31m]
            8000 = a: Fetching · b: Indexing [active; a: Fetching⏎b: Indexing]
            9000 cancelled a 12 = none | 9000 succeeded a 0.2 = none
        A lost app is shown like a failure if it was shown, and not before the first line
            0 shown a@h Fetching | 0 lost a@h Fetching | 0 = [idle] | 500 lost a@h = none
            1000 shown a@h Fetching = h/a: Fetching [active] | 2000 lost a@h Fetching = h/a: lost [failed]
            7000 = [idle]
        """

    @Test(arguments: table)
    mutating func `A line shows what the apps do`(sentence: String, script: String) throws {
        for step in script.split(whereSeparator: { "|\n".contains($0) }) {
            let sides = step.split(separator: "=")
            let words = sides[0].split(separator: " ").map(String.init)
            let time = Duration.milliseconds(try #require(Int(words[0])))
            if words.count > 1 { panel.receive(Self.event(Array(words.dropFirst())), at: time) }
            guard sides.count > 1 else { continue }
            let shown = panel.nextLine(at: time).line.map { line in
                let percentage = line.percentage.map { " \($0)%" } ?? ""
                let tooltip = line.tooltip == line.text ? "" : "; " + line.tooltip.replacing("\n", with: "⏎")
                return "\(line.text) [\(line.kind)\(percentage)\(tooltip)]"
            }
            let expected = sides[1].trimmingCharacters(in: .whitespaces)
            #expect((shown ?? "none").trimmingCharacters(in: .whitespaces) == expected, "\(sentence): \(step)")
        }
    }

    @Test mutating func `A line has at most sixteen apps`() {
        for number in 1...16 { panel.receive(Self.shown("\(number)", "x"), at: .zero) }
        #expect(panel.line.text.hasSuffix("15: x · 16: x"))
        for number in 17...20_000 { panel.receive(Self.shown("\(number)", "x"), at: .zero) }
        #expect(panel.line.text.hasSuffix("16: x · 19984 more") && panel.line.tooltip.hasSuffix("\n19984 more"))
        panel.receive(Self.shown("last", "x", "Passphrase?"), at: .zero)
        #expect(panel.line.text.hasPrefix("last: x: Passphrase? · 1: x"))
    }

    @Test mutating func `There are at most ten lines a second and the last state is shown`() {
        var count = 0
        for time in 0...1000 {
            panel.receive(Self.shown("a", "Step \(time)"), at: .milliseconds(time))
            if panel.nextLine(at: .milliseconds(time)).line != nil { count += 1 }
        }
        #expect(count == 11)
        panel.receive(Self.shown("a", "Last"), at: .milliseconds(1002))
        let next = panel.nextLine(at: .milliseconds(1002))
        #expect(next.line == nil && next.wakeAt == .milliseconds(1100))
        #expect(panel.nextLine(at: .milliseconds(1100)).line?.text == "a: Last")
    }

    /// What is written at first, and of an app with a hostile label.
    @Test(arguments: [
        (WatchFormat.text, "", "a: <b> & \"#[fg=red]\" %{F#f00} 40%"),
        (.tmux, "", "a: <b> & \"##[fg=red]\" %{F##f00} 40%"),
        (.polybar, "", "a: <b> & \"#[fg=red]\" % {F#f00} 40%"),
        (
            .i3bar, "{\"version\":1}\n[\n" + #"[{"full_text":"","name":"indicator","urgent":false}],"#,
            ##"[{"full_text":"a: <b> & \"#[fg=red]\" %{F#f00} 40%","name":"indicator","urgent":false}],"##
        ),
        (
            .waybar, #"{"alt":"idle","class":"idle","text":"","tooltip":""}"#,
            #"{"alt":"active","class":"active","percentage":40,"#
                + ##""text":"a: &lt;b&gt; &amp; \"#[fg=red]\" %{F#f00} 40%","##
                + ##""tooltip":"a: &lt;b&gt; &amp; \"#[fg=red]\" %{F#f00} 40%"}"##
        ),
    ])
    func `Each panel has its syntax`(format: WatchFormat, first: String, text: String) throws {
        var panel = WatchPanel(format)
        #expect(try panel.next(at: .zero).text == first + "\n")
        panel.receive(Self.shown("a", "<b> & \"#[fg=red]\"\n%{F#f00}\u{1B}", "40%"), at: .seconds(1))
        #expect(try panel.next(at: .seconds(1)).text == text + "\n")
    }
}

#if DBus
/// `watch --format` with real apps on a private bus.
@Suite(.needs(.bus)) struct PanelProcessTests {
    @Test("A panel gets the work of two apps and its end; the program ends with its reader, and with the bus")
    func lines() async throws {
        let bus = try await PrivateBus()
        let panel = try bus.watch("--format", "text")
        #expect(await panel.prints("\n"))
        let (first, second) = (try await DesktopProbe(on: bus), try await DesktopProbe(on: bus))
        try await first.tell("begin", "Fetching")
        #expect(await panel.prints("\nprobe: Fetching\n"))
        try await second.tell("begin", "Indexing")
        try await second.tell("progress", "0.25")
        #expect(await panel.prints("\nprobe: Fetching · probe: Indexing 25%\n"))
        try await second.tell("end")
        await first.kill()
        #expect(await eventually { panel.output.hasSuffix("\n\n") })
        let reader = "'\(try Command.built("indicator"))' watch --bus '\(bus.address)' --format waybar | head -n 1"
        #expect(try await Daemon("sh", ["-c", reader]).ends())
        await bus.kill()
        #expect(await eventually { panel.status == 1 })
    }

    @Test func `--once prints one line and exits, with and without apps`() async throws {
        let bus = try await PrivateBus()
        let header = "APP  INSTANCE  STATE  COUNT  DONE  LABEL\n"
        #expect(try await bus.watchOnce() == header + "0 shown, 0 hidden; 0 in progress, 0 failed\n")
        #expect(try await bus.watchOnce("--json") == "")
        #expect(try await bus.watchOnce("--format", "text") == "\n")
        let probe = try await DesktopProbe(on: bus)
        try await probe.tell("begin", "Fetching")
        #expect(try await eventually { try await bus.watchOnce("--format", "tmux") == "probe: Fetching\n" })
        let i3bar = #"[{"full_text":"probe: Fetching","name":"indicator","urgent":false}]"# + "\n"
        #expect(try await bus.watchOnce("--format", "i3bar") == i3bar)
        #expect(try await bus.watchOnce().contains(/\nprobe +\d+ +shown +1 +Fetching\n1 shown, 0 hidden/))
        #expect(try await bus.watchOnce("--json").hasPrefix(#"{"activities":[{"label":"Fetching"}],"app":"probe""#))
        // One that hangs does not keep it from the others.
        let hanging = try await DesktopProbe(on: bus)
        Foundation.kill(hanging.processID, SIGSTOP)
        #expect(try await eventually { try await bus.watchOnce("--format", "text") == "probe: Fetching\n" })
        Foundation.kill(hanging.processID, SIGCONT)
    }

    @Test(.needs("tmux", package: "tmux"))
    func `tmux shows the line in its status, without its own syntax`() async throws {
        let bus = try await PrivateBus()
        let program = try Command.built("indicator")
        let probe = try await DesktopProbe(on: bus)
        try await Tmux.withServer { inner in
            try await inner.command("set", "-g", "status-interval", "1")
            try await inner.command("set", "-g", "status-right-length", "70")
            let lines = "#('\(program)' watch --bus '\(bus.address)' --format tmux)"
            try await inner.command("set", "-g", "status-right", lines)
            // The status is drawn for an attached client only: one in another tmux.
            try await Tmux.withServer { outer in
                try await outer.type(inner.attachCommand)
                try await probe.tell("begin", "a #[fg=red]b #{pid} %H")
                #expect(try await eventually { try await outer.screen.contains("probe: a #[fg=red]b #{pid} %H") })
                try await probe.tell("end")
                #expect(try await eventually { try await !outer.screen.contains("probe:") })
            }
        }
    }
}
#endif
