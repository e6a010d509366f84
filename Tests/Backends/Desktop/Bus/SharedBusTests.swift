#if DesktopNotification
import Foundation
import TestSupport
import Testing

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

    /// How many connections the process has to the bus, and how many match rules they have.
    private func connections(of probe: DesktopProbe, to bus: PrivateBus) async throws -> String {
        let script = """
            proxy = bus.get_object("org.freedesktop.DBus", "/org/freedesktop/DBus")
            daemon = dbus.Interface(proxy, "org.freedesktop.DBus")
            stats = dbus.Interface(proxy, "org.freedesktop.DBus.Debug.Stats")
            own = [n for n in daemon.ListNames() if n.startswith(":")
                and daemon.GetConnectionUnixProcessID(n) == \(probe.processID)]
            rules = stats.GetAllMatchRules()
            print(len(own), sum(len(rules[n]) for n in own))
            """
        return try await bus.python(script).output.trimmingCharacters(in: .newlines)
    }

    @Test(
        "Backends on one bus share a connection and a thread; each releases its name and rules when it is removed",
        .needs(.notifications)
    )
    func shared() async throws {
        let bus = try await PrivateBus()
        let server = try await NotificationServer(on: bus)
        let jobs = try JobServer(on: bus)
        let probe = try await probe(Self.session, bus)
        try await probe.tell("begin", "work")
        #expect(try await eventually { try await server.displayedCount == 1 })
        #expect(await eventually { jobs.views.count == 1 })
        // The job: its server, and cancellation. The notification: its server, and closing. The dock: its start.
        #expect(try await connections(of: probe, to: bus) == "1 5")
        #expect(wakingThreads(of: probe.processID).names.count { $0 == "ind-dbus" } == 1)

        _ = try write(["desktopJob"])
        #expect(try await eventually { try await server.displayedCount == 0 })
        #expect(try await eventually { try await connections(of: probe, to: bus) == "1 2" })
        #expect(try await bus.busctl("list").output.contains("org.activityindicator") == false)
        #expect(jobs.views.count == 1)
        try await probe.tell("end")
        #expect(await eventually { jobs.views.first?.end != nil })
        try await probe.shutdown()
        #expect(try await eventually { try await connections(of: probe, to: bus) == "0 0" })
    }

    @Test(
        "There is at most one thread for each backend, one for timers and one for the log",
        .needs(.notifications),
        .needs(.rootMounts),
        .needs(.login)
    )
    func threads() async throws {
        let bus = try await PrivateBus()
        let server = try await NotificationServer(on: bus)
        let jobs = try JobServer(on: bus)
        let login = try await LoginManager(on: bus)
        let backends = Self.session + ["sleepInhibitor", "logFile"]
        let probe = try await probe(backends, bus)
        try await probe.tell("begin", "work")
        #expect(try await eventually { try await server.displayedCount == 1 })
        // One for each of the two buses, and one for the file.
        let names = Set(["ind-dbus", "ind-logFile", "indicator", "ind-log"])
        #expect(
            await eventually {
                let threads = wakingThreads(of: probe.processID).names.filter { $0.hasPrefix("ind") }
                return threads.count <= 5 && Set(threads).isSubset(of: names)
            },
            "\(wakingThreads(of: probe.processID).names)"
        )
        try await probe.shutdown()
        withExtendedLifetime((jobs, login)) {}
    }

    @Test("While a backend waits for a server that hangs, the others on the bus go on")
    func hungServer() async throws {
        let bus = try await PrivateBus()
        let server = try BusPeer(
            name: NotificationSender.interface,
            path: NotificationSender.path,
            address: bus.address,
            answer: { _ in [] }
        )
        var wentOn = false
        // The wait ends after two seconds, which may be too short on a busy machine.
        for _ in 0..<5 where !wentOn {
            let probe = try await DesktopProbe("notification", "property", through: .dbus, bus: bus)
            try await probe.tell("begin", "work")
            let get = ["get-property", "org.activityindicator.Indicator1.probe", IndicatorObject.path]
            #expect(
                try await eventually {
                    try await bus.busctl(get[0], get[1], get[2], IndicatorObject.interface, "Visible").output
                        .hasPrefix("b true")
                }
            )
            wentOn = try await probe.status(of: "desktopNotification").contains("starting")
            try await probe.shutdown()
            await probe.kill()
        }
        #expect(wentOn)
        withExtendedLifetime(server) {}
    }
}
#endif
