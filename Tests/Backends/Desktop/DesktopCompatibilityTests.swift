#if DBus
import TestSupport

@testable import DesktopBackends

/// The backends of this module on a private bus: when that ends and returns, and after many cycles.
@Suite(.needs(.busScripts)) struct DesktopCompatibilityTests {
    enum Part {
        case property, dock, job, notification, lock

        var session: BusBackend.SessionMaker {
            switch self {
            case .property: BusBackend.property("probe")
            case .dock: BusBackend.dock
            case .job: BusBackend.job
            case .notification: BusBackend.notification
            case .lock: BusBackend.lock
            }
        }

        /// Starts the service that the backend needs besides the bus, which runs as long as the value exists.
        func service(on bus: PrivateBus) async throws -> Service? {
            switch self {
            case .property, .dock: return nil
            case .job:
                let server = try JobServer(on: bus)
                return Service(shown: { "\(server.open.count)" }, total: { server.views.count })
            case .notification:
                let server = try ScriptedServer(on: bus)
                return Service(shown: { "\(server.shown)" }, total: { Int(server.lastIdentifier) })
            case .lock:
                let login = try await LoginManager(on: bus)
                return Service(shown: { "\(try await login.inhibitors() ?? [])" })
            }
        }
    }

    struct Service: Sendable {
        /// What it shows.
        var shown: @Sendable () async throws -> String
        /// How much it has shown.
        var total: (@Sendable () -> Int)?
    }

    @Test(arguments: [Part.property, .dock, .job, .notification], BackendCompatibility.Case.allCases)
    func `A backend on a bus does what each must`(_ part: Part, _ expectation: BackendCompatibility.Case) async throws {
        try await check(part, expectation)
    }

    @Test(.needs(.rootMounts), .needs(.login), arguments: BackendCompatibility.Case.allCases)
    func `The lock of login1 does what every backend must`(_ expectation: BackendCompatibility.Case) async throws {
        try await check(.lock, expectation)
    }

    /// The end of its service takes the surface away; without one, the end of the bus does.
    private func check(_ part: Part, _ expectation: BackendCompatibility.Case) async throws {
        let bus = try await PrivateBus()
        let service = Locked<Service?>(try await part.service(on: bus))
        let needsService = service.withLock { $0 != nil }
        let shown: @Sendable () async throws -> String = {
            let current: Service? = service.withLock { $0 }
            return try await current?.shown() ?? ""
        }
        let surface = BackendCompatibility.Surface(
            take: { if needsService { _ = service.withLock { $0.take() } } else { await bus.kill() } },
            giveBack: {
                if !needsService { return try await bus.start() }
                let next = try await part.service(on: bus)
                service.withLock { $0 = next }
            },
            hang: { bus.pause() },
            goOn: { bus.resume() },
            shown: needsService ? shown : nil
        )
        try await BackendCompatibility(make: { BusBackend.probe(on: bus, part.session) }, surface: surface)
            .check(expectation)
    }

    @Test(arguments: [Part.property, .dock, .job, .notification])
    func `1000 shows and hides, without the limit of deliveries, leave nothing`(_ part: Part) async throws {
        try await cycle(part)
    }

    @Test(.needs(.rootMounts), .needs(.login))
    func `1000 shows and hides leave no lock`() async throws { try await cycle(.lock) }

    private func cycle(_ part: Part) async throws {
        let bus = try await PrivateBus()
        let service = try await part.service(on: bus)
        let dock = try await LauncherMonitor(bus)
        /// The match rules and names on the bus, the property, and what is shown.
        func state() async throws -> [String] {
            let script = """
                stats = bus.get_object("org.freedesktop.DBus", "/org/freedesktop/DBus")
                rules = stats.GetAllMatchRules(dbus_interface="org.freedesktop.DBus.Debug.Stats")
                print(sum(len(rules[name]) for name in rules if name != bus.get_unique_name()))
                """
            let (name, interface) = (IndicatorBusName.prefix + "probe", DBusPropertyObject.interface)
            let (all, path) = ("org.freedesktop.DBus.Properties", DBusPropertyObject.path)
            let properties = try await bus.busctl("call", name, path, all, "GetAll", "s", interface).output
            let names = try await bus.busctl("list", "--acquired").output.ranges(of: IndicatorBusName.prefix).count
            return [
                try await bus.python(script).output, "\(names)", properties, dock.updates.last ?? "nothing",
                try await service?.shown() ?? "",
            ]
        }
        let before = try await state()
        let driver = try await BackendDriver(BusBackend.probe(on: bus, part.session)).started()
        let idle = try await state()
        let hidden = try await service?.shown()
        for cycle in 1...1000 {
            let since = Date(timeIntervalSince1970: Double(cycle))
            try await driver.update(
                IndicatorSnapshot(state: .active, activityCount: 1, label: "\(cycle)", progress: 0.5, since: since)
            )
            if let service, let total = service.total {
                try #require(try await eventually { try await service.shown() != hidden && total() == cycle })
            }
            try await driver.update(IndicatorSnapshot(since: since))
            if let service, service.total != nil {
                try #require(try await eventually { try await service.shown() == hidden })
            }
        }
        try await expectEventually("\(idle)") { try await state() == idle }
        await driver.stop()
        try await expectEventually("\(before)") { try await state() == before }
    }
}
#endif
