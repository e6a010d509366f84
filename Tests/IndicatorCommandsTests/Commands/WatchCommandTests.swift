#if DBus
import TestSupport

/// `indicator watch`, on a private bus.
@Suite(.needs(.bus)) struct WatchCommandTests {
    @Test("Indicators that exist, appear, change and vanish are a line each; with --json, an object of all properties")
    func lifecycle() async throws {
        let bus = try await PrivateBus()
        let first = try await DesktopProbe(on: bus)
        let (watch, json) = (try bus.watch(), try bus.watch("--json"))
        #expect(await eventually { watch.output.hasSuffix("probe appeared: hidden\n") })
        let appeared = #"{"activities":[],"app":"probe","count":0,"enabled":true,"event":"appeared","instance":"#
        #expect(await json.prints(appeared + "\"\(first.processID)\""))
        try await first.tell("begin", "a \"label\"\u{1B}[31m \u{1F469}")
        let label = "'a \"label\"[31m 👩'"
        #expect(await watch.prints("probe changed: shown, 1 activity, \(label)\n"))
        let changed =
            #"{"activities":[{"label":"a \"label\"[31m 👩"}],"app":"probe","count":1,"enabled":true,"#
            + #""event":"changed","instance":"\#(first.processID)","label":"a \"label\"[31m 👩","name":"probe","#
            + #""state":"active","visible":true}"# + "\n"
        #expect(await json.prints(changed), "\(json.output)")
        try await first.tell("progress", "0.4")
        #expect(await watch.prints("1 activity, 40%, \(label)\n"))
        try await first.tell("attention", "Passphrase?")
        #expect(await watch.prints("\(label), asks 'Passphrase?'\n"))
        try await first.tell("end")
        #expect(await watch.prints("probe finished: \(label) unspecified, "))
        let finished =
            #"{"app":"probe","event":"finished","instance":"\#(first.processID)","label":"a \"label\"[31m 👩","#
        #expect(await json.prints(finished + #""name":"probe","outcome":"unspecified","seconds":"#), "\(json.output)")
        let second = try await DesktopProbe("property", bus: bus)
        let name = "probe.instance\(second.processID)"
        #expect(await watch.prints("\(name) appeared: hidden\n"))
        #expect(await json.prints(appeared + "\"\(second.processID)\""))
        try await second.shutdown()
        #expect(await watch.prints("\(name) vanished\n"))
        let vanished = #"{"app":"probe","event":"vanished","instance":"\#(second.processID)","name":"\#(name)"}"#
        #expect(await json.prints(vanished + "\n"), "\(json.output)")
        await bus.kill()
        for daemon in [watch, json] {
            #expect(await daemon.ends())
            #expect(daemon.errors.contains("indicator: error: the bus at '\(bus.address)' was lost"))
        }
    }

    @Test func `Without a bus the reason is printed, and an invalid address is wrong usage`() async throws {
        let bus = try await PrivateBus(isRunning: false)
        let program = try Command.built("indicator")
        let unreachable = try await Command.run(program, ["watch", "--bus", bus.address])
        #expect(unreachable.status == 1 && unreachable.error.contains("cannot be reached"))
        let wrong = try await Command.run(program, ["watch", "--bus", "sesion"])
        #expect(wrong.status == 64 && wrong.error.contains("'sesion' is not a D-Bus address"))
    }
}
#endif
