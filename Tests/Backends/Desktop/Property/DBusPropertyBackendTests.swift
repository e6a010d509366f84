#if DBus
@testable import BackendConfiguration
@testable import DesktopBackends
import TestSupport

@Suite(.needs(.bus)) struct DBusPropertyBackendTests {
    static let own = "org.activityindicator.Indicator1.test"
    static let (path, interface) = (DBusPropertyObject.path, DBusPropertyObject.interface)

    private func makeBackend(
        on bus: PrivateBus,
        application: String = "test",
        indicator: IndicatorManager? = nil
    ) -> BackendDriver<DBusPropertyBackend> {
        let settings = DBusPropertySettings(bus: .address(bus.address))
        let backend = DBusPropertyBackend(applicationName: application, settings: settings)
        return BackendDriver(backend, indicator: indicator)
    }

    /// A bus, and a backend on it that has started.
    private func started() async throws -> (PrivateBus, BackendDriver<DBusPropertyBackend>) {
        let bus = try await PrivateBus()
        return (bus, try await makeBackend(on: bus).started())
    }

    private let busy = IndicatorSnapshot(state: .active, activityCount: 2, label: "Fetching", progress: 0.25)

    /// All properties, as `busctl` prints them in JSON.
    private func properties(_ bus: PrivateBus, name: String = own) async throws -> [String: String] {
        let (all, path) = ("org.freedesktop.DBus.Properties", Self.path)
        let result = try await bus.busctl("--json=short", "call", name, path, all, "GetAll", "s", Self.interface)
        #expect(result.status == 0, "\(result.error)")
        let reply = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
        let values = try #require((reply?["data"] as? [[String: [String: Any]]])?.first)
        return try values.mapValues { value in
            let data = try #require(value["data"])
            let json = try JSONSerialization.data(withJSONObject: data, options: .fragmentsAllowed)
            return "\(value["type"] ?? "") \(data as? String ?? String(decoding: json, as: UTF8.self))"
        }
    }

    @Test func `All properties are on the bus, with their types`() async throws {
        let (bus, backend) = try await started()
        let idle = [
            "Visible": "b false", "State": "s inactive", "ActivityCount": "u 0", "Label": "s ", "Attention": "s ",
            "Progress": "d -1", "Activities": "a(sd) []",
            "Application": "s test", "ProcessID": "u \(getpid())", "Enabled": "b true",
        ]
        #expect(try await properties(bus) == idle)
        try await backend.update(busy)
        let changes = [
            "Visible": "b true", "State": "s active", "ActivityCount": "u 2", "Label": "s Fetching",
            "Progress": "d 0.25", "Activities": #"a(sd) [["Fetching",0.25]]"#,
        ]
        let shown = idle.merging(changes) { $1 }
        #expect(try await properties(bus) == shown)
        await backend.stop()
        #expect(try await bus.busctl("call", Self.own, Self.path, Self.interface, "X").status != 0)
    }

    @Test func `The end of each activity with a label is signalled once, even if it was never shown`() async throws {
        let bus = try await PrivateBus()
        let backend = makeBackend(on: bus)
        let indicator = IndicatorManager(backends: [backend.backend])
        #expect(await eventually { indicator.backendStatuses[0].state == .running })
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
        for text in [
            "('Fetching', 'failed', 'HTTP 503', ", "('Sending', 'succeeded', '', ", "('Waiting', 'cancelled', '', ",
        ] {
            #expect(monitor.output.components(separatedBy: text).count == 2, "\(monitor.output)")
        }
        let omitted = monitor.output.matches(of: /\.Finished .*, uint32 (\d+)\)/).compactMap { Int($0.1) }
        let jobs = monitor.output.components(separatedBy: "('job', 'unspecified', ").count - 1
        #expect(jobs + omitted.reduce(0, +) == 500 && omitted.count <= 10, "\(monitor.output)")
    }

    @Test func `A change is signalled with the new values of the changed properties only`() async throws {
        let (bus, backend) = try await started()
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
        let backend = try await makeBackend(on: bus, application: "te\u{1B}st").started()
        let name = "org.activityindicator.Indicator1.te_st"
        #expect(try await properties(bus, name: name)["Application"] == "s test")
        let monitor = try await SignalMonitor(bus, name: name)
        let labels = [
            ("<b>&amp;</b> \"quoted\"", "<b>&amp;</b> \"quoted\""),
            ("family 👩‍👩‍👧‍👦", "family 👩‍👩‍👧‍👦"), ("مرحبا \u{202E}abc", "مرحبا abc"),
            ("line\nbreak\ttab", "line break tab"),
            ("\u{E000}\u{10FFFD}", "\u{E000}\u{10FFFD}"), ("a\0b", "ab"), ("c\u{9B}d\u{7F}", "cd"),
            // sd-bus, which busctl uses, rejects messages with noncharacters.
            ("x\u{FFFE}\u{10FFFF}", "x"),
            (String(repeating: "0123456789", count: 32), String(repeating: "0123456789", count: 32)),
            (String(repeating: "€", count: 500_000), String(repeating: "€", count: 319) + "…"),
            // Of those that follow each other within a tenth of a second, the last is announced.
            ("\u{1B}]0;title\u{07}", "]0;title"),
        ]
        for (label, expected) in labels {
            try await backend.update(IndicatorSnapshot(state: .active, activityCount: 1, label: label))
            #expect(try await properties(bus, name: name)["Label"] == "s \(expected)")
        }
        #expect(await monitor.shows("]0;title"))
        #expect(!monitor.output.contains("\u{1B}") && !monitor.output.contains("\\u001b"))
        // An error quotes the caller's text without control characters.
        for method in ["Get", "GetAll"] {
            let arguments = [Self.interface, "wr\u{1B}]0;ong\nproperty"].suffix(method == "Get" ? 2 : 1)
            let result = try await Command.run(
                "busctl",
                ["--address=\(bus.address)", "call", name, Self.path, "org.freedesktop.DBus.Properties", method]
                    + [String(repeating: "s", count: arguments.count)] + arguments
            )
            #expect(result.error.contains("wr]0;ong property"), "\(result.error)")
        }
        await backend.stop()
    }

    @Test func `Numbers that are out of range are clamped`() async throws {
        let (bus, backend) = try await started()
        let rows: [(Int, Double, [String?])] = [(.max, .nan, ["u 4294967295", "d -1"]), (-1, 7, ["u 0", "d 1"])]
        for (count, progress, shown) in rows {
            let snapshot = IndicatorSnapshot(state: .active, activityCount: count, label: "x", progress: progress)
            try await backend.update(snapshot)
            let all = try await properties(bus)
            let found = [all["ActivityCount"], all["Progress"]]
            #expect(found == shown)
        }
        await backend.stop()
    }

    @Test func `When the name is taken, each further indicator uses the name of an instance`() async throws {
        let bus = try await PrivateBus()
        let backends = (0..<3).map { _ in makeBackend(on: bus) }
        for backend in backends { try await backend.start() }
        let second = "\(Self.own).instance\(getpid())"
        for name in [Self.own, second, second + "_2"] {
            #expect(try await properties(bus, name: name)["Application"] == "s test")
        }
        for backend in backends { await backend.stop() }
        // On a busy machine, a backend does not wait long enough for the bus.
        try await expectEventually {
            try await !bus.hasOwner(Self.own)
        }
        let again = try await makeBackend(on: bus).started()
        #expect(try await properties(bus)["Application"] == "s test")
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
        #expect(try await properties(bus, name: "org.activityindicator.Indicator1.my_panel")["Application"] == "s test")
        await driver.stop()
    }

    @Test func `A panel switches the indicator off and on, and immediately reads the new value`() async throws {
        let bus = try await PrivateBus()
        let manager = IndicatorManager(delays: .zero, backends: [makeBackend(on: bus).backend])
        #expect(await eventually { manager.backendStatuses[0].state == .running })
        let activity = manager.begin("Working")
        #expect(await eventually { (try? await properties(bus)["Visible"]) == "b true" })
        let monitor = try await SignalMonitor(bus, name: Self.own)
        func enable(_ value: String) async throws -> Bool {
            try await bus.busctl("set-property", Self.own, Self.path, Self.interface, "Enabled", "b", value).status == 0
        }
        #expect(try await enable("false"))
        #expect(!manager.isEnabled)
        let all = try await properties(bus)
        #expect(all["Enabled"] == "b false" && all["Visible"] == "b false" && all["ActivityCount"] == "u 1")
        #expect(await monitor.shows("'Enabled': <false>"))
        #expect(try await enable("true"))
        #expect(manager.isEnabled)
        #expect(await monitor.shows("'Enabled': <true>"))
        // Setting the current value changes nothing.
        #expect(try await enable("true"))
        activity.end()
        await manager.shutdown()
    }

    @Test func `Set is answered after the indicator was switched, and Get has it before any snapshot`() async throws {
        let bus = try await PrivateBus()
        // No snapshot follows, so the values that Get returns do not come from the indicator.
        let indicator = IndicatorManager()
        let backend = try await makeBackend(on: bus, indicator: indicator).started()
        try await backend.update(busy)
        let loop = try BlockingBus(address: bus.address)
        func call(_ member: String, _ arguments: BusValue...) throws -> BusValue? {
            let interface = "org.freedesktop.DBus.Properties"
            let own = BusValue.string(Self.interface)
            return try loop.call(
                .call(Self.own, path: Self.path, interface: interface, member: member, [own] + arguments)
            ).first
        }
        for isEnabled in [false, true, false] {
            #expect(try call("Set", .string("Enabled"), .variant(.boolean(isEnabled))) == nil)
            #expect(indicator.isEnabled == isEnabled)
            #expect(try call("Get", .string("Enabled")) == .variant(.boolean(isEnabled)))
            #expect(try call("Get", .string("Visible")) == .variant(.boolean(isEnabled)))
        }
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

    @Test func `A long name is cut so that every name that is tried has at most 255 bytes`() {
        for name in [String(repeating: "x", count: 1000), String(repeating: "7", count: 1000)] {
            for candidate in IndicatorBusName.candidates(for: name, processID: .max) {
                #expect(candidate.utf8.count <= 255)
                #expect(candidate.hasPrefix("org.activityindicator.Indicator1."))
            }
        }
    }

    @Test func `The app's name is tried first, then the instance's, then numbered ones`() {
        let candidates = IndicatorBusName.candidates(for: "app", processID: 42)
        #expect(
            candidates.prefix(3) == [
                "org.activityindicator.Indicator1.app",
                "org.activityindicator.Indicator1.app.instance42",
                "org.activityindicator.Indicator1.app.instance42_2",
            ]
        )
        #expect(Set(candidates).count == candidates.count)
    }
}
#endif
