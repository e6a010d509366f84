#if DBus
import TestSupport

/// What the desktop's backends cost: messages, and wake-ups. `Scripts/benchmark` measures their time.
@Suite(.needs(.busScripts)) struct DesktopCostTests {
    /// Updates an activity for three seconds. Returns how many messages are allowed in that time: some a second, and
    /// those of one show and hide.
    private func update(_ probe: DesktopProbe, rate: Double = 10) async throws -> Int {
        let answer = try await probe.tell("updates", "3").split(separator: "\t")
        let seconds = try #require(answer.first.flatMap { Double($0) })
        try await probe.tell("end")
        return Int(rate * seconds) + 5
    }

    @Test(arguments: [("desktopJob", 5.0), ("launcherEntry", 10), ("dbusProperty", 10)])
    func `Messages have a limit a second, and the hidden indicator wakes up no thread`(backend: String, rate: Double)
        async throws
    {
        let bus = try await PrivateBus()
        let server = try JobServer(on: bus)
        let probe = try await DesktopProbe(backends: backend, on: bus)
        let traffic = try await BusTraffic(of: probe, on: bus)
        let limit = try await update(probe, rate: rate)
        #expect(await eventually { wakingThreads(of: probe.processID).waking.isEmpty })
        let count = try await traffic.count()
        #expect(count > 3 && count <= limit, "\(count)")
        withExtendedLifetime(server) {}
    }

    @Test(.needs(.rootMounts), .needs(.login)) func `A lock costs one message`() async throws {
        let bus = try await PrivateBus()
        let login = try await LoginManager(on: bus)
        let probe = try await DesktopProbe(backends: "sleepInhibitor", on: bus)
        let traffic = try await BusTraffic(of: probe, on: bus)
        _ = try await update(probe)
        #expect(try await eventually { try await login.inhibitors() == [] })
        #expect(await eventually { wakingThreads(of: probe.processID).waking.isEmpty })
        #expect(try await traffic.count() == 1)
    }

    @Test("The status of a service is at most ten texts a second, and wakes up no thread while there is none")
    func status() async throws {
        let bus = try await PrivateBus()
        let socket = bus.folder.appending("notify")
        let manager = try ServiceManager(address: socket)
        let probe = try await DesktopProbe(backends: "systemdStatus", environment: ["NOTIFY_SOCKET": socket], on: bus)
        var texts: [String] = []
        async let answer = update(probe)
        // The kernel keeps only a few.
        await expectEventually {
            texts += manager.receiveAll()
            return texts.count > 1 && texts.last == "STATUS="
        }
        let limit = try await answer
        #expect(texts.count > 3 && texts.count <= limit, "\(texts.count)")
        #expect(await eventually { wakingThreads(of: probe.processID).waking.isEmpty })
    }
}

/// Records what a process sends on a bus.
private final class BusTraffic: Sendable {
    private let monitor: BusMonitor
    private let name: String

    init(of probe: DesktopProbe, on bus: PrivateBus) async throws {
        // Not `busctl list`, which shows no processes to some users.
        let script = """
            proxy = bus.get_object("org.freedesktop.DBus", "/org/freedesktop/DBus")
            daemon = dbus.Interface(proxy, "org.freedesktop.DBus")
            for name in daemon.ListNames():
                if name.startswith(":") and daemon.GetConnectionUnixProcessID(name) == \(probe.processID): print(name)
            """
        name = try await bus.python(script).output.trimmingCharacters(in: .newlines)
        #expect(name.hasPrefix(":"))
        monitor = try await BusMonitor(bus)
    }

    /// The number of messages so far.
    func count() async throws -> Int {
        try await monitor.catchUp()
        return monitor.messages.count { $0.sender == name }
    }
}
#endif
