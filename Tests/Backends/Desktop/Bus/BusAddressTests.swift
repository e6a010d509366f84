#if DBus
@testable import BackendConfiguration
@testable import DesktopBackends
import TestSupport

@Suite struct BusAddressTests {
    @Test func `A bus is session or system, or has an address`() throws {
        #expect(try DBusAddress("session") == .session && DBusAddress("system") == .system)
    }

    @Test(arguments: ["sesion", "", "unix:path", "unix:path=/x\0y", "/run/bus"])
    func `An invalid address is rejected`(text: String) {
        #expect(throws: Unavailability.self) { try DBusAddress(text) }
    }

    @Test(arguments: [
        "unix:path=/run/user/1000/bus", "unix:abstract=/tmp/dbus-x,guid=0123456789abcdef0123456789abcdef",
        "unix:path=/a;unix:path=/b;", "unix:path=/a%3bunixexec%3apath%3d/bin/sh",
    ])
    func `An address may name sockets`(address: String) throws {
        try DBusAddress.check(address)
        #expect(try DBusAddress(address) == .address(address))
    }

    @Test(arguments: [
        "unixexec:path=/bin/sh,argv1=-c,argv2=id", "autolaunch:", "unix:path=/nowhere;unixexec:path=/bin/sh",
        "unix:path=/%c3%a9;autolaunch:scope=install-path", "nonce-tcp:host=a,port=1,noncefile=/etc/passwd",
        "launchd:env=X", "systemd:", "UNIX:path=/a", "unix:tmpdir=/tmp", "unix:path=/a,abstract=b",
        // Servers listen there, but nothing connects to it.
        "unix:runtime=yes",
        // Its connections have no limit of time.
        "tcp:host=localhost,port=1234",
    ])
    func `No element of an address runs a program, reads a file or uses the network`(address: String) {
        let error = #expect(throws: Unavailability.self) { try DBusAddress(address) }
        #expect(error?.reason.contains("only 'unix:' with path= or abstract= is allowed; others may run") == true)
        // Also not of one from the environment, or from code.
        let places: [(DBusAddress, String)] = [
            (.session, "DBUS_SESSION_BUS_ADDRESS"), (.system, "DBUS_SYSTEM_BUS_ADDRESS"), (.address(address), ""),
        ]
        for (bus, variable) in places {
            #expect(throws: Unavailability.self) { try bus.resolved(in: [variable: address]) }
        }
    }

    @Test func `The session bus is found by the variable, then in the runtime folder, and never launched`() throws {
        let folder = try TemporaryDirectory()
        let here = ["XDG_RUNTIME_DIR": folder.path]
        func hasNone(_ environment: [String: String]) -> Bool {
            let error = #expect(throws: Unavailability.self) { try DBusAddress.session.resolved(in: environment) }
            return error?.reason.hasPrefix("there is no session bus: DBUS_SESSION_BUS_ADDRESS is not set") == true
        }
        #expect(hasNone(here))
        try folder.write("", to: "bus")
        #expect(try DBusAddress.session.resolved(in: here) == "unix:path=\(folder.path)/bus")
        #expect(try DBusAddress.session.resolved(in: ["DBUS_SESSION_BUS_ADDRESS": "unix:path=/a"]) == "unix:path=/a")
        #expect(hasNone(["DBUS_SESSION_BUS_ADDRESS": "autolaunch:"]))
        // An empty variable counts as none.
        let system = try DBusAddress.system.resolved(in: ["DBUS_SYSTEM_BUS_ADDRESS": ""])
        #expect(system == "unix:path=/run/dbus/system_bus_socket")
    }

    @Test("The availability names the name and the bus, or what to do: a rule to add, or a bus to start", .needs(.bus))
    func availability() async throws {
        let bus = try await PrivateBus(policy: "<deny own=\"org.activityindicator.Indicator1.my_app\"/>")
        let kind = try BackendKind.dbusProperty.with(["bus": .string(bus.address)])
        func availability(_ app: String) async -> Result<String?, Unavailability> {
            await kind.availability(.init(name: "dbusProperty", applicationName: app, logger: .init(label: "test")))
        }
        func problem(_ app: String) async throws -> String {
            let error = await #expect(throws: Unavailability.self) { try await availability(app).get() }
            return try #require(error).description
        }
        let denied = try await problem("my app")
        let name = "org.activityindicator.Indicator1.my_app"
        for text in ["does not allow this user to own '\(name)'", "<allow own=\"\(name)\"/>", "/etc/dbus-1/s"] {
            #expect(denied.contains(text), "\(denied)")
        }
        #expect(await availability("other") == .success("org.activityindicator.Indicator1.other on \(bus.address)"))
        // The check has left nothing.
        #expect(try await !bus.busctl("list", "--acquired").output.contains("activityindicator"))
        await bus.kill()
        let lost = try await problem("other")
        for text in ["\(bus.address)' cannot be reached", "check that the bus runs"] { #expect(lost.contains(text)) }
    }

    @Test(arguments: ["a b", "+~:=", "ü", "50%2b,;"])
    func `A folder for the session's files may have any name`(name: String) throws {
        let folder = try TemporaryDirectory()
        try folder.write("", to: "\(name)/bus")
        let environment = ["XDG_RUNTIME_DIR": folder.appending(name)]
        let address = try DBusAddress.session.resolved(in: environment)
        #expect(try BusSocket.elements(of: address).map { $0.path } == [folder.appending("\(name)/bus")])
        #expect(DBusAddress.session.mayExist(in: environment))
        #expect(DBusAddress.address(address).mayExist(in: [:]))
        #expect(!DBusAddress.address("unix:path=\(BusSocket.escaped(folder.appending("%2b")))").mayExist(in: [:]))
    }
}
#endif
