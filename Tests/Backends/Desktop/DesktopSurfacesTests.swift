#if DBus
@testable import DesktopBackends
import TestSupport

/// Both desktop backends in one app.
@Suite(.needs(.notifications)) struct DesktopSurfacesTests {
    private static let name = "org.activityindicator.Indicator1.probe"

    private func areRunning(_ probe: DesktopProbe) async throws -> Bool {
        try await probe.backends("desktopNotification", "dbusProperty", are: "running")
    }

    @Test("When the bus is killed and restarted, both backends recover", arguments: NotificationWay.allCases)
    func busIsKilled(way: NotificationWay) async throws {
        let bus = try await PrivateBus()
        let first = try await NotificationServer(on: bus)
        let probe = try await DesktopProbe("notification", "property", through: way, bus: bus)
        #expect(try await areRunning(probe))
        try await probe.tell("begin", "before") { try await first.displayedCount == 1 }
        for round in 1...2 {
            await bus.kill()
            // "was lost", and "cannot be reached" after the first attempt to reconnect.
            let lost = "unavailable: the bus at '\(bus.address)' "
            #expect(try await probe.backends("desktopNotification", "dbusProperty", are: lost))
            // Backends that need no bus continue.
            try await probe.deliver("label", "round \(round)")
            #expect(try await probe.status(of: "other") == "running")
            try await bus.start()
            let server = try await NotificationServer(on: bus)
            #expect(try await eventually { try await server.displayedCount == 1 })
            #expect(try await areRunning(probe))
            let reason = "over D-Bus, without libnotify: the connection to the bus was closed"
            if way == .auto { #expect(await probe.logs(reason)) }
            #expect(try await eventually { try await bus.property("Label") == "s \"round \(round)\"" })
            #expect(try await eventually { try await bus.property("Visible") == "b true" })
        }
        await bus.kill()
        try await probe.shutdown()
        #expect(probe.isRunning)
    }

    /// The panel showed an empty text, and MQTT sent one, at every end.
    @Test func `While the indicator is visible, its label stays on the bus`() async throws {
        let bus = try await PrivateBus()
        let probe = try await DesktopProbe("property", "delays", bus: bus, running: "dbusProperty")
        let signals = try await SignalMonitor(bus, name: Self.name)
        try await probe.follow("begin work | progress 0.4")
        #expect(await signals.shows("'active'"))
        try await probe.tell("end")
        #expect(await signals.shows("'delayingCompletion'"))
        #expect(try await eventually { try await bus.property("State") == "s \"inactive\"" })
        #expect(await signals.shows("'Visible': <false>"))
        let changes = signals.output.split(separator: "\n").filter { $0.contains("PropertiesChanged") }
        let hiding = try #require(changes.firstIndex { $0.contains("'Visible': <false>") })
        #expect(changes[..<hiding].contains { $0.contains("'ActivityCount': <uint32 0>") })
        for name in ["'Label': <''>", "'Progress': <-1.0>", "'Activities': <[]>", "'Activities': <@a(sd) []>"] {
            #expect(!changes[..<hiding].contains { $0.contains(name) }, "\(changes)")
        }
        #expect(try await bus.property("Label") == "s \"\"")
    }

    @Test(arguments: NotificationWay.allCases)
    func `The app's disposition of SIGPIPE is unchanged`(way: NotificationWay) async throws {
        let (bus, server) = try await PrivateBus.withServer()
        // Both connect to a bus that is silent.
        bus.pause()
        let probe = try await DesktopProbe("notification", "property", through: way, bus: bus)
        for backend in ["desktopNotification", "dbusProperty"] {
            try await expectEventually {
                #expect(try await probe.tell("sigpipe") == "default")
                return try await probe.status(of: backend).hasPrefix("unavailable")
            }
        }
        bus.resume()
        #expect(try await areRunning(probe))
        try await probe.tell("begin", "work") { try await server.displayedCount == 1 }
        #expect(try await probe.tell("sigpipe") == "default")
    }

    @Test(
        "100 000 flips: flat memory, few signals, the right end",
        .needs(.night),
        arguments: [true, false],
        NotificationWay.allCases
    )
    func flips(delays: Bool, way: NotificationWay) async throws {
        let (bus, server) = try await PrivateBus.withServer()
        let part = delays ? "delays" : "none"
        let probe = try await DesktopProbe("notification", "property", part, through: way, bus: bus)
        #expect(try await areRunning(probe))
        let signals = try await SignalMonitor(bus, name: Self.name)
        let monitor = try await NotifyMonitor(bus)
        // Reused memory is allocated in the first rounds, more of it if other threads are late. A leak grows in every
        // round: one round that grows by less than 80 bytes a flip shows that there is none.
        var growth = [Int.max]
        var seconds = 0.0
        while growth.count < 6, growth.last ?? 0 >= 8192 {
            let before = try #require(Int(try await probe.tell("memory")))
            // 10 s, or longer on a busy machine.
            seconds += try #require(Double(try await probe.tell("flip", "100000", "10")))
            #expect(try await eventually { try await bus.property("ActivityCount") == "u 0" })
            #expect(try await eventually { try await bus.property("State") == "s \"inactive\"" })
            #expect(try await eventually { try await server.displayedCount == 0 })
            growth.append(try #require(Int(try await probe.tell("memory"))) - before)
        }
        #expect(growth.last ?? .max < 8192, "kB in each round: \(growth.dropFirst())")
        if delays {
            let rounds = Double(growth.count - 1)
            // Coalesced to 10 and 2 a second, plus each change of visibility.
            #expect(Double(signals.count) <= seconds * 10 + rounds * 40, "\(signals.count)")
            #expect(Double(monitor.shown.count) <= seconds * 2 + rounds * 10, "\(monitor.shown.count)")
        }
        // The last signal has the current state.
        await expectEventually {
            let states = signals.output.matches(of: /'State': <'([A-Za-z]+)'>/).map { String($0.1) }
            return states.last == "inactive"
        }
        try await probe.tell("begin", "after") { try await bus.property("Visible") == "b true" }
        #expect(try await eventually { try await server.displayedCount == 1 })
    }

    @Test func `An app that uses libdbus itself is not disturbed`() async throws {
        try await onDesktop("property neighbour") { server, _, probe in
            #expect(try await areRunning(probe))
            try await probe.tell("begin", "work") { try await server.displayedCount == 1 }
            #expect(try await probe.tell("neighbour") == "ok")
            try await probe.shutdown()
            #expect(try await probe.tell("neighbour") == "ok")
        }
    }

    @Test("When idle, no thread wakes up", arguments: NotificationWay.allCases)
    func idle(way: NotificationWay) async throws {
        try await onDesktop("property delays", through: way) { server, _, probe in
            #expect(try await areRunning(probe))
            try await probe.follow("begin work = 1 | end = 0") { "\(try await server.displayedCount)" }
            #expect(await eventually { wakingThreads(of: probe.processID).waking.isEmpty })
            let names = wakingThreads(of: probe.processID).names
            #expect(names.count { $0 == "ind-dbus" } == 1)
        }
    }
}
#endif
