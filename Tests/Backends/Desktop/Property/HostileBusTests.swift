#if DBus
import TestSupport

@testable import DesktopBackends

/// A malicious bus, and malicious peers on a bus.
@Suite(.needs(.busScripts)) struct HostileBusTests {
    /// A bus that authenticates everyone, and answers calls by their name, where `None` is an empty answer. Or one that
    /// sends each client an endless line, or closes each connection.
    private static let script = """
        import socket, struct, sys, threading
        answers = eval(sys.argv[2])
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(sys.argv[1])
        listener.listen(16)
        print("listening", flush=True)
        def pad(data): return data + bytes(-len(data) % 8)
        def text(value): return struct.pack("<I", len(value)) + value.encode() + bytes(1)
        def reply(serial, body, kind):
            fields = struct.pack("<4BI", 5, 1, ord("u"), 0, serial)
            fields += pad(b"\\7\\1s\\0" + text("org.freedesktop.DBus"))
            fields += b"\\10\\1g\\0" + bytes([len(kind)]) + kind + bytes(1)
            return pad(struct.pack("<4s3I", b"l\\2\\1\\1", len(body), 1, len(fields)) + fields) + body
        def talk(connection):
            file = connection.makefile("rb")
            while answers == "endless": connection.sendall(b"x" * 65536)
            if answers == "closed": return connection.close()
            command = b"AUTH"
            while not command.startswith(b"BEGIN"):
                command = file.readline()
                if not command: return
                if b"AUTH" in command: connection.sendall(b"OK 0123456789abcdef0123456789abcdef\\r\\n")
                if b"NEGOTIATE" in command: connection.sendall(b"ERROR\\r\\n")
            while len(head := file.read(16)) == 16:
                size, serial, fields = struct.unpack("<III", head[4:])
                rest = file.read(fields + -fields % 8 + size)
                for member, answer in answers.items():
                    if member.encode() + bytes(1) in rest[:fields]:
                        body, kind = (b"", b"") if answer is None else (text(answer), b"s")
                        connection.sendall(reply(serial, body, kind))
        while True:
            connection = listener.accept()[0]
            print("accepted", flush=True)
            threading.Thread(target=talk, args=(connection,), daemon=True).start()
        """

    @Test(
        "A bus that sends nonsense makes the backends unavailable, and the app's memory is bounded",
        arguments: [
            ("'endless'", "notification property", "cannot be reached"),
            ("'closed'", "notification property", "the connection to the bus was closed"),
            ("{'Hello': 'no name'}", "notification property", "invalid name"),
            // The owner of the notification server's name.
            ("{'Hello': ':1.1', 'AddMatch': None, 'GetNameOwner': ''}", "notification", "invalid name"),
            ("{'Hello': ':1.1', 'AddMatch': None, 'GetNameOwner': 'a..b'}", "notification", "invalid name"),
        ]
    )
    func nonsense(answers: String, parts: String, problem: String) async throws {
        let folder = try TemporaryDirectory()
        let path = folder.appending("bus")
        let bus = try Daemon("/usr/bin/python3", ["-c", Self.script, path, answers], package: "python3")
        #expect(await bus.prints("listening"), "\(bus.errors)")
        let probe = try await DesktopProbe(parts, bus: nil, address: "unix:path=\(path)")
        #expect(try await probe.backend("desktopNotification", is: problem), "\(bus.errors)")
        if parts.contains("property") { #expect(try await probe.backend("dbusProperty", is: problem)) }
        // Each of the backends tries again.
        let count = parts.split(separator: " ").count
        #expect(await eventually { bus.output.components(separatedBy: "accepted").count > 1 + count })
        #expect(try peakMemory(of: probe.processID) < 100_000)
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
        let path = bus.folder.appending("full")
        let listener = UnixSocket.make(SOCK_STREAM)
        try #require(UnixSocket.withAddress(path) { bind(listener, $0, $1) } == 0 && listen(listener, 0) == 0)
        var clients: [Int32] = []
        defer { for descriptor in clients + [listener] { close(descriptor) } }
        repeat {
            clients.append(UnixSocket.make(SOCK_STREAM))
        } while clients.last.map { client in UnixSocket.withAddress(path) { connect(client, $0, $1) } } == 0
        #expect(errno == EAGAIN)
        #expect(throws: BusError.notAccepting) { try BlockingBus(address: "unix:path=\(path)") }
        #expect(throws: BusError.notAccepting) { try BlockingBus(address: "unix:path=\(path);\(bus.address)") }
        // libdbus does not try what follows.
        #expect(throws: Never.self) { try BlockingBus(address: "\(bus.address);unix:path=\(path)") }
    }

    /// Sends a signal at each update, and counts them.
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
        let surface = try await BackendDriver(BusBackend.probe(on: bus) { _ in talker }).started()
        bus.pause()
        let updating = Task {
            for _ in 0..<4000 { try await surface.update(IndicatorSnapshot(state: .active, activityCount: 1)) }
        }
        // The socket has room for 200 KiB. Then the update that is being shown waits.
        var counts: [Int] = []
        let isWaiting = await eventually(within: .seconds(120)) {
            counts = counts.suffix(49) + [talker.count.withLock { $0 }]
            return counts.count == 50 && counts[0] > 200 && counts[0] == counts[49]
        }
        #expect(isWaiting && counts[0] < 1000)
        bus.resume()
        try await updating.value
        #expect(talker.count.withLock { $0 } > counts[0])
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
        let surface = try await BackendDriver(BusBackend.probe(on: bus) { _ in listener }).started()
        let calls = listener.calls.withLock(\.self)
        calls[0](1)
        #expect(await eventually { listener.received.withLock { $0 == [1] } })
        await surface.stop()
        for (call, value) in [(0, 2), (1, 3), (1, 4), (2, 5)] { calls[call](value) }
        #expect(await eventually { listener.received.withLock { $0.last == 5 } })
        #expect(listener.received.withLock(\.self) == [1, 3, 5])
    }

    @Test func `A wrong call is not decoded, what is too long is cut, and the error is short`() async throws {
        let bus = try await PrivateBus()
        let probe = try await DesktopProbe(on: bus)
        let (path, own) = (DBusPropertyObject.path, DBusPropertyObject.interface)
        let before = try peakMemory(of: probe.processID)
        let loop = try BlockingBus(address: bus.address)
        // 8 MB on the wire.
        let flood = BusValue.strings(Array(repeating: "x", count: 1_000_000))
        for (interface, member) in [
            (BusObject.propertiesInterface, "Get"), ("org.example.Wrong", "Get"), (own, "X"),
        ] {
            let name = IndicatorBusName.prefix + "probe"
            let call = BusMessage.call(name, path: path, interface: interface, member: member, [flood])
            #expect(throws: BusError.self) { try loop.call(call, timeLimit: .seconds(60)) }
        }
        // Decoded, it would take 90 MB.
        #expect(try peakMemory(of: probe.processID) - before < 60_000)
        let python = try await bus.python(
            """
            object = bus.get_object("\(own).probe", "\(path)", introspect=False)
            for arguments in [("x" * 6000000, "y"), ("\(own)", "y" * 6000000), ("\(own)", "State")]:
                try:
                    print(object.Get(*arguments, dbus_interface="\(BusObject.propertiesInterface)"))
                except dbus.DBusException as error:
                    print(error.get_dbus_name().split(".")[-1], len(error.get_dbus_message()) < 400)
            """
        )
        #expect(python.output == "InvalidArgs True\nUnknownProperty True\ninactive\n", "\(python)")
    }
}
#endif
