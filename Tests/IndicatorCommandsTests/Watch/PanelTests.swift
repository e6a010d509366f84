#if DBus
import Foundation
import IndicatorBackends
import TestSupport
import Testing

@testable import IndicatorCommands

/// `watch --format`, on a virtual clock.
@Suite struct PanelTests {
    private static func name(_ app: String) -> String { "org.activityindicator.Indicator1.\(app)" }

    private static func properties(
        _ app: String,
        _ label: String?,
        visible: Bool = true,
        state: String = "active",
        progress: Double = -1,
        attention: String = "",
        count: UInt32 = 1
    ) -> [BusProperty] {
        [
            BusProperty("Visible", .boolean(visible)), BusProperty("State", .string(state)),
            BusProperty("ActivityCount", .uint32(count)), BusProperty("Label", .string(label ?? "")),
            BusProperty("Attention", .string(attention)), BusProperty("Progress", .double(progress)),
            BusProperty("Application", .string(app)),
        ]
    }

    private static func shown(
        _ app: String,
        _ label: String?,
        progress: Double = -1,
        attention: String = "",
        count: UInt32 = 1
    ) -> IndicatorWatcher.Event {
        let properties = properties(app, label, progress: progress, attention: attention, count: count)
        return .changed(name: name(app), properties: properties, changed: [])
    }

    private static func hidden(_ app: String, state: String = "inactive") -> IndicatorWatcher.Event {
        .changed(name: name(app), properties: properties(app, "x", visible: false, state: state), changed: [])
    }

    private static func finished(_ app: String, _ outcome: String, _ message: String = "", seconds: Double = 12)
        -> IndicatorWatcher.Event
    {
        .finished(name: name(app), label: "Fetching", outcome: outcome, message: message, seconds: seconds)
    }

    private var panel = Panel()

    /// The line after an event, if one is written now.
    private mutating func line(_ event: IndicatorWatcher.Event?, at milliseconds: Int) -> PanelLine? {
        if let event { panel.receive(event, at: .milliseconds(milliseconds)) }
        return panel.next(at: .milliseconds(milliseconds)).line
    }

    @Test mutating func theFirstLineIsWrittenWhenAllIndicatorsAreKnown() {
        let idle = Self.properties("a", nil, visible: false, state: "inactive", count: 0)
        #expect(line(.appeared(name: Self.name("a"), properties: idle), at: 0) == nil)
        #expect(line(.listed, at: 0) == PanelLine())
        #expect(line(nil, at: 5000) == nil)
    }

    @Test mutating func allAppsAreOnOneLine() {
        _ = line(.listed, at: 0)
        #expect(line(Self.shown("a", "Fetching", progress: 0.4, count: 3), at: 1000)?.text == "a: Fetching 40% (3)")
        let both = line(Self.shown("b", nil, progress: 0.8), at: 2000)
        #expect(both?.text == "a: Fetching 40% (3) · b: 80%")
        #expect(both?.percentage == 60 && both?.kind == .active)
        let asking = line(Self.shown("b", "Login", attention: "Passphrase?"), at: 3000)
        #expect(asking?.text == "b: Login: Passphrase? · a: Fetching 40% (3)" && asking?.kind == .attention)
        #expect(line(.vanished(name: Self.name("b")), at: 4000)?.text == "a: Fetching 40% (3)")
        #expect(line(Self.hidden("a"), at: 5000) == PanelLine())
    }

    @Test mutating func theStartDelayIsNotShown() {
        _ = line(.listed, at: 0)
        #expect(line(Self.hidden("a", state: "delayingStart"), at: 1000) == nil)
    }

    @Test mutating func thereAreAtMostTenLinesASecondAndTheLastStateIsShown() {
        _ = line(.listed, at: 0)
        var lines: [String] = []
        for time in 1000...2000 {
            if let line = line(Self.shown("a", "Step \(time)"), at: time) { lines.append(line.text) }
        }
        #expect(lines.count == 11)
        _ = panel.next(at: .milliseconds(2001))
        panel.receive(Self.shown("a", "Last"), at: .milliseconds(2002))
        let wakeAt = panel.next(at: .milliseconds(2002)).wakeAt
        #expect(wakeAt == .milliseconds(2100))
        #expect(line(nil, at: 2100)?.text == "a: Last")
    }

    @Test mutating func theEndIsShownAtOnceAndNoLineTwice() {
        _ = line(.listed, at: 0)
        #expect(line(Self.shown("a", "Fetching"), at: 1000) != nil)
        #expect(line(Self.shown("a", "Fetching"), at: 2000) == nil)
        #expect(line(Self.shown("a", "Fetching", progress: 0.5), at: 3000) != nil)
        #expect(line(Self.hidden("a"), at: 3001) == PanelLine())
        #expect(line(Self.hidden("a"), at: 4000) == nil)
    }

    @Test mutating func anOutcomeIsShownForFiveSeconds() {
        _ = line(.listed, at: 0)
        _ = line(Self.shown("a", "Fetching"), at: 1000)
        _ = line(Self.hidden("a"), at: 2000)
        let done = line(Self.finished("a", "succeeded"), at: 2100)
        #expect(done?.text == "a: Fetching done" && done?.kind == .succeeded)
        #expect(done?.tooltip == "a: Fetching done after 12.0 s")
        // The app has ended.
        #expect(line(.vanished(name: Self.name("a")), at: 2200) == nil)
        #expect(panel.next(at: .milliseconds(2200)).wakeAt == .milliseconds(7100))
        #expect(line(nil, at: 7100) == PanelLine())
    }

    @Test mutating func aFailureIsShownBesideOtherWork() {
        _ = line(.listed, at: 0)
        _ = line(Self.shown("a", "Fetching"), at: 1000)
        _ = line(Self.shown("b", "Indexing"), at: 2000)
        let failed = line(Self.finished("a", "failed", "HTTP 503\u{1B}[31m", seconds: 0.1), at: 3000)
        #expect(failed?.text == "a: Fetching · b: Indexing · a: Fetching failed: HTTP 503[31m")
        #expect(failed?.kind == .failed)
        #expect(line(nil, at: 8000)?.kind == .active)
        // A panel shows neither of these.
        #expect(line(Self.finished("a", "cancelled"), at: 9000) == nil)
        #expect(line(Self.finished("a", "succeeded", seconds: 0.2), at: 9000) == nil)
    }

    @Test(arguments: [
        (PanelFormat.text, "a: <b> & \"#[fg=red]\" %{F#f00} 40%\n"),
        (.tmux, "a: <b> & \"##[fg=red]\" %{F##f00} 40%\n"), (.polybar, "a: <b> & \"#[fg=red]\" % {F#f00} 40%\n"),
        (
            .i3bar,
            ##"[{"full_text":"a: <b> & \"#[fg=red]\" %{F#f00} 40%","name":"indicator","urgent":false}],"## + "\n"
        ),
        (
            .waybar,
            #"{"alt":"active","class":"active","percentage":40,"#
                + #""text":"a: &lt;b&gt; &amp; &quot;#[fg=red]&quot; %{F#f00} 40%","#
                + #""tooltip":"a: &lt;b&gt; &amp; &quot;#[fg=red]&quot; %{F#f00} 40%"}"# + "\n"
        ),
    ])
    mutating func aHostileLabelIsEscaped(format: PanelFormat, text: String) throws {
        _ = line(.listed, at: 0)
        let shown = try #require(
            line(Self.shown("a", "<b> & \"#[fg=red]\"\n%{F#f00}\u{1B}", progress: 0.4), at: 1000)
        )
        #expect(try format.text(of: shown) == text)
    }
}

/// `watch --format` with real apps on a private bus.
@Suite struct PanelProcessTests {
    private func watch(_ bus: PrivateBus, _ options: String...) throws -> Daemon {
        try Daemon(try Command.built("indicator-demo"), ["watch", "--bus", bus.address] + options)
    }

    @Test("Each format shows the work of two apps, its end, and the end of the bus", .needs(.bus))
    func formats() async throws {
        let bus = try await PrivateBus()
        var panels: [String: Daemon] = [:]
        for format in ["text", "tmux", "polybar", "i3bar", "waybar"] {
            panels[format] = try watch(bus, "--format", format)
        }
        func shows(_ text: String) async -> Bool {
            await eventually {
                panels.allSatisfy { $1.output.contains($0 == "tmux" ? text.replacing("#", with: "##") : text) }
            }
        }
        #expect(await eventually { panels.values.allSatisfy { $0.output.hasSuffix("\n") } })
        let first = try await DesktopProbe("property", bus: bus)
        #expect(try await first.backend("dbusProperty", is: "running"))
        let second = try await DesktopProbe("property", bus: bus)
        #expect(try await second.backend("dbusProperty", is: "running"))
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
        #expect(panels.allSatisfy { $1.status == 1 && isIdle($0) })
    }

    @Test("--once prints one line and exits, with and without apps", .needs(.bus))
    func once() async throws {
        let bus = try await PrivateBus()
        let demo = try Command.built("indicator-demo")
        func once(_ options: String...) async throws -> String {
            let result = try await Command.run(demo, ["watch", "--bus", bus.address, "--once"] + options)
            #expect(result.status == 0 && result.error == "")
            return result.output
        }
        #expect(try await once() == "")
        #expect(try await once("--format", "text") == "\n")
        let probe = try await DesktopProbe("property", bus: bus)
        #expect(try await probe.backend("dbusProperty", is: "running"))
        try await probe.tell("begin", "Fetching")
        #expect(try await eventually { try await once("--format", "tmux") == "probe: Fetching\n" })
        #expect(
            try await once("--format", "i3bar")
                == #"[{"full_text":"probe: Fetching","name":"indicator","urgent":false}]"# + "\n"
        )
        #expect(try await once() == "probe appeared: shown, active, 1 activity, 'Fetching'\n")
        #expect(try await once("--json").hasPrefix(#"{"activities":[{"label":"Fetching"}]"#))
        // One that hangs does not keep it from the others.
        let hanging = try await DesktopProbe("property", bus: bus)
        #expect(try await hanging.backend("dbusProperty", is: "running"))
        Foundation.kill(hanging.processID, SIGSTOP)
        #expect(try await once("--format", "text") == "probe: Fetching\n")
        Foundation.kill(hanging.processID, SIGCONT)
    }

    @Test("A panel format that does not exist is wrong usage")
    func faults() async throws {
        let demo = try Command.built("indicator-demo")
        let wrong = try await Command.run(demo, ["watch", "--format", "wayba"])
        #expect(wrong.status == 64)
        #expect(wrong.error.contains("--format is 'wayba'; it must be waybar, i3bar, polybar, tmux or text"))
        for (options, message) in [
            (["--json", "--format", "text"], "--json cannot be combined with --format"),
            (["--summary"], "without --mqtt"), (["--topic", "x"], "without --mqtt"),
        ] {
            let result = try await Command.run(demo, ["watch"] + options)
            #expect(result.status == 64 && result.error.contains(message), "\(result.error)")
        }
    }

    @Test("tmux shows the line in its status, without its own syntax", .needs("tmux", package: "tmux"), .needs(.bus))
    func tmux() async throws {
        let bus = try await PrivateBus()
        let demo = try Command.built("indicator-demo")
        let probe = try await DesktopProbe("property", bus: bus)
        #expect(try await probe.backend("dbusProperty", is: "running"))
        try await Tmux.withServer { inner in
            try await inner.command("set", "-g", "status-interval", "1")
            try await inner.command("set", "-g", "status-right-length", "70")
            try await inner.command(
                "set",
                "-g",
                "status-right",
                "#('\(demo)' watch --bus '\(bus.address)' --format tmux)"
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
