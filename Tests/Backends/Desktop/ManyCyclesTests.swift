#if DBus
import TestSupport

@testable import DesktopBackends

/// Sessions that are shown and hidden 1000 times, without the limit of deliveries.
@Suite(.needs(.busScripts)) struct ManyCyclesTests {
    private static let cycles = 1000

    private func cycle(
        _ surface: BackendDriver<BusBackend>,
        isShown: () -> Bool = { true },
        isHidden: () -> Bool = { true }
    ) async throws {
        for cycle in 0..<Self.cycles {
            let since = Date(timeIntervalSince1970: Double(cycle))
            try await surface.update(
                IndicatorSnapshot(state: .active, activityCount: 1, label: "\(cycle)", progress: 0.5, since: since)
            )
            try #require(await eventually(isShown))
            try await surface.update(IndicatorSnapshot(since: since))
            try #require(await eventually(isHidden))
        }
    }

    /// Does so with a session, and expects as many match rules as before, and after its end none.
    private func cycle(
        _ session: @escaping BusBackend.SessionMaker,
        on bus: PrivateBus,
        isShown: () -> Bool = { true },
        isHidden: () -> Bool = { true }
    ) async throws {
        let before = try await ruleCount(on: bus)
        let surface = try await BackendDriver(BusBackend.probe(on: bus, session)).started()
        let rules = try await ruleCount(on: bus)
        try await cycle(surface, isShown: isShown, isHidden: isHidden)
        #expect(try await ruleCount(on: bus) == rules)
        await surface.stop()
        #expect(try await eventually { try await ruleCount(on: bus) == before })
    }

    /// The match rules of all connections of this process.
    private func ruleCount(on bus: PrivateBus) async throws -> Int? {
        let script = """
            stats = bus.get_object("org.freedesktop.DBus", "/org/freedesktop/DBus")
            rules = stats.GetAllMatchRules(dbus_interface="org.freedesktop.DBus.Debug.Stats")
            print(sum(len(rules[name]) for name in rules if name != bus.get_unique_name()))
            """
        return Int(try await bus.python(script).output.trimmingCharacters(in: .newlines))
    }

    @Test func `1000 shown jobs leave no view and no match rule`() async throws {
        let bus = try await PrivateBus()
        let server = try JobServer(on: bus)
        let (isShown, isHidden) = ({ server.open.count == 1 }, { server.open.isEmpty })
        try await cycle(BusBackend.job, on: bus, isShown: isShown, isHidden: isHidden)
        #expect(server.views.count == Self.cycles && server.open.isEmpty)
    }

    @Test func `1000 shows and hides on the dock leave no entry and no match rule`() async throws {
        let bus = try await PrivateBus()
        let monitor = try await LauncherMonitor(bus)
        try await cycle(BusBackend.dock, on: bus)
        #expect(await eventually { monitor.updates.last ?? "nothing" == "nothing" })
    }

    @Test(.needs(.notifications)) func `1000 shown notifications are closed, and leave no match rule`() async throws {
        let bus = try await PrivateBus()
        let server = try ScriptedServer(address: bus.address)
        let (isShown, isHidden) = ({ server.shown.count == 1 }, { server.shown.isEmpty })
        try await cycle(BusBackend.notification, on: bus, isShown: isShown, isHidden: isHidden)
        #expect(server.lastIdentifier == Self.cycles && server.shown.isEmpty)
    }

    @Test func `1000 shows and hides leave one name on the bus, and the property as it was`() async throws {
        let bus = try await PrivateBus()
        let (name, interface) = (IndicatorBusName.prefix + "cycles", DBusPropertyObject.interface)
        let surface = try await BackendDriver(BusBackend.probe(on: bus, BusBackend.property("cycles"))).started()
        let signals = try await SignalMonitor(bus, name: name)
        func properties() async throws -> String {
            let (all, path) = ("org.freedesktop.DBus.Properties", DBusPropertyObject.path)
            return try await bus.busctl("call", name, path, all, "GetAll", "s", interface).output
        }
        func names() async throws -> Int {
            try await bus.busctl("list").output.components(separatedBy: "org.activityindicator").count - 1
        }
        let (before, rules) = (try await properties(), try await ruleCount(on: bus))
        #expect(try await names() == 1 && before.contains("\"Visible\" b false"))
        try await cycle(surface)
        #expect(try await eventually { try await properties() == before })
        #expect(await eventually { signals.output.contains("'Visible': <false>") })
        #expect(try await names() == 1)
        #expect(try await ruleCount(on: bus) == rules)
        await surface.stop()
        #expect(try await eventually { try await names() == 0 })
    }

    @Test(.needs(.rootMounts), .needs(.login))
    func `1000 shows and hides leave no lock and no match rule`() async throws {
        let bus = try await PrivateBus()
        let login = try await LoginManager(on: bus)
        try await cycle(BusBackend.lock, on: bus)
        // logind lists a lock as long as a process has its descriptor.
        #expect(try await eventually { try await login.inhibitors() == [] })
    }
}
#endif
