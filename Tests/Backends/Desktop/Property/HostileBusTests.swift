#if DBus
import Foundation
import IndicatorCore
import IndicatorThreads
import TestSupport
import Testing

@testable import DesktopBackends

/// A malicious bus, and malicious peers on a bus.
@Suite(.needs(.busScripts)) struct HostileBusTests {
    private static let path = "/org/activityindicator/Indicator1"
    private static let own = "org.activityindicator.Indicator1.probe"

    @Test("A bus that sends an endless line makes the backends unavailable, and the app's memory is bounded")
    func endlessLine() async throws {
        let folder = try TemporaryDirectory()
        let path = folder.appending("bus")
        let script = """
            import socket, sys, threading
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(sys.argv[1])
            listener.listen(16)
            print("listening", flush=True)
            def talk(connection):
                try:
                    while True: connection.sendall(b"x" * 65536)
                except OSError:
                    print("closed", flush=True)
            while True:
                threading.Thread(target=talk, args=(listener.accept()[0],), daemon=True).start()
            """
        let bus = try Daemon("/usr/bin/python3", ["-c", script, path], package: "python3")
        #expect(await eventually { bus.output.contains("listening") })
        let probe = try await DesktopProbe("notification", "property", bus: nil, address: "unix:path=\(path)")
        for backend in ["desktopNotification", "dbusProperty"] {
            #expect(try await probe.backend(backend, is: "cannot be reached"))
        }
        #expect(await eventually { bus.output.split(separator: "\n").count > 4 })
        #expect(try peakMemory(of: probe.processID) < 100_000)
        try await probe.shutdown()
    }

    @Test("The arguments of an invalid call are not decoded")
    func floodOfStrings() async throws {
        let bus = try await PrivateBus()
        let probe = try await DesktopProbe("property", bus: bus)
        #expect(try await probe.backend("dbusProperty", is: "running"))
        let before = try peakMemory(of: probe.processID)
        let loop = try BlockingBus(address: bus.address)
        // 8 MB on the wire.
        let flood = BusValue.strings(Array(repeating: "x", count: 1_000_000))
        for (interface, member) in [
            ("org.freedesktop.DBus.Properties", "Get"), ("org.example.Wrong", "Get"),
            (DBusPropertyBackendTests.interface, "X"),
        ] {
            let call = BusMessage.call(Self.own, path: Self.path, interface: interface, member: member, [flood])
            #expect(throws: BusError.self) { try loop.call(call, timeLimit: .seconds(60)) }
        }
        // Decoded, it would take 90 MB.
        #expect(try peakMemory(of: probe.processID) - before < 60_000)
    }

    @Test("Decoding is bounded")
    func boundedDecoding() async throws {
        let bus = try await PrivateBus()
        let probe = try await DesktopProbe("property", bus: bus)
        #expect(try await probe.backend("dbusProperty", is: "running"))
        let python = try await bus.python(
            """
            object = bus.get_object("\(Self.own)", "\(Self.path)", introspect=False)
            for arguments in [("x" * 6000000, "y"), ("\(DBusPropertyBackendTests.interface)", "y" * 6000000)]:
                try:
                    object.Get(*arguments, dbus_interface="org.freedesktop.DBus.Properties")
                except dbus.DBusException as error:
                    print(error.get_dbus_name().split(".")[-1], len(error.get_dbus_message()) < 400)
            properties = dbus.Interface(object, "org.freedesktop.DBus.Properties")
            print(properties.Get("\(DBusPropertyBackendTests.interface)", "State"))
            """
        )
        #expect(
            python.output == "LimitsExceeded True\nUnknownProperty True\ninactive\n",
            "\(python.output)\(python.error)"
        )
    }
}
#endif
