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
        try await onDesktop("property", through: way) { desk in
            #expect(try await areRunning(desk.probe))
            try await desk.probe.tell("begin", "before") { try await desk.server.displayedCount == 1 }
            for round in 1...2 {
                await desk.bus.kill()
                // "was lost", and "cannot be reached" after the first attempt to reconnect.
                let lost = "unavailable: the bus at '\(desk.bus.address)' "
                #expect(try await desk.probe.backends("desktopNotification", "dbusProperty", are: lost))
                // Backends that need no bus continue.
                try await desk.probe.deliver("label", "round \(round)")
                #expect(try await desk.probe.status(of: "other") == "running")
                try await desk.bus.start()
                await desk.server.kill()
                try await desk.server.start()
                #expect(try await eventually { try await desk.server.displayedCount == 1 })
                #expect(try await areRunning(desk.probe))
                let reason = "over D-Bus, without libnotify: the connection to the bus was closed"
                if way == .auto { #expect(await desk.probe.logs(reason)) }
                #expect(try await eventually { try await desk.bus.property("Label") == "s \"round \(round)\"" })
                #expect(try await eventually { try await desk.bus.property("Visible") == "b true" })
            }
            await desk.server.kill()
            await desk.bus.kill()
            try await desk.probe.shutdown()
            #expect(desk.probe.isRunning)
        }
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
        arguments: ["delays", ""],
        NotificationWay.allCases
    )
    func flips(part: String, way: NotificationWay) async throws {
        try await onDesktop("property \(part)", through: way) { desk in
            #expect(try await areRunning(desk.probe))
            let signals = try await SignalMonitor(desk.bus, name: Self.name)
            var (seconds, rounds) = (0.0, 0.0)
            // 80 bytes a flip.
            try await desk.probe.expectFlatMemory(below: 8192) {
                // 10 s, or longer on a busy machine.
                seconds += try #require(Double(try await desk.probe.tell("flip", "100000", "10")))
                rounds += 1
                #expect(try await eventually { try await desk.bus.property("ActivityCount") == "u 0" })
                #expect(try await eventually { try await desk.bus.property("State") == "s \"inactive\"" })
                #expect(try await eventually { try await desk.server.displayedCount == 0 })
            }
            if part == "delays" {
                // Coalesced to 10 and 2 a second, plus each change of visibility.
                #expect(Double(signals.count) <= seconds * 10 + rounds * 40, "\(signals.count)")
                #expect(Double(desk.shown.count) <= seconds * 2 + rounds * 10, "\(desk.shown.count)")
            }
            // The last signal has the current state.
            await expectEventually {
                let states = signals.output.matches(of: /'State': <'([A-Za-z]+)'>/).map { String($0.1) }
                return states.last == "inactive"
            }
            try await desk.probe.tell("begin", "after") { try await desk.bus.property("Visible") == "b true" }
            #expect(try await eventually { try await desk.server.displayedCount == 1 })
        }
    }

    @Test func `An app that uses libdbus itself is not disturbed`() async throws {
        try await onDesktop("property neighbour") { desk in
            #expect(try await areRunning(desk.probe))
            try await desk.follow("begin work = work")
            #expect(try await desk.probe.tell("neighbour") == "ok")
            try await desk.probe.shutdown()
            #expect(try await desk.probe.tell("neighbour") == "ok")
        }
    }

    @Test("When idle, no thread wakes up", arguments: NotificationWay.allCases)
    func idle(way: NotificationWay) async throws {
        try await onDesktop("property delays", through: way) { desk in
            #expect(try await areRunning(desk.probe))
            try await desk.follow("begin work = work | end = nothing")
            #expect(await eventually { wakingThreads(of: desk.probe.processID).waking.isEmpty })
            await expectEventually { wakingThreads(of: desk.probe.processID).names.count { $0 == "ind-dbus" } == 1 }
        }
    }
}
#endif
