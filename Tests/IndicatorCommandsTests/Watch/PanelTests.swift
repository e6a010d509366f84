import Foundation
import IndicatorBackends
import TestSupport
import Testing

@testable import IndicatorCommands

/// `watch --format`, on a virtual clock.
@Suite struct PanelTests {
    private static func shown(
        _ app: String,
        _ label: String?,
        progress: Double? = nil,
        attention: String? = nil,
        count: Int = 1
    ) -> WatchEvent {
        var state = WatchedState()
        (state.visible, state.state, state.count) = (true, "active", count)
        (state.label, state.progress, state.attention) = (label, progress, attention)
        return WatchEvent(.changed, .init(name: app, app: app), state: state)
    }

    private static func hidden(_ app: String, state name: String = "inactive") -> WatchEvent {
        var state = WatchedState()
        (state.state, state.label) = (name, "x")
        return WatchEvent(.changed, .init(name: app, app: app), state: state)
    }

    private static func finished(_ app: String, _ outcome: String, _ message: String = "", seconds: Double = 12)
        -> WatchEvent
    {
        let finished = WatchEvent.Finished(label: "Fetching", outcome: outcome, message: message, seconds: seconds)
        return WatchEvent(.finished, .init(name: app, app: app), finished: finished)
    }

    private static func vanished(_ app: String) -> WatchEvent { WatchEvent(.vanished, .init(name: app, app: app)) }

    private var panel = WatchPanel(.text)

    /// The line after an event, if one is written now.
    private mutating func line(_ event: WatchEvent? = nil, at milliseconds: Int) -> PanelLine? {
        if let event { panel.receive(event, at: .milliseconds(milliseconds)) }
        return panel.nextLine(at: .milliseconds(milliseconds)).line
    }

    @Test mutating func `The first line is empty and is written once`() {
        #expect(line(Self.hidden("a"), at: 0) == PanelLine())
        #expect(line(at: 5000) == nil)
    }

    @Test mutating func `A line has at most sixteen apps`() {
        for number in 1...16 { panel.receive(Self.shown("\(number)", "x"), at: .zero) }
        #expect(panel.line.text.hasSuffix("15: x · 16: x"))
        for number in 17...20_000 { panel.receive(Self.shown("\(number)", "x"), at: .zero) }
        #expect(panel.line.text.hasSuffix("16: x · 19984 more") && panel.line.tooltip.hasSuffix("\n19984 more"))
        panel.receive(Self.shown("last", "x", attention: "Passphrase?"), at: .zero)
        #expect(panel.line.text.hasPrefix("last: x: Passphrase? · 1: x"))
    }

    @Test mutating func `A lost app is shown like a failure if it was shown`() {
        let source = WatchEvent.Source(name: "h/a/i", host: "h", app: "a", instance: "i")
        var shown = Self.shown("a", "Fetching")
        shown.source = source
        // Before the first line, that is no news.
        panel.receive(shown, at: .zero)
        panel.receive(WatchEvent(.lost, source, state: shown.state), at: .zero)
        #expect(line(at: 0) == PanelLine())
        #expect(line(WatchEvent(.lost, source), at: 500) == nil)
        #expect(line(shown, at: 1000)?.text == "h/a: Fetching")
        let lost = line(WatchEvent(.lost, source, state: shown.state), at: 2000)
        #expect(lost?.text == "h/a: lost" && lost?.kind == .failed)
        #expect(line(at: 7000) == PanelLine())
    }

    @Test mutating func `All apps are on one line`() {
        _ = line(at: 0)
        #expect(line(Self.shown("a", "Fetching", progress: 0.4, count: 3), at: 1000)?.text == "a: Fetching 40% (3)")
        let both = line(Self.shown("b", nil, progress: 0.8), at: 2000)
        #expect(both?.text == "a: Fetching 40% (3) · b: 80%")
        #expect(both?.percentage == 60 && both?.kind == .active)
        let asking = line(Self.shown("b", "Login", attention: "Passphrase?"), at: 3000)
        #expect(asking?.text == "b: Login: Passphrase? · a: Fetching 40% (3)" && asking?.kind == .attention)
        #expect(line(Self.vanished("b"), at: 4000)?.text == "a: Fetching 40% (3)")
        #expect(line(Self.hidden("a"), at: 5000) == PanelLine())
    }

    @Test mutating func `The start delay is not shown`() {
        _ = line(at: 0)
        #expect(line(Self.hidden("a", state: "delayingStart"), at: 1000) == nil)
    }

    @Test mutating func `There are at most ten lines a second and the last state is shown`() {
        _ = line(at: 0)
        var lines: [String] = []
        for time in 1000...2000 {
            if let line = line(Self.shown("a", "Step \(time)"), at: time) { lines.append(line.text) }
        }
        #expect(lines.count == 11)
        _ = panel.nextLine(at: .milliseconds(2001))
        panel.receive(Self.shown("a", "Last"), at: .milliseconds(2002))
        let wakeAt = panel.nextLine(at: .milliseconds(2002)).wakeAt
        #expect(wakeAt == .milliseconds(2100))
        #expect(line(at: 2100)?.text == "a: Last")
    }

    @Test mutating func `The end is shown at once and no line twice`() {
        _ = line(at: 0)
        #expect(line(Self.shown("a", "Fetching"), at: 1000) != nil)
        #expect(line(Self.shown("a", "Fetching"), at: 2000) == nil)
        #expect(line(Self.shown("a", "Fetching", progress: 0.5), at: 3000) != nil)
        #expect(line(Self.hidden("a"), at: 3001) == PanelLine())
        #expect(line(Self.hidden("a"), at: 4000) == nil)
    }

    @Test mutating func `An outcome is shown for five seconds`() {
        _ = line(at: 0)
        _ = line(Self.shown("a", "Fetching"), at: 1000)
        _ = line(Self.hidden("a"), at: 2000)
        let done = line(Self.finished("a", "succeeded"), at: 2100)
        #expect(done?.text == "a: Fetching done" && done?.kind == .succeeded)
        #expect(done?.tooltip == "a: Fetching done after 12.0 s")
        // The app has ended.
        #expect(line(Self.vanished("a"), at: 2200) == nil)
        #expect(panel.nextLine(at: .milliseconds(2200)).wakeAt == .milliseconds(7100))
        #expect(line(at: 7100) == PanelLine())
    }

    @Test mutating func `Work whose outcome nobody gave is not shown as done`() {
        _ = line(at: 0)
        let ended = line(Self.finished("a", "unspecified"), at: 2100)
        #expect(ended?.text == "a: Fetching ended" && ended?.kind == .ended)
    }

    @Test mutating func `A failure is shown beside other work`() {
        _ = line(at: 0)
        _ = line(Self.shown("a", "Fetching"), at: 1000)
        _ = line(Self.shown("b", "Indexing"), at: 2000)
        let failed = line(Self.finished("a", "failed", "HTTP 503\u{1B}[31m", seconds: 0.1), at: 3000)
        #expect(failed?.text == "a: Fetching · b: Indexing · a: Fetching failed: HTTP 503[31m")
        #expect(failed?.kind == .failed)
        #expect(line(at: 8000)?.kind == .active)
        // A panel shows neither of these.
        #expect(line(Self.finished("a", "cancelled"), at: 9000) == nil)
        #expect(line(Self.finished("a", "succeeded", seconds: 0.2), at: 9000) == nil)
    }

    @Test(arguments: [
        (WatchFormat.text, "a: <b> & \"#[fg=red]\" %{F#f00} 40%\n"),
        (.tmux, "a: <b> & \"##[fg=red]\" %{F##f00} 40%\n"), (.polybar, "a: <b> & \"#[fg=red]\" % {F#f00} 40%\n"),
        (.i3bar, ##"[{"full_text":"a: <b> & \"#[fg=red]\" %{F#f00} 40%","name":"indicator","urgent":false}],"## + "\n"),
        (
            .waybar,
            #"{"alt":"active","class":"active","percentage":40,"#
                + ##""text":"a: &lt;b&gt; &amp; \"#[fg=red]\" %{F#f00} 40%","##
                + ##""tooltip":"a: &lt;b&gt; &amp; \"#[fg=red]\" %{F#f00} 40%"}"## + "\n"
        ),
    ])
    mutating func `A panel follows the indicators of a bus`(format: WatchFormat, text: String) throws {
        _ = line(at: 0)
        let shown = try #require(line(Self.shown("a", "<b> & \"#[fg=red]\"\n%{F#f00}\u{1B}", progress: 0.4), at: 1000))
        #expect(try format.text(of: shown) == text)
    }
}

#if DBus
/// `watch --format` with real apps on a private bus.
@Suite struct PanelProcessTests {
    @Test("Each format shows the work of two apps and its end, and ends with the bus", .needs(.bus))
    func formats() async throws {
        let bus = try await PrivateBus()
        var panels: [String: Daemon] = [:]
        for format in ["text", "tmux", "polybar", "i3bar", "waybar"] {
            panels[format] = try bus.watch("--format", format)
        }
        func shows(_ text: String) async -> Bool {
            await eventually {
                panels.allSatisfy { $1.output.contains($0 == "tmux" ? text.replacing("#", with: "##") : text) }
            }
        }
        #expect(await eventually { panels.values.allSatisfy { $0.output.hasSuffix("\n") } })
        let first = try await DesktopProbe(on: bus)
        let second = try await DesktopProbe(on: bus)
        try await first.tell("begin", "Fetching #1")
        #expect(await shows("probe: Fetching #1"))
        try await second.tell("begin", "Indexing")
        try await second.tell("progress", "0.25")
        #expect(await shows("probe: Fetching #1 · probe: Indexing 25%"))
        try await second.tell("end")
        await first.kill()
        let idle = [
            "waybar": #"{"alt":"idle","class":"idle","text":"","tooltip":""}"#,
            "i3bar": #"[{"full_text":"","name":"indicator","urgent":false}],"#,
        ]
        func isIdle(_ format: String) -> Bool {
            panels[format]?.output.hasSuffix("\n\(idle[format] ?? "")\n") == true
        }
        #expect(await eventually { panels.keys.allSatisfy(isIdle) })
        #expect(panels["i3bar"]?.output.hasPrefix("{\"version\":1}\n[\n") == true)
        for panel in panels.values {
            let lines = panel.output.split(separator: "\n", omittingEmptySubsequences: false)
            #expect(!panel.output.contains("delayingStart"))
            #expect(zip(lines.dropLast(), lines.dropFirst()).allSatisfy { $0 != $1 || $0.isEmpty })
        }
        try await second.tell("begin", "Once more")
        #expect(await shows("probe: Once more"))
        await bus.kill()
        #expect(await eventually { panels.values.allSatisfy { !$0.isRunning } })
        #expect(panels.values.allSatisfy { $0.status == 1 })
    }

    @Test(.needs(.bus)) func `--once prints one line and exits, with and without apps`() async throws {
        let bus = try await PrivateBus()
        let header = "APP  INSTANCE  STATE  COUNT  DONE  LABEL\n"
        #expect(try await bus.watchOnce() == header + "0 shown, 0 hidden; 0 in progress, 0 failed\n")
        #expect(try await bus.watchOnce("--json") == "")
        #expect(try await bus.watchOnce("--format", "text") == "\n")
        let probe = try await DesktopProbe(on: bus)
        try await probe.tell("begin", "Fetching")
        #expect(try await eventually { try await bus.watchOnce("--format", "tmux") == "probe: Fetching\n" })
        #expect(
            try await bus.watchOnce("--format", "i3bar")
                == #"[{"full_text":"probe: Fetching","name":"indicator","urgent":false}]"# + "\n"
        )
        #expect(try await bus.watchOnce().contains(/\nprobe +\d+ +shown +1 +Fetching\n1 shown, 0 hidden/))
        #expect(try await bus.watchOnce("--json").hasPrefix(#"{"activities":[{"label":"Fetching"}],"app":"probe""#))
        // One that hangs does not keep it from the others.
        let hanging = try await DesktopProbe(on: bus)
        Foundation.kill(hanging.processID, SIGSTOP)
        #expect(try await bus.watchOnce("--format", "text") == "probe: Fetching\n")
        Foundation.kill(hanging.processID, SIGCONT)
    }

    @Test(.needs("tmux", package: "tmux"), .needs(.bus))
    func `tmux shows the line in its status, without its own syntax`() async throws {
        let bus = try await PrivateBus()
        let program = try Command.built("indicator")
        let probe = try await DesktopProbe(on: bus)
        try await Tmux.withServer { inner in
            try await inner.command("set", "-g", "status-interval", "1")
            try await inner.command("set", "-g", "status-right-length", "70")
            try await inner.command(
                "set",
                "-g",
                "status-right",
                "#('\(program)' watch --bus '\(bus.address)' --format tmux)"
            )
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
