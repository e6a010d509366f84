#if DBus
@testable import DesktopBackends
import TestSupport

/// `busctl` (sd-bus), `gdbus` (GLib) and python3-dbus (libdbus) as clients.
@Suite(.needs(.busScripts)) struct DBusClientTests {
    private static let name = "org.activityindicator.Indicator1.test"
    private static let (path, interface) = (DBusPropertyObject.path, DBusPropertyObject.interface)
    private static let properties = "org.freedesktop.DBus.Properties"

    /// An indicator on a private bus.
    private final class Fixture: Sendable {
        let bus: PrivateBus
        let manager: IndicatorManager

        init() async throws {
            bus = try await PrivateBus()
            let backend = DBusPropertyBackend(
                applicationName: "test",
                settings: DBusPropertySettings(bus: .address(bus.address))
            )
            manager = IndicatorManager(backends: [backend])
            let manager = manager
            #expect(await eventually { manager.backendStatuses[0].state == .running })
        }

        /// Calls a method with `gdbus`, which prints the names of errors.
        func call(_ method: String, _ arguments: String..., path: String = DBusClientTests.path) async throws -> String
        {
            let result = try await Command.run(
                "gdbus",
                ["call", "--address", bus.address, "--dest", name, "--object-path", path, "--method", method]
                    + arguments,
                package: "libglib2.0-bin"
            )
            return result.status == 0 ? result.output : result.error
        }
    }

    @Test func `Each client introspects the object and finds it below the root`() async throws {
        let fixture = try await Fixture()
        let bus = fixture.bus
        #expect(try await bus.busctl("tree", "--list", Self.name).output.contains(Self.path))
        let busctl = try await bus.busctl("introspect", Self.name, Self.path, Self.interface).output
        for (name, type) in [("Visible", "b"), ("ActivityCount", "u"), ("Progress", "d"), ("Label", "s")] {
            #expect(busctl.contains(try Regex("\\.\(name) +property +\(type) ")))
        }
        #expect(busctl.contains(try Regex("\\.Activities +property +a\\(sd\\) +0 +emits-change")))
        #expect(busctl.contains(try Regex("\\.Enabled +property +b +true +emits-change writable")))
        let all = try await bus.busctl("introspect", Self.name, Self.path).output
        #expect(["Introspectable", "Peer", "Properties"].allSatisfy { all.contains("org.freedesktop.DBus.\($0) ") })
        let gdbus = try await bus.gdbus("introspect", "--dest", Self.name, "--object-path", "/", "--recurse").output
        #expect(gdbus.contains("readwrite b Enabled = true;") && gdbus.contains("readonly s State = 'inactive';"))
        let python = try await bus.python(
            """
            import xml.etree.ElementTree as tree
            object = bus.get_object("\(Self.name)", "\(Self.path)")
            node = tree.fromstring(object.Introspect(dbus_interface="org.freedesktop.DBus.Introspectable"))
            print(sorted(i.get("name") for i in node.findall("interface")))
            """
        )
        #expect(
            python.output == "['org.activityindicator.Indicator1', 'org.freedesktop.DBus.Introspectable', "
                + "'org.freedesktop.DBus.Peer', 'org.freedesktop.DBus.Properties']\n"
        )
        await fixture.manager.shutdown()
    }

    @Test func `Each client reads each property, and all together`() async throws {
        let fixture = try await Fixture()
        let bus = fixture.bus
        let expected = [
            ("Visible", "b false", "<false>"), ("State", "s \"inactive\"", "<'inactive'>"),
            ("ActivityCount", "u 0", "<uint32 0>"), ("Label", "s \"\"", "<''>"), ("Attention", "s \"\"", "<''>"),
            ("Progress", "d -1", "<-1.0>"), ("Activities", "a(sd) 0", "<@a(sd) []>"),
            ("Application", "s \"test\"", "<'test'>"), ("ProcessID", "u \(getpid())", "<uint32 \(getpid())>"),
            ("Enabled", "b true", "<true>"),
        ]
        for (name, busctl, gdbus) in expected {
            let read = try await bus.busctl("get-property", Self.name, Self.path, Self.interface, name)
            #expect(read.output == busctl + "\n")
            #expect(try await fixture.call("\(Self.properties).Get", Self.interface, name) == "(\(gdbus),)\n")
        }
        // An empty interface name selects the interface that has the property.
        #expect(try await fixture.call("\(Self.properties).Get", "", "Enabled") == "(<true>,)\n")
        let all = try await fixture.call("\(Self.properties).GetAll", Self.interface)
        #expect(
            all.hasPrefix("({'Visible': <false>, 'State': <'inactive'>, 'ActivityCount': <uint32 0>, 'Label': <''>, ")
        )
        let python = try await bus.python(
            """
            object = bus.get_object("\(Self.name)", "\(Self.path)")
            values = object.GetAll("\(Self.interface)", dbus_interface="\(Self.properties)")
            print([type(v).__name__ for v in values.values()], object.Get("\(Self.interface)", "State"))
            """
        )
        #expect(
            python.output
                == "['Boolean', 'String', 'UInt32', 'String', 'String', 'Double', 'Array', 'String', 'UInt32', 'Boolean'] "
                + "inactive\n",
            "\(python.error)"
        )
        await fixture.manager.shutdown()
    }

    @Test func `Wrong calls get the standard errors`() async throws {
        let fixture = try await Fixture()
        let own = Self.interface
        let get = "\(Self.properties).Get"
        let set = "\(Self.properties).Set"
        let answers: [(String, String)] = [
            ("UnknownInterface", try await fixture.call(get, "org.example.Wrong", "Visible")),
            ("UnknownInterface", try await fixture.call("\(Self.properties).GetAll", "org.example.Wrong")),
            ("UnknownInterface", try await fixture.call(set, "org.example.Wrong", "Enabled", "<true>")),
            ("UnknownMethod", try await fixture.call("org.example.Wrong.Method")),
            ("UnknownProperty", try await fixture.call(get, own, "visible")),
            ("UnknownProperty", try await fixture.call(set, own, "Colour", "<true>")),
            ("InvalidArgs", try await fixture.call(set, own, "Enabled", "<'true'>")),
            ("InvalidArgs", try await fixture.call(set, own, "Enabled", "<1>")),
            ("PropertyReadOnly", try await fixture.call(set, own, "Visible", "<true>")),
            ("UnknownMethod", try await fixture.call("\(own).Show")),
            ("UnknownMethod", try await fixture.call("\(Self.properties).Delete", own)),
            ("UnknownMethod", try await fixture.call(get, own, "Visible", path: "/wrong")),
        ]
        for (expected, answer) in answers {
            #expect(answer.contains("org.freedesktop.DBus.Error.\(expected):"), "\(answer)")
        }
        // gdbus checks the signatures and would not send these.
        for (method, arguments) in [
            ("Get", ["s", own]), ("GetAll", ["u", "7"]), ("Set", ["ssu", own, "Enabled", "1"]),
        ] {
            let result = try await Command.run(
                "busctl",
                ["--address=\(fixture.bus.address)", "call", Self.name, Self.path, Self.properties, method] + arguments
            )
            #expect(result.error.contains("takes arguments of types"), "\(result.error)")
        }
        let python = try await fixture.bus.python(
            """
            object = bus.get_object("\(Self.name)", "\(Self.path)", introspect=False)
            calls = [("Get", ("\(own)", "No")), ("Set", ("\(own)", "Visible", dbus.Boolean(True, variant_level=1)))]
            for method, arguments in calls + [("Get", (1, 2))]:
                try:
                    object.get_dbus_method(method, "\(Self.properties)")(*arguments)
                except dbus.DBusException as error:
                    print(error.get_dbus_name().split(".")[-1])
            """
        )
        #expect(python.output == "UnknownProperty\nPropertyReadOnly\nInvalidArgs\n", "\(python.error)")
        #expect(fixture.manager.isEnabled)
        await fixture.manager.shutdown()
    }

    @Test func `Peer is implemented, and a call that expects no reply gets none`() async throws {
        let fixture = try await Fixture()
        #expect(try await fixture.call("org.freedesktop.DBus.Peer.Ping") == "()\n")
        _ = try await fixture.bus.python(
            """
            object = bus.get_object("\(Self.name)", "\(Self.path)", introspect=False)
            for value in (dbus.String("wrong", variant_level=1), dbus.Boolean(False, variant_level=1)):
                own = dict(dbus_interface="\(Self.properties)", ignore_reply=True)
                object.Set("\(Self.interface)", "Enabled", value, **own)
            bus.flush()
            object.Get("\(Self.interface)", "Enabled", dbus_interface="\(Self.properties)")
            """
        )
        #expect(!fixture.manager.isEnabled)
        await fixture.manager.shutdown()
    }
}
#endif
