#if DBus
import TestSupport

@testable import DesktopBackends

/// Several backends of one process on one bus.
@Suite(.needs(.busScripts)) struct SharedBusTests {
    private static let session = ["dbusProperty", "desktopJob", "desktopNotification", "launcherEntry"]
    private let folder: TemporaryDirectory

    init() throws {
        folder = try TemporaryDirectory()
        try folder.write("[Desktop Entry]\n", to: "applications/org.example.probe.desktop")
    }

    private func write(_ backends: [String]) throws -> String {
        try folder.write(
            """
            startDelay: 0
            completionDelay: 0
            backends: [\(backends.joined(separator: ", "))]
            desktopNotification: {through: dbus}
            launcherEntry: {desktopFile: org.example.probe.desktop}
            logFile: {path: \(folder.path)/log}
            """,
            to: "indicator.yaml"
        )
    }

    private func probe(_ backends: [String], _ bus: PrivateBus) async throws -> DesktopProbe {
        let environment = ["XDG_DATA_HOME": folder.path, "DBUS_SYSTEM_BUS_ADDRESS": bus.address]
        let probe = try await DesktopProbe("config=\(try write(backends))", environment: environment, bus: bus)
        for backend in backends { #expect(try await probe.backend(backend, is: "running")) }
        return probe
    }

    @Test(.needs(.notifications), .needs(.rootMounts), .needs(.login))
    func `There is at most one thread for each backend, one for timers and one for the log`() async throws {
        let (bus, server) = try await PrivateBus.withServer()
        let jobs = try JobServer(on: bus)
        let login = try await LoginManager(on: bus)
        let backends = Self.session + ["sleepInhibitor", "logFile"]
        let probe = try await probe(backends, bus)
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
}
#endif
