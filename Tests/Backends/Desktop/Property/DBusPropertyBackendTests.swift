#if DBus
@testable import BackendConfiguration
@testable import DesktopBackends
import TestSupport

/// Runs a test with the indicator of an app `test` on a bus of its own, which is idle and has no delays.
func onPropertyBus(_ body: (PrivateBus, IndicatorManager) async throws -> Void) async throws {
    let bus = try await PrivateBus()
    let settings = DBusPropertySettings(bus: .address(bus.address))
    let backend = DBusPropertyBackend(applicationName: "test", settings: settings)
    let manager = IndicatorManager(delays: .zero, backends: [backend])
    #expect(await eventually { manager.backendStatuses[0].state == .running })
    try await body(bus, manager)
    await manager.shutdown()
}

@Suite(.needs(.bus)) struct DBusPropertyBackendTests {
    private static let own = "org.activityindicator.Indicator1.test"
    private static let (path, interface) = (DBusPropertyObject.path, DBusPropertyObject.interface)
    private static let properties = BusObject.propertiesInterface

    private func driver(
        on bus: PrivateBus,
        application: String = "test",
        indicator: IndicatorManager? = nil
    ) async throws -> BackendDriver<DBusPropertyBackend> {
        let settings = DBusPropertySettings(bus: .address(bus.address))
        let backend = DBusPropertyBackend(applicationName: application, settings: settings)
        return try await BackendDriver(backend, indicator: indicator).started()
    }

    private let busy = IndicatorSnapshot(state: .active, activityCount: 2, label: "Fetching", progress: 0.25)

    @Test func `The end of each activity with a label is signalled once, even if it was never shown`() async throws {
        try await onPropertyBus { bus, indicator in
            let monitor = try await SignalMonitor(bus, name: Self.own)
            indicator.begin().end(.failed("without a label"))
            indicator.begin("Fetch\u{1B}ing").end(.failed("HTTP\n503"))
            indicator.begin("Sending").end(.succeeded)
            indicator.begin("Waiting").end(.cancelled)
            let asking = indicator.begin("Signing")
            asking.attention = "Passphrase?"
            #expect(await monitor.shows("'Attention': <'Passphrase?'>"))
            asking.end()
            #expect(await monitor.shows(".Finished ([('Signing', 'unspecified', '', "))
            // More than a message has, while the others are announced.
            for _ in 0..<500 { indicator.begin("job").end() }
            await indicator.shutdown()
            #expect(await monitor.shows("does not have an owner"))
            func count(_ text: String) -> Int { monitor.output.components(separatedBy: text).count - 1 }
            #expect(count("('Fetching', 'failed', 'HTTP 503', ") == 1, "\(monitor.output)")
            #expect(count("('Sending', 'succeeded', '', ") == 1, "\(monitor.output)")
            #expect(count("('Waiting', 'cancelled', '', ") == 1, "\(monitor.output)")
            let omitted = monitor.output.matches(of: /\.Finished .*, uint32 (\d+)\)/).compactMap { Int($0.1) }
            #expect(count("('job', 'unspecified', ") + omitted.reduce(0, +) == 500, "\(monitor.output)")
            #expect(omitted.count < 100, "\(monitor.output)")
        }
    }

    @Test func `A change is signalled with the new values of the changed properties only`() async throws {
        let bus = try await PrivateBus()
        let backend = try await driver(on: bus)
        let monitor = try await SignalMonitor(bus, name: Self.own)
        var snapshot = busy
        try await backend.update(snapshot)
        #expect(await monitor.shows("'Visible': <true>, 'State': <'active'>, 'ActivityCount': <uint32 2>"))
        snapshot.activities[0].progress = 0.5
        try await backend.update(snapshot)
        let changes = "{'Progress': <0.5>, 'Activities': <[('Fetching', 0.5)]>}"
        #expect(await monitor.shows("('\(Self.interface)', \(changes), @as [])"))
        snapshot.since = Date()
        try await backend.update(snapshot)
        snapshot.activities = []
        try await backend.update(snapshot)
        #expect(await monitor.shows("'Label': <''>"))
        #expect(monitor.count == 3)
        try await backend.update(IndicatorSnapshot())
        await backend.stop()
        // Clients are notified that it is hidden before the name is released.
        #expect(await monitor.shows("'Visible': <false>"))
    }

    @Test func `No text on the bus has control characters; the rest of a label arrives unchanged`() async throws {
        let bus = try await PrivateBus()
        let backend = try await driver(on: bus, application: "te\u{1B}st")
        let name = "org.activityindicator.Indicator1.te_st"
        func text(_ property: String) async throws -> String? {
            let json = try await bus.busctl("--json=short", "get-property", name, Self.path, Self.interface, property)
            return try JSONDecoder().decode([String: String].self, from: Data(json.output.utf8))["data"]
        }
        // sd-bus, which busctl uses, rejects messages with noncharacters.
        let label = "\u{1B}]0;a\0b\u{9B}\u{07} <b>&amp;</b> \"quoted\"\n👩‍👩‍👧‍👦\u{10FFFD}\u{FFFE}"
        try await backend.update(IndicatorSnapshot(state: .active, activityCount: 1, label: label))
        #expect(try await text("Label") == "]0;ab <b>&amp;</b> \"quoted\" 👩‍👩‍👧‍👦\u{10FFFD}")
        #expect(try await text("Application") == "test")
        let long = IndicatorSnapshot(state: .active, activityCount: 1, label: String(repeating: "€", count: 500_000))
        try await backend.update(long)
        #expect(try await text("Label") == String(repeating: "€", count: 319) + "…")
        // An error quotes the caller's text without control characters.
        let wrong = "wr\u{1B}]0;ong\nproperty"
        let get = try await bus.busctl("call", name, Self.path, Self.properties, "Get", "ss", Self.interface, wrong)
        let getAll = try await bus.busctl("call", name, Self.path, Self.properties, "GetAll", "s", wrong)
        for result in [get, getAll] { #expect(result.error.contains("wr]0;ong property"), "\(result.error)") }
        await backend.stop()
    }

    @Test func `Numbers that are out of range are clamped`() throws {
        let object = DBusPropertyObject(application: "test", processID: 1)
        for (count, progress, shown) in [(Int.max, Double.nan, (UInt32.max, -1.0)), (-1, 7, (0, 1))] {
            let snapshot = IndicatorSnapshot(state: .active, activityCount: count, label: "x", progress: progress)
            let properties = object.properties(of: snapshot)
            #expect(properties.contains(BusProperty("ActivityCount", .uint32(shown.0))))
            #expect(properties.contains(BusProperty("Progress", .double(shown.1))))
        }
    }

    @Test func `When the name is taken, each further indicator uses the name of an instance`() async throws {
        let bus = try await PrivateBus()
        var backends: [BackendDriver<DBusPropertyBackend>] = []
        for name in ["test", "test.instance\(getpid())", "test.instance\(getpid())_2"] {
            backends.append(try await driver(on: bus))
            #expect(try await bus.property("Application", of: name) == "s \"test\"")
        }
        for backend in backends { await backend.stop() }
        // On a busy machine, a backend does not wait long enough for the bus.
        try await expectEventually { try await !bus.hasOwner(Self.own) }
        let again = try await driver(on: bus)
        #expect(try await bus.property("Application", of: "test") == "s \"test\"")
        await again.stop()
    }

    @Test func `The setting 'name' replaces the app's name in the bus name, and nowhere else`() async throws {
        let bus = try await PrivateBus()
        let kind = try BackendKind.dbusProperty.with(["bus": .string(bus.address), "name": "my panel"])
        let backend = try kind.make(
            BackendContext(name: "panel", applicationName: "test", logger: .init(label: "test"))
        )
        #expect(backend.name == "panel")
        let driver = try await BackendDriver(try #require(backend as? DBusPropertyBackend)).started()
        #expect(try await bus.property("Application", of: "my_panel") == "s \"test\"")
        await driver.stop()
    }

    @Test func `A panel switches the indicator off and on, and immediately reads the new value`() async throws {
        try await onPropertyBus { bus, manager in
            let activity = manager.begin("Working")
            try await expectEventually { try await bus.property("Visible", of: "test") == "b true" }
            let monitor = try await SignalMonitor(bus, name: Self.own)
            // Setting the current value changes nothing.
            for isEnabled in [false, true, true] {
                let (path, interface, value) = (Self.path, Self.interface, "\(isEnabled)")
                let set = try await bus.busctl("set-property", Self.own, path, interface, "Enabled", "b", value)
                #expect(set.status == 0 && manager.isEnabled == isEnabled)
                #expect(try await bus.property("Enabled", of: "test") == "b \(isEnabled)")
                #expect(await monitor.shows("'Enabled': <\(isEnabled)>"))
                #expect(try await bus.property("ActivityCount", of: "test") == "u 1")
            }
            activity.end()
        }
    }

    @Test func `Set is answered after the indicator was switched, and Get has it before any snapshot`() async throws {
        let bus = try await PrivateBus()
        // No snapshot follows, so the values that Get returns do not come from the indicator.
        let indicator = IndicatorManager()
        let backend = try await driver(on: bus, indicator: indicator)
        try await backend.update(busy)
        let loop = try BlockingBus(address: bus.address)
        func message(_ member: String, _ arguments: BusValue...) -> BusMessage? {
            let own = BusValue.string(Self.interface)
            return .call(Self.own, path: Self.path, interface: Self.properties, member: member, [own] + arguments)
        }
        func get(_ property: String) throws -> BusValue? { try loop.call(message("Get", .string(property))).first }
        for isEnabled in [false, true, false] {
            #expect(try loop.call(message("Set", .string("Enabled"), .variant(.boolean(isEnabled)))).isEmpty)
            #expect(indicator.isEnabled == isEnabled)
            #expect(try get("Enabled") == .variant(.boolean(isEnabled)))
            #expect(try get("Visible") == .variant(.boolean(isEnabled)))
        }
        // Of calls that expect no reply, a wrong one is dropped.
        loop.send(message("Set", .string("Enabled"), .variant(.string("wrong"))))
        loop.send(message("Set", .string("Enabled"), .variant(.boolean(true))))
        #expect(try get("Enabled") == .variant(.boolean(true)))
        await backend.stop()
    }
}

@Suite struct IndicatorBusNameTests {
    @Test(
        "An app's name becomes an element of a bus name",
        arguments: [
            ("my-app", "my-app"), ("My_App2", "My_App2"), ("org.example.app", "org_example_app"), ("7zip", "_7zip"),
            ("Büro", "B_ro"), ("a b/c", "a_b_c"), ("", "_"), ("日本", "__"), ("👩‍👩‍👧", "_____"),
        ]
    )
    func element(name: String, element: String) {
        #expect(IndicatorBusName.element(for: name) == element)
    }

    @Test(arguments: ["x", "7"])
    func `A long name is cut so that every name that is tried has at most 255 bytes`(letter: String) {
        let name = String(repeating: letter, count: 1000)
        for candidate in IndicatorBusName.candidates(for: name, processID: .max) {
            #expect(candidate.utf8.count <= 255 && candidate.hasPrefix("org.activityindicator.Indicator1."))
        }
    }
}
#endif
