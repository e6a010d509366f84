#if MQTT
import TestSupport

@testable import IndicatorMQTT

/// Brokers, apps and links that fail and return.
@Suite(.needs(.brokers)) struct MQTTRecoveryTests {
    /// Whether the broker has ended a connection because the client was silent for 1.5 times its keep-alive interval.
    private func hasTimedOut(_ broker: MosquittoBroker) -> Bool { broker.log.contains("has exceeded timeout") }

    /// mosquitto 2.0 looks only every 6 s for clients that are silent. So, as the article advises, it demands 10 s
    /// instead of the client's 15: a dead client is lost after 22 s at most.
    private static let shortKeepAlive = "allow_anonymous true\nmax_keepalive 10"

    /// Waits until messages were sent into a connection that the broker does not read.
    private func waitUntilBehind(_ broker: MosquittoBroker) async throws {
        #expect(try await eventually { try broker.unreadBytes > 0 })
    }

    private static let lost = #"{"epoch":1,"state":"lost"}"#

    /// Starts the broker again, with a reader that has subscribed before the indicator was connected: a later one may
    /// miss what is not retained. Otherwise, repeats what happens while the broker is down.
    private func restart(_ broker: MosquittoBroker, meanwhile: () async throws -> Void) async throws -> Daemon {
        while true {
            try await meanwhile()
            try await broker.start()
            let reader = try await broker.reader()
            if !broker.log.contains(" as ind-") { return reader }
        }
    }

    @Test("What kept libmosquitto from being loaded once, such as a lack of descriptors, is not remembered")
    func libraryAppears() async throws {
        let broker = try await MosquittoBroker()
        let folder = try TemporaryDirectory()
        let mask = try folder.write("", to: "libmosquitto.so.1")
        let app = try await broker.app(environment: ["LD_LIBRARY_PATH": folder.path])
        #expect(await app.complains("libmosquitto cannot be loaded"))
        try FileManager.default.removeItem(atPath: mask)
        #expect(try await broker.retains(1))
        await app.end()
    }

    @Test(arguments: [false, true])
    func `A broker that is killed and restarted has the current state`(isPersistent: Bool) async throws {
        try await withPublication(isPersistent: isPersistent) { broker, app, activity in
            if isPersistent { #expect(await broker.save("Before")) }
            let reader = try await restart(broker) {
                await broker.end()
                #expect(await app.fails())
                for number in 0..<1000 { app.manager.begin("Meanwhile \(number)").end(.succeeded) }
                activity.label = "After"
            }
            #expect(try await broker.retains("After", at: app.topic))
            // Neither an old state nor a death remains.
            let retained = try await broker.retained()
            #expect(Array(retained.keys) == [app.topic])
            #expect(retained[app.topic]?.contains(#""epoch":1,"#) == false)
            // Activities that ended meanwhile are reported, up to a limit.
            #expect(await reader.prints("Meanwhile 999"))
            #expect(reader.output.contains(#""omitted":"#))
        }
    }

    @Test func `A broker that hangs and continues has the latest state, on the same connection`() async throws {
        try await withPublication { broker, app, activity in
            broker.send(SIGSTOP)
            for number in 0..<100 { activity.label = "Step \(number)" }
            try await waitUntilBehind(broker)
            activity.label = "After"
            broker.send(SIGCONT)
            #expect(try await broker.retains("After", at: app.topic))
            let retained = try await broker.retained()
            #expect(Array(retained.keys) == [app.topic] && retained[app.topic]?.contains(#""epoch":1,"#) == true)
        }
    }

    @Test("Shutdown returns while the broker hangs; when it continues, the state is removed or reported as lost")
    func brokerHangs() async throws {
        let broker = try await MosquittoBroker()
        let app = try Publication(broker)
        let activity = ManagedActivity("Before", in: app.manager)
        #expect(try await broker.retains("Before", at: app.topic))
        broker.send(SIGSTOP)
        for number in 0..<1000 { activity.label = "Step \(number)" }
        // While it waits for an acknowledgement.
        try await waitUntilBehind(broker)
        await app.manager.shutdown()
        #expect(app.manager.backendStatuses[0].state == .stopped, "not given up")
        broker.send(SIGCONT)
        // The broker publishes the will, unless it reads the removal before the connection ends.
        try await expectEventually {
            let retained = try await broker.retained()
            return retained[app.topic] == nil || retained[app.topic + "/lost"] == Self.lost
        }
    }

    @Test("An app that is killed is lost when its connection ends; the next process has a different topic")
    func appIsKilled() async throws {
        let broker = try await MosquittoBroker()
        let reader = try await broker.reader()
        let app = try await broker.app()
        app.write("begin\tWorking")
        #expect(await reader.prints(#""label":"Working""#))
        app.send(SIGKILL)
        #expect(await reader.prints(Self.lost))
        #expect(!hasTimedOut(broker))
        let next = try await broker.app()
        #expect(try await broker.retains(3))
        next.write("quit")
        // The last state stays readable beside the will.
        #expect(try await broker.retains(2))
        let left = try await broker.retained()
        let topic = try #require(left.keys.min())
        #expect(left[topic]?.contains(#""label":"Working""#) == true)
        #expect(left[topic + "/lost"] == Self.lost)
    }

    @Test("A child process does not inherit the connection, which would hide the app's death from the broker")
    func children() async throws {
        let broker = try await MosquittoBroker()
        let app = try await broker.app()
        #expect(try await broker.retains(1))
        let folder = "/proc/\(app.processID)"
        let port = String(broker.port, radix: 16, uppercase: true)
        var found: String?
        try await expectEventually {
            // The remote address is the third field, the inode the tenth. A read may miss a connection, because the
            // table changes meanwhile.
            let lines = try connectionTable(of: app.processID).filter { $0[2].hasSuffix(":" + port) }
            let sockets = lines.map { "socket:[" + $0[9] + "]" }
            found = try FileManager.default.contentsOfDirectory(atPath: "\(folder)/fd").first {
                let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/fd/\($0)")
                return target.map(sockets.contains) ?? false
            }
            return found != nil
        }
        let information = try String(contentsOfFile: "\(folder)/fdinfo/\(try #require(found))", encoding: .utf8)
        let flags = try #require(information.firstMatch(of: /flags:\s+([0-7]+)/).flatMap { Int($0.1, radix: 8) })
        #expect(flags & Int(O_CLOEXEC) != 0)
        await app.end()
    }

    @Test("An app that hangs is lost after 1.5 times the keep-alive interval; when it continues, it is back")
    func appHangs() async throws {
        let broker = try await MosquittoBroker(settings: Self.shortKeepAlive)
        let reader = try await broker.reader()
        let app = try await broker.app()
        app.write("begin\tWorking")
        #expect(await reader.prints(#""label":"Working""#))
        // To the broker, the connection is half open.
        app.send(SIGSTOP)
        #expect(await reader.prints(Self.lost))
        #expect(hasTimedOut(broker))
        app.write("label\tAwake")
        app.send(SIGCONT)
        #expect(await reader.prints(#""label":"Awake""#))
        // Also its will is removed.
        try await expectEventually { try await broker.retained().values.map { $0.contains(#""epoch":1"#) } == [false] }
        app.write("quit")
        #expect(try await broker.retains(0))
    }

    @Test("A late will does not harm the state; the process removes it at its end, and subscribes to nothing")
    func lateWill() async throws {
        try await withPublication("allow_anonymous true\nlog_type all") { broker, app, _ in
            await broker.end()
            try await broker.start()
            #expect(try await eventually { try await broker.retained()[app.topic]?.contains(#""epoch":1,"#) == false })
            try await broker.publish(app.topic + "/lost", "-r", "-m", Self.lost)
            #expect(try await broker.retained()[app.topic]?.contains("Before") == true)
            #expect(broker.log.contains("Received CONNECT") || broker.log.contains("New client connected"))
            #expect(broker.log.firstMatch(of: /Received SUBSCRIBE from ind-/) == nil)
        }
    }

    @Test("A finished activity is sent again if the broker was killed before it acknowledged the event")
    func unacknowledged() async throws {
        try await withPublication { broker, app, _ in
            let reader = try await restart(broker) {
                #expect(await app.runs())
                broker.send(SIGSTOP)
                app.manager.begin("Meanwhile").end(.succeeded)
                try await waitUntilBehind(broker)
                await broker.end()
            }
            #expect(await reader.prints(#""label":"Meanwhile""#))
        }
    }

    @Test func `A stop while connecting is not a failure: the next start connects again immediately`() async throws {
        let broker = try await MosquittoBroker()
        // The kernel accepts connections, but the broker does not answer.
        broker.send(SIGSTOP)
        let backend = BackendDriver(MQTTBackend(applicationName: "app", settings: try MQTTSettings(broker.url)))
        for _ in 0..<2 {
            let error = await #expect(throws: MQTTError.self) { try await backend.start() }
            #expect(error?.reason.hasSuffix("no answer yet") == true, "\(String(describing: error))")
            await backend.stop()
        }
        broker.send(SIGCONT)
        #expect(await eventually { (try? await backend.start()) != nil })
        await backend.stop()
    }

    @Test func `A connection that is made after the end of the indicator leaves no death`() async throws {
        let broker = try await MosquittoBroker()
        broker.send(SIGSTOP)
        let app = try Publication(broker)
        #expect(await app.reports("no answer yet"))
        await app.manager.shutdown()
        broker.send(SIGCONT)
        #expect(await eventually { broker.log.contains(/Client ind-\S+ disconnected\./) })
        #expect(try await broker.retained()[app.topic + "/lost"] == nil)
    }

    @Test func `What a broker forbids does not remove what it has allowed`() async throws {
        let broker = try await MosquittoBroker(
            settings: "allow_anonymous true\nacl_file FOLDER/acl",
            files: ["acl": "topic readwrite indicator/1/+/app/+\ntopic read #\n"]
        )
        let reader = try await broker.reader()
        let app = try Publication(broker)
        #expect(await reader.prints("0 \(app.topic) {"))
        app.manager.begin("Working").end()
        #expect(await app.reports("rejected a message"))
        // The next connection.
        #expect(await reader.prints(#""epoch":2,"#))
        #expect(!reader.output.contains("0 \(app.topic) \n"))
        await app.manager.shutdown()
    }

    @Test func `A broker that ends the connection with a packet is noticed at once`() async throws {
        let address = try LoopbackAddress()
        // Accepts the client, acknowledges nothing, and disconnects, but does not close.
        let server = try await Daemon.python(
            """
            kept = []
            while True:
                c, _ = s.accept()
                kept.append(c)
                c.recv(1000)
                c.sendall(bytes([0x20, 3, 0, 0, 0]))
                c.recv(1000)
                c.sendall(bytes([0xE0, 2, 0x8B, 0]))
                print('disconnected', flush=True)
            """,
            at: address
        )
        var settings = try MQTTSettings(address.mqtt)
        // Otherwise it would be noticed after a third of it.
        settings.keepAlive = .seconds(3600)
        let app = try Publication(settings)
        #expect(await eventually { server.output.count { $0 == "\n" } > 2 })
        await app.manager.shutdown()
    }

    /// A broker that accepts connections, and does nothing else but what it must.
    private static let halfDead = """
        def serve(c):
            def read(count):
                data = b''
                while len(data) < count:
                    data += c.recv(1 if mode == 'slow' else count - len(data)) or exit()
                    if mode == 'slow' and greeted: time.sleep(1)
                return data
            greeted = False
            while True:
                kind, length, shift = read(1)[0] >> 4, 0, 0
                while True:
                    byte = read(1)[0]
                    length |= (byte & 127) << shift
                    shift += 7
                    if byte < 128: break
                read(length)
                print({1: 'connect', 3: 'publish', 8: 'subscribe'}.get(kind, 'other'), flush=True)
                if kind == 1 and mode != 'mute': c.sendall(bytes([0x20, 3, 0, 0, 0]))
                if kind == 12: c.sendall(bytes([0xD0, 0]))
                greeted = True
        while True: threading.Thread(target=serve, args=s.accept()[:1], daemon=True).start()
        """

    @Test(
        "A broker that answers pings, but acknowledges no message, reads a byte a second, or greets nobody, is left",
        arguments: ["pings", "slow", "mute"]
    )
    func halfDeadBroker(mode: String) async throws {
        let address = try LoopbackAddress()
        let server = try await Daemon.python(Self.halfDead, at: address, mode)
        // Before it runs, the other one is tried.
        let broker = try await MosquittoBroker(isRunning: false)
        var settings = try MQTTSettings(address.mqtt)
        settings.urls.append(try MQTTURL(broker.url))
        settings.keepAlive = .seconds(5)
        let app = try Publication(settings)
        #expect(await eventually { server.output.contains(mode == "mute" ? "connect" : "publish") || mode == "slow" })
        try await broker.start()
        // If it starts late, the pauses between the attempts have grown.
        #expect(try await eventually(within: .seconds(180)) { try await broker.retained()[app.topic] != nil })
        #expect(await app.runs())
        await app.manager.shutdown()
    }

    @Test func `A watcher leaves a broker that answers no subscription`() async throws {
        let address = try LoopbackAddress()
        let server = try await Daemon.python(Self.halfDead, at: address, "pings")
        let broker = try await MosquittoBroker(isRunning: false)
        let watch = try Daemon([Command.built("indicator"), "watch", "--mqtt", "\(address.mqtt),\(broker.url)"])
        #expect(await server.prints("subscribe"))
        try await broker.start()
        try await broker.publish("indicator/1/h/a/i", "-r", "-m", #"{"state":"active","epoch":1,"seq":1}"#)
        #expect(await eventually { watch.output == "h/a/i appeared: hidden\n" }, "\(watch.errors)")
        await watch.end(SIGINT)
    }

    @Test(.needs(.rootMounts))
    func `A name server that does not answer does not delay the end of an app`() async throws {
        let broker = try await MosquittoBroker(isRunning: false)
        let folder = try TemporaryDirectory()
        let server = try await Daemon.python(
            """
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.bind(('\(broker.address)', 53))
            print('bound', flush=True)
            time.sleep(1000)
            """,
            at: try LoopbackAddress()
        )
        #expect(await server.prints("bound"))
        // The resolver waits for minutes.
        let path = try folder.write("nameserver \(broker.address)\noptions timeout:30 attempts:5\n", to: "resolv.conf")
        let mount = "mount --bind '\(path)' /etc/resolv.conf && exec \"$@\""
        let wrapper = ["unshare", "--mount", "sh", "-c", mount, "sh"]
        let app = try await broker.app(url: "mqtt://broker.example", wrapper: wrapper)
        #expect(await app.complains("no answer yet"))
        app.write("quit")
        #expect(await app.ends())
        #expect(!app.errors.contains("given up"))
    }

    @Test(arguments: [
        // Not random bytes: libmosquitto 2.0 fails an assertion at unknown properties.
        "true", "printf 'HTTP/1.1 400 Bad Request\\r\\n\\r\\n'", "head -c 100 /dev/zero",
        "printf '\\040\\003\\000\\000'; sleep 0.1; printf '\\377\\377\\377\\377\\377'",
    ])
    func `A broker that closes or sends invalid data causes an error, no crash`(answer: String) async throws {
        let address = try LoopbackAddress()
        let server = try await Daemon.python(
            """
            while True:
                c, _ = s.accept()
                c.sendall(subprocess.run(['sh', '-c', mode], stdout=subprocess.PIPE).stdout)
                c.close()
            """,
            at: address,
            answer
        )
        for scheme in ["mqtt", "mqtts"] {
            let app = try Publication(MQTTSettings(address.mqtt.replacing("mqtt:", with: "\(scheme):")))
            #expect(await eventually { app.manager.backendStatuses[0].lastError != nil })
            await app.manager.shutdown()
        }
        await server.end()
    }

    @Test func `A keep-alive interval that the broker demands is used, also one of a second`() async throws {
        let address = try LoopbackAddress()
        // Accepts the client with a server keep-alive interval of 1 s, and ends after a silence that is longer, but
        // shorter than the 15 s that the client proposes.
        let server = try await Daemon.python(
            """
            c, _ = s.accept()
            c.recv(1000)
            c.sendall(bytes([0x20, 6, 0, 0, 3, 0x13, 0, 1]))
            c.settimeout(14)
            while data := c.recv(1000):
                if data.endswith(bytes([0xC0, 0])):
                    c.sendall(bytes([0xD0, 0]))
                    print('ping', flush=True)
            """,
            at: address
        )
        let app = try Publication(MQTTSettings(address.mqtt))
        #expect(await eventually { server.output.count { $0 == "\n" } > 3 || !server.isRunning })
        #expect(server.isRunning, "\(server.output) \(server.errors)")
        await app.manager.shutdown()
    }

    @Test(
        "Two machines: without a link, the app is lost after 1.5 keep-alive intervals; with it, the app is back",
        .needs("ip", package: "iproute2"),
        .needs(.networks)
    )
    func linkIsCut() async throws {
        let machines = try await TwoMachines()
        let (settings, first) = (Self.shortKeepAlive, machines.first)
        let broker = try await MosquittoBroker(settings: settings, address: "10.99.0.1", wrapper: first)
        let reader = try await broker.reader()
        let app = try await broker.app(wrapper: machines.second)
        app.write("begin\tWorking")
        #expect(await reader.prints(#""label":"Working""#))
        try await machines.setLink(isUp: false)
        #expect(await reader.prints(Self.lost))
        #expect(hasTimedOut(broker))
        app.write("label\tAlone")
        try await machines.setLink(isUp: true)
        #expect(await reader.prints(#""label":"Alone""#))
        let lines = reader.output.split(separator: "\n").filter { $0.hasPrefix("0 indicator/") }
        #expect(lines.last { $0.contains(#""lost""#) }?.contains(#""epoch":1"#) == true)
        #expect(lines.last?.contains(#""epoch":1"#) == false, "a new connection has a new epoch")
        await app.end()
        #expect(await eventually { reader.output.split(separator: "\n").count { $0.contains(#""lost""#) } == 2 })
    }
}

/// Two machines with a link between them: two network namespaces, which end with their processes.
private struct TwoMachines {
    private let processes: [Daemon]

    init() async throws {
        processes = try (0..<2).map { _ in try Daemon("unshare", ["--net", "sleep", "1000"], package: "util-linux") }
        for process in processes {
            let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/ns/net")
            let path = "/proc/\(process.processID)/ns/net"
            _ = await eventually {
                !process.isRunning
                    || (try? FileManager.default.destinationOfSymbolicLink(atPath: path)).map { $0 != own } ?? false
            }
        }
        let ends = processes.map { ["netns", "\($0.processID)"] }
        try await run(["ip", "link", "add", "veth0"] + ends[0] + ["type", "veth", "peer", "name", "veth0"] + ends[1])
        for (number, machine) in [first, second].enumerated() {
            try await run(machine + ["ip", "link", "set", "lo", "up"])
            try await run(machine + ["ip", "addr", "add", "10.99.0.\(number + 1)/24", "dev", "veth0"])
            try await run(machine + ["ip", "link", "set", "veth0", "up"])
        }
    }

    /// The command that runs a program on one of the machines.
    var first: [String] { ["nsenter", "--target", "\(processes[0].processID)", "--net"] }
    var second: [String] { ["nsenter", "--target", "\(processes[1].processID)", "--net"] }

    func setLink(isUp: Bool) async throws {
        try await run(second + ["ip", "link", "set", "veth0", isUp ? "up" : "down"])
    }

    private func run(_ command: [String]) async throws {
        let result = try await Command.run(command[0], Array(command.dropFirst()), package: "iproute2")
        if result.status != 0 { throw FixtureError("\(command): \(result.error)") }
    }
}
#endif
