#if DBus
import TestSupport

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
        #expect(try await probe.backends("desktopNotification", "dbusProperty", are: "cannot be reached"))
        #expect(await eventually { bus.output.split(separator: "\n").count > 4 })
        #expect(try peakMemory(of: probe.processID) < 100_000)
        try await probe.shutdown()
    }

    /// A bus that authenticates everyone, and answers calls by their name; or one that rejects everyone.
    private static func scriptedBus(at path: String, answers: String) async throws -> Daemon {
        let script = """
            import os, socket, struct, sys, threading
            answers = \(answers)
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(sys.argv[1])
            listener.listen(16)
            print("listening", flush=True)
            def pad(data, size): return data + bytes(-len(data) % size)
            def text(value): return struct.pack("<I", len(value)) + value.encode() + bytes(1)
            def field(code, kind, value): return bytes([code, len(kind)]) + kind.encode() + bytes(1) + value
            def reply(serial, body, kind):
                fields = pad(field(5, "u", struct.pack("<I", serial)), 8)
                fields = pad(fields + field(7, "s", text("org.freedesktop.DBus")), 8)
                fields += field(8, "g", bytes([len(kind)]) + kind.encode() + bytes(1))
                head = b"l\\x02\\x01\\x01" + struct.pack("<III", len(body), 1, len(fields))
                return pad(head + fields, 8) + body
            def line(connection):
                data = b""
                while not data.endswith(b"\\r\\n"):
                    byte = connection.recv(1)
                    if not byte: raise OSError
                    data += byte
                return data.strip(bytes(1)).strip()
            def read(connection, count):
                data = b""
                while len(data) < count:
                    more = connection.recv(count - len(data))
                    if not more: raise OSError
                    data += more
                return data
            def talk(connection):
                try:
                    if answers is None: return connection.close()
                    while True:
                        command = line(connection)
                        if command.startswith(b"AUTH"): connection.sendall(b"OK 0123456789abcdef0123456789abcdef\\r\\n")
                        elif command.startswith(b"NEGOTIATE"): connection.sendall(b"ERROR\\r\\n")
                        elif command.startswith(b"BEGIN"): break
                    while True:
                        head = read(connection, 16)
                        size, serial, fields = struct.unpack("<III", head[4:])
                        rest = read(connection, fields + -fields % 8 + size)
                        for member, answer in answers.items():
                            if member.encode() + bytes(1) in rest[:fields]:
                                body, kind = (b"", "") if answer is None else (text(answer), "s")
                                connection.sendall(reply(serial, body, kind))
                                print(member, flush=True)
                except OSError:
                    pass
            while True:
                connection = listener.accept()[0]
                print("accepted", flush=True)
                threading.Thread(target=talk, args=(connection,), daemon=True).start()
            """
        let bus = try Daemon("/usr/bin/python3", ["-c", script, path], package: "python3")
        #expect(await eventually { bus.output.contains("listening") }, "\(bus.errors)")
        return bus
    }

    @Test("A bus that names an invalid owner, or gives an invalid name, makes the backends unavailable")
    func invalidNames() async throws {
        let folder = try TemporaryDirectory()
        for (number, name) in ["", "no name", "a..b"].enumerated() {
            let path = folder.appending("bus\(number)")
            let answers = "{'Hello': ':1.1', 'AddMatch': None, 'GetNameOwner': '\(name)'}"
            let bus = try await Self.scriptedBus(at: path, answers: answers)
            let probe = try await DesktopProbe("notification", bus: nil, address: "unix:path=\(path)")
            #expect(try await probe.backend("desktopNotification", is: "invalid name"), "\(bus.output)\(bus.errors)")
            try await probe.shutdown()
        }
        let path = folder.appending("bus")
        let bus = try await Self.scriptedBus(at: path, answers: "{'Hello': 'no name'}")
        let probe = try await DesktopProbe("property", bus: nil, address: "unix:path=\(path)")
        #expect(try await probe.backend("dbusProperty", is: "invalid name"), "\(bus.output)\(bus.errors)")
        try await probe.shutdown()
    }

    @Test("A bus that closes each connection makes the backends unavailable at once, and no thread spins")
    func closing() async throws {
        let folder = try TemporaryDirectory()
        let path = folder.appending("bus")
        let bus = try await Self.scriptedBus(at: path, answers: "None")
        let probe = try await DesktopProbe("property", bus: nil, address: "unix:path=\(path)")
        #expect(try await probe.backend("dbusProperty", is: "the connection to the bus was closed"), "\(bus.errors)")
        try await probe.shutdown()
    }

    @Test func `A call to an invalid name fails`() async throws {
        let bus = try await PrivateBus()
        let loop = try BlockingBus(address: bus.address)
        for (name, path) in [("", "/x"), ("no name", "/x"), ("a.b", "x"), ("a.b", "/x/")] {
            let call = BusMessage.call(name, path: path, interface: "a.b", member: "X")
            #expect(throws: BusError.invalidName) { try loop.call(call) }
        }
    }

    @Test("A bus whose queue of connections is full is unavailable at once", .timeLimit(.minutes(1)))
    func fullQueue() async throws {
        let bus = try await PrivateBus()
        let folder = try TemporaryDirectory()
        let path = folder.appending("bus")
        func connection(_ type: Int32 = 0) -> Int32 { socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | type, 0) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let listener = connection()
        var clients: [Int32] = []
        defer { for descriptor in clients + [listener] { close(descriptor) } }
        try withUnsafePointer(to: &address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                let length = socklen_t(MemoryLayout<sockaddr_un>.size)
                try #require(bind(listener, address, length) == 0 && listen(listener, 0) == 0)
                repeat {
                    clients.append(connection(Int32(bitPattern: SOCK_NONBLOCK.rawValue)))
                } while clients.last.map { connect($0, address, length) } == 0
            }
        }
        #expect(errno == EAGAIN)
        #expect(throws: BusError.notAccepting) { try BlockingBus(address: "unix:path=\(path)") }
        #expect(throws: BusError.notAccepting) { try BlockingBus(address: "unix:path=\(path);\(bus.address)") }
        // libdbus does not try what follows.
        #expect(throws: Never.self) { try BlockingBus(address: "\(bus.address);unix:path=\(path)") }
    }

    /// Sends a signal at each update.
    private final class Talker: BusSession, Sendable {
        let count = Locked(0)

        func begin(on bus: BusConnection) async throws -> String { "" }

        func show(_ update: IndicatorUpdate, on bus: BusConnection) throws -> SuspendingClock.Instant? {
            count.withLock { $0 += 1 }
            let text = String(repeating: "x", count: 1024)
            bus.send(.signal(path: "/x", interface: "org.example.X", member: "X", [.string(text)]))
            return nil
        }
    }

    @Test func `Nothing is queued without a limit for a bus that does not read, nor lost`() async throws {
        let bus = try await PrivateBus()
        let talker = Talker()
        let surface = BackendDriver(BusBackend(name: "talker", on: .address(bus.address)) { _ in talker })
        try await surface.start()
        bus.pause()
        let updating = Task {
            for _ in 0..<4000 { try await surface.update(IndicatorSnapshot(state: .active, activityCount: 1)) }
        }
        // The socket has room for 200 KiB. Then the update that is being shown waits.
        var sent = 0
        let isWaiting = await eventually(within: .seconds(120)) {
            let count = talker.count.withLock { $0 }
            defer { sent = count }
            return count > 200 && count == sent
        }
        #expect(isWaiting && sent < 1000)
        bus.resume()
        try await updating.value
        #expect(talker.count.withLock { $0 } > sent)
        await surface.stop()
    }

    /// Keeps what other threads call.
    private final class Listener: BusSession, Sendable {
        let received = Locked([Int]())
        let calls = Locked([@Sendable (Int) -> Void]())

        func begin(on bus: BusConnection) async throws -> String {
            let receive = { [self] (value: Int) in received.withLock { $0.append(value) } }
            calls.withLock { $0 = [bus.handler(receive), bus.completion(receive), bus.completion(receive)] }
            return ""
        }

        func show(_ update: IndicatorUpdate, on bus: BusConnection) throws -> SuspendingClock.Instant? { nil }
    }

    @Test func `After its end, a session receives only the ends of its work on other threads, once`() async throws {
        let bus = try await PrivateBus()
        let listener = Listener()
        let surface = BackendDriver(BusBackend(name: "listener", on: .address(bus.address)) { _ in listener })
        try await surface.start()
        let calls = listener.calls.withLock(\.self)
        calls[0](1)
        #expect(await eventually { listener.received.withLock { $0 == [1] } })
        await surface.stop()
        for (call, value) in [(0, 2), (1, 3), (1, 4), (2, 5)] { calls[call](value) }
        #expect(await eventually { listener.received.withLock { $0.last == 5 } })
        #expect(listener.received.withLock(\.self) == [1, 3, 5])
    }

    @Test func `The arguments of an invalid call are not decoded`() async throws {
        let bus = try await PrivateBus()
        let probe = try await DesktopProbe("property", bus: bus, running: "dbusProperty")
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

    @Test func `Decoding is bounded`() async throws {
        let bus = try await PrivateBus()
        let probe = try await DesktopProbe("property", bus: bus, running: "dbusProperty")
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
            python.output == "InvalidArgs True\nUnknownProperty True\ninactive\n",
            "\(python.output)\(python.error)"
        )
        withExtendedLifetime(probe) {}
    }
}
#endif
