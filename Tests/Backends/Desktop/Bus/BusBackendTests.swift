#if DBus
import TestSupport

@testable import DesktopBackends

/// Several backends of one process on one bus, and how libdbus is loaded.
@Suite(.needs(.busScripts)) struct BusBackendTests {
    @Test(.needs(.notifications), .needs(.rootMounts), .needs(.login))
    func `There is at most one thread for each backend, one for timers and one for the log`() async throws {
        let (bus, server) = try await PrivateBus.withServer()
        let jobs = try JobServer(on: bus)
        let login = try await LoginManager(on: bus)
        let probe = try await DesktopProbe(
            backends: "dbusProperty, desktopJob, desktopNotification, launcherEntry, sleepInhibitor, logFile",
            "desktopNotification: {through: dbus}\nlogFile: {path: \(bus.folder.path)/log}",
            on: bus
        )
        try await probe.tell("begin", "work") { try await server.displayedCount == 1 }
        // One for each of the two buses, and one for the file.
        let names = Set(["ind-dbus", "ind-logFile", "indicator", "ind-log"])
        await expectEventually("\(wakingThreads(of: probe.processID).names)") {
            let threads = wakingThreads(of: probe.processID).names.filter { $0.hasPrefix("ind") }
            return threads.count <= 5 && Set(threads).isSubset(of: names)
        }
        withExtendedLifetime((jobs, login)) {}
    }

    @Test func `While a backend waits for a server that hangs, the others on the bus go on`() async throws {
        let bus = try await PrivateBus()
        let server = try BusPeer.hangingServer(on: bus)
        var wentOn = false
        // The wait ends after two seconds, which may be too short on a busy machine.
        for _ in 0..<5 where !wentOn {
            let probe = try await DesktopProbe("notification", "property", through: .dbus, bus: bus)
            try await probe.tell("begin", "work")
            #expect(try await eventually { try await bus.property("Visible") == "b true" })
            wentOn = try await probe.status(of: "desktopNotification").contains("starting")
            try await probe.shutdown()
            await probe.kill()
        }
        #expect(wentOn)
        withExtendedLifetime(server) {}
    }

    @Test("Without libdbus, a backend on a bus is unavailable, and says what to install; later it is loaded")
    func library() async throws {
        let bus = try await PrivateBus()
        let folder = try TemporaryDirectory()
        // Masks the installed library.
        let mask = try folder.write("", to: "libdbus-1.so.3")
        let probe = try await DesktopProbe("property", environment: ["LD_LIBRARY_PATH": folder.path], bus: bus)
        #expect(try await probe.backend("dbusProperty", is: "libdbus cannot be loaded: "))
        #expect(try await probe.status(of: "dbusProperty").contains("install it (apt-get install libdbus-1-3)"))
        // It may have been for a lack of descriptors.
        try FileManager.default.removeItem(atPath: mask)
        #expect(try await probe.backend("dbusProperty", is: "running"))
        try await probe.shutdown()
    }
}
#endif
