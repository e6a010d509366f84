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

    /// How many messages were sent by the app that has called this method, or sent this signal.
    private func count(_ monitor: BusMonitor, _ member: String) async throws -> Int {
        try await monitor.catchUp()
        let sender = monitor.messages.first { $0.member == member }?.sender
        return monitor.messages.count { $0.sender == sender }
    }

    @Test(arguments: [
        ("desktopJob", "requestView", 5.0), ("launcherEntry", "Update", 10), ("dbusProperty", "PropertiesChanged", 10),
    ])
    func `Messages have a limit a second, and the hidden indicator wakes up no thread`(
        backend: String,
        member: String,
        rate: Double
    ) async throws {
        let bus = try await PrivateBus()
        let server = try JobServer(on: bus)
        let probe = try await DesktopProbe(backends: backend, on: bus)
        let monitor = try await BusMonitor(bus)
        let limit = try await update(probe, rate: rate)
        #expect(await eventually { wakingThreads(of: probe.processID).waking.isEmpty })
        let count = try await count(monitor, member)
        #expect(count > 1 && count <= limit, "\(count)")
        withExtendedLifetime(server) {}
    }

    @Test(.needs(.rootMounts), .needs(.login)) func `A lock costs one message`() async throws {
        let bus = try await PrivateBus()
        let login = try await LoginManager(on: bus)
        let probe = try await DesktopProbe(backends: "sleepInhibitor", on: bus)
        let monitor = try await BusMonitor(bus)
        _ = try await update(probe)
        #expect(try await eventually { try await login.inhibitors() == [] })
        #expect(await eventually { wakingThreads(of: probe.processID).waking.isEmpty })
        #expect(try await count(monitor, "Inhibit") == 1)
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
        #expect(texts.count > 1 && texts.count <= limit, "\(texts.count)")
        #expect(await eventually { wakingThreads(of: probe.processID).waking.isEmpty })
    }
}
#endif
