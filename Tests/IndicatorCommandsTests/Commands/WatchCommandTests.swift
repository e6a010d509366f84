#if DBus
import TestSupport

/// `indicator watch`, on a private bus.
@Suite(.needs(.bus)) struct WatchCommandTests {
    @Test func `Indicators that exist, appear, change and vanish are printed, a line each`() async throws {
        let bus = try await PrivateBus()
        let first = try await DesktopProbe(on: bus)
        let watch = try bus.watch()
        #expect(await eventually { watch.output == "probe appeared: hidden\n" })
        try await first.tell("begin", "Fetching\u{1B}[31m \u{1F469}")
        #expect(await watch.prints("probe changed: shown, 1 activity, 'Fetching[31m 👩'\n"))
        try await first.tell("progress", "0.4")
        #expect(await watch.prints("1 activity, 40%, 'Fetching[31m 👩'\n"))
        try await first.tell("attention", "Passphrase?")
        #expect(await watch.prints("'Fetching[31m 👩', asks 'Passphrase?'\n"))
        try await first.tell("end")
        #expect(await watch.prints("probe finished: 'Fetching[31m 👩' unspecified, "))
        let second = try await DesktopProbe("property", bus: bus)
        let name = "probe.instance\(second.processID)"
        #expect(await watch.prints("\(name) appeared: hidden\n"))
        _ = try await second.shutdown()
        #expect(await watch.prints("\(name) vanished\n"))
        await bus.kill()
        #expect(await watch.ends())
        #expect(watch.errors.contains("indicator: error: the bus at '\(bus.address)' was lost"))
    }

    @Test func `With --json, each line is an object with all properties`() async throws {
        let bus = try await PrivateBus()
        let watch = try bus.watch("--json")
        let probe = try await DesktopProbe(on: bus)
        #expect(await watch.prints("\"event\":\"appeared\""))
        try await probe.tell("begin", "a \"label\"")
        let expected = """
            {"activities":[{"label":"a \\"label\\""}],"app":"probe","count":1,"enabled":true,"event":"changed",\
            "instance":"\(probe.processID)","label":"a \\"label\\"","name":"probe","state":"active","visible":true}

            """
        #expect(await watch.prints(expected), "\(watch.output)")
        #expect(watch.output.hasPrefix(#"{"activities":[],"app":"probe","count":0,"enabled":true,"event":"appeared","#))
        try await probe.tell("end")
        let finished =
            #"{"app":"probe","event":"finished","instance":"\#(probe.processID)","label":"a \"label\"","#
            + #""name":"probe","outcome":"unspecified","seconds":"#
        #expect(await watch.prints(finished), "\(watch.output)")
        _ = try await probe.shutdown()
        let vanished = #"{"app":"probe","event":"vanished","instance":"\#(probe.processID)","name":"probe"}"# + "\n"
        #expect(await eventually { watch.output.hasSuffix(vanished) })
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
