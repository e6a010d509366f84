#if DBus
import IndicatorBackends
import IndicatorCore
import Logging
import TestSupport
import Testing

@Suite struct BusAddressTests {
    @Test("A bus is called session, system, or by an address")
    func reading() throws {
        #expect(try DBusAddress("session") == .session)
        #expect(try DBusAddress("system") == .system)
        #expect(try DBusAddress("unix:path=/tmp/x") == .address("unix:path=/tmp/x"))
    }

    @Test("What is no address is refused", arguments: ["sesion", "", "unix:path", "unix:path=/x\0y", "/run/bus"])
    func refused(text: String) {
        #expect(throws: DBusPropertyError.self) { try DBusAddress(text) }
    }

    @Test("The session bus is found by the variable, then in the runtime folder, and never launched")
    func session() throws {
        let folder = try TemporaryDirectory()
        let here = ["XDG_RUNTIME_DIR": folder.path]
        #expect(throws: DBusPropertyError.noSessionBus) { try DBusAddress.session.resolved(in: here) }
        try folder.write("", to: "bus")
        #expect(try DBusAddress.session.resolved(in: here) == "unix:path=\(folder.path)/bus")
        #expect(try DBusAddress.session.resolved(in: ["DBUS_SESSION_BUS_ADDRESS": "unix:path=/a"]) == "unix:path=/a")
        #expect(throws: DBusPropertyError.noSessionBus) {
            try DBusAddress.session.resolved(in: ["DBUS_SESSION_BUS_ADDRESS": "autolaunch:"])
        }
    }

    @Test("The kind says whether the bus lets the app in, and what to do if not")
    func availability() async throws {
        let bus = try await PrivateBus()
        let kind = BackendKind.dbusProperty { ["DBUS_SESSION_BUS_ADDRESS": bus.address] }
        let context = BackendContext(name: "dbusProperty", applicationName: "my app", logger: .init(label: "test"))
        let settings = BackendSettings(definitions: kind.settings)
        #expect(
            await kind.availability(context, settings)
                == .available(detail: "org.activityindicator.Indicator1.my_app on \(bus.address)")
        )
        await bus.kill()
        guard case .unavailable(let reason, let help?) = await kind.availability(context, settings) else {
            Issue.record("a bus that was killed is available")
            return
        }
        #expect(reason.contains(bus.address) && reason.contains("cannot be reached"))
        #expect(help.contains("check that the bus runs"))
        let nowhere = BackendKind.dbusProperty { [:] }
        guard case .unavailable(_, let help?) = await nowhere.availability(context, settings) else {
            Issue.record("a process without a session has a session bus")
            return
        }
        #expect(help.contains("dbus-run-session"))
    }
}
#endif
