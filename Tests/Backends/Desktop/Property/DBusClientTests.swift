#if DBus
@testable import DesktopBackends
import TestSupport

/// `busctl` (sd-bus), `gdbus` (GLib) and python3-dbus (libdbus) as clients.
@Suite(.needs(.busScripts)) struct DBusClientTests {
    private static let name = "org.activityindicator.Indicator1.test"
    private static let (path, interface) = (DBusPropertyObject.path, DBusPropertyObject.interface)
    private static let properties = BusObject.propertiesInterface

    @Test func `Each client introspects the object and finds it below the root`() async throws {
        try await onPropertyBus { bus, _ in
            #expect(try await bus.busctl("tree", "--list", Self.name).output.contains(Self.path))
            let busctl = try await bus.busctl("introspect", Self.name, Self.path).output
            for line in [
                #"\.Visible +property +b "#, #"\.ActivityCount +property +u "#, #"\.Progress +property +d "#,
                #"\.Label +property +s "#, #"\.Activities +property +a\(sd\) +0 +emits-change"#,
                #"\.Enabled +property +b +true +emits-change writable"#, #"\.Finished +signal +a\(sssd\)u "#,
                "org.freedesktop.DBus.Introspectable ", "org.freedesktop.DBus.Peer ",
                "org.freedesktop.DBus.Properties ",
            ] {
                #expect(busctl.contains(try Regex(line)), "\(line): \(busctl)")
            }
            let options = ["--dest", Self.name, "--object-path", "/", "--recurse"]
            let gdbus = try await bus.gdbus("introspect", options).output
            #expect(gdbus.contains("readwrite b Enabled = true;") && gdbus.contains("readonly s State = 'inactive';"))
        }
    }

    @Test func `Each client reads each property, and all together`() async throws {
        try await onPropertyBus { bus, manager in
            func gdbus(_ method: String, _ arguments: String...) async throws -> String {
                let call = ["--dest", Self.name, "--object-path", Self.path, "--method", method] + arguments
                return try await bus.gdbus("call", call).output
            }
            #expect(
                try await gdbus("\(Self.properties).GetAll", Self.interface) == """
                    ({'Visible': <false>, 'State': <'inactive'>, 'ActivityCount': <uint32 0>, 'Label': <''>, \
                    'Attention': <''>, 'Progress': <-1.0>, 'Activities': <@a(sd) []>, 'Application': <'test'>, \
                    'ProcessID': <uint32 \(getpid())>, 'Enabled': <true>},)\n
                    """
            )
            // An empty interface name selects the interface that has the property.
            #expect(try await gdbus("\(Self.properties).Get", "", "Enabled") == "(<true>,)\n")
            #expect(try await gdbus("org.freedesktop.DBus.Peer.Ping") == "()\n")
            let activity = manager.begin("Fetching")
            activity.progress = 0.25
            try await expectEventually { try await bus.property("Progress", of: "test") == "d 0.25" }
            let (path, interface) = (Self.path, Self.interface)
            #expect(
                try await bus.busctl("call", Self.name, path, Self.properties, "GetAll", "s", interface).output == """
                    a{sv} 10 "Visible" b true "State" s "active" "ActivityCount" u 1 "Label" s "Fetching" \
                    "Attention" s "" "Progress" d 0.25 "Activities" a(sd) 1 "Fetching" 0.25 \
                    "Application" s "test" "ProcessID" u \(getpid()) "Enabled" b true\n
                    """
            )
            let python = try await bus.python(
                """
                object = bus.get_object("\(Self.name)", "\(Self.path)")
                values = object.GetAll("\(Self.interface)", dbus_interface="\(Self.properties)")
                print(len(values), all(object.Get("\(Self.interface)", name) == values[name] for name in values))
                """
            )
            #expect(python.output == "10 True\n", "\(python.error)")
            activity.end()
        }
    }

    @Test func `Wrong calls get the standard errors, and change nothing`() async throws {
        try await onPropertyBus { bus, manager in
            let loop = try BlockingBus(address: bus.address)
            func expect(
                _ error: String,
                _ member: String,
                _ arguments: BusValue...,
                path: String = Self.path,
                interface: String = Self.properties
            ) {
                let call = BusMessage.call(Self.name, path: path, interface: interface, member: member, arguments)
                let found = #expect(throws: BusError.self, "\(member) \(arguments)") { try loop.call(call) }
                #expect(found?.name == "org.freedesktop.DBus.Error.\(error)", "\(member) \(arguments)")
            }
            let (own, wrong) = (BusValue.string(Self.interface), BusValue.string("org.example.Wrong"))
            let (enabled, visible) = (BusValue.string("Enabled"), BusValue.string("Visible"))
            let off = BusValue.variant(.boolean(false))
            expect("UnknownInterface", "Get", wrong, visible)
            expect("UnknownInterface", "GetAll", wrong)
            expect("UnknownInterface", "Set", wrong, enabled, off)
            expect("UnknownProperty", "Get", own, .string("visible"))
            expect("UnknownProperty", "Set", own, .string("Colour"), off)
            expect("PropertyReadOnly", "Set", own, visible, off)
            expect("InvalidArgs", "Set", own, enabled, .variant(.string("false")))
            expect("InvalidArgs", "Set", own, enabled, .variant(.int32(0)))
            expect("InvalidArgs", "Set", own, enabled, .boolean(false))
            expect("InvalidArgs", "Get", own)
            expect("InvalidArgs", "GetAll", .uint32(7))
            expect("UnknownMethod", "Delete", own)
            expect("UnknownMethod", "Show", interface: Self.interface)
            expect("UnknownMethod", "Get", own, enabled, interface: "org.example.Wrong")
            expect("UnknownMethod", "Get", own, enabled, path: "/wrong")
            #expect(manager.isEnabled)
        }
    }
}
#endif
