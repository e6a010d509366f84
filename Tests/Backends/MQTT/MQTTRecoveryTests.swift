#if MQTT
import TestSupport

@testable import IndicatorMQTT

/// Brokers and apps that fail and return.
@Suite(.needs(.brokers)) struct MQTTRecoveryTests {
    /// The will of a first connection.
    private static let lost = #"{"epoch":1,"state":"lost"}"#

    /// Waits until messages were sent into a connection that the broker does not read.
    private func waitUntilBehind(_ broker: MosquittoBroker) async throws {
        try await expectEventually { try broker.unreadBytes > 0 }
    }

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
        let mask = try broker.folder.write("", to: "libmosquitto.so.1")
        let app = try await broker.app(environment: ["LD_LIBRARY_PATH": broker.folder.path])
        #expect(await app.complains("libmosquitto cannot be loaded"))
        try FileManager.default.removeItem(atPath: mask)
        #expect(try await broker.retains(1))
    }

    @Test func `A broker that is killed and restarted has the current state`() async throws {
        try await withPublication { broker, app, activity in
            let reader = try await restart(broker) {
                await broker.end()
                #expect(await eventually { app.manager.backendStatuses[0].state != .running })
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

    @Test(
        "A broker that hangs and continues has the latest state, on the same connection; while it hangs, shutdown returns"
    )
    func brokerHangs() async throws {
        try await withPublication { broker, app, activity in
            broker.send(SIGSTOP)
            for number in 0..<100 { activity.label = "Step \(number)" }
            try await waitUntilBehind(broker)
            activity.label = "After"
            broker.send(SIGCONT)
            #expect(try await broker.retains("After", at: app.topic))
            let retained = try await broker.retained()
            #expect(Array(retained.keys) == [app.topic] && retained[app.topic]?.contains(#""epoch":1,"#) == true)
            broker.send(SIGSTOP)
            for number in 0..<1000 { activity.label = "Step \(number)" }
            // While it waits for an acknowledgement.
            try await waitUntilBehind(broker)
            await app.manager.shutdown()
            #expect(app.manager.backendStatuses[0].state == .stopped, "not given up")
            broker.send(SIGCONT)
        }
    }

    @Test("An app that hangs is lost after 1.5 times the keep-alive interval; when it continues, it is back")
    func appHangs() async throws {
        // mosquitto 2.0 looks only every 6 s for clients that are silent. So, as the article advises, it demands 10 s
        // instead of the client's 15: a dead client is lost after 22 s at most.
        let broker = try await MosquittoBroker(settings: "max_keepalive 10")
        let reader = try await broker.reader()
        let app = try await broker.app()
        app.write("begin\tWorking")
        #expect(await reader.prints(#""label":"Working""#))
        // To the broker, the connection is half open.
        app.send(SIGSTOP)
        #expect(await reader.prints(Self.lost))
        #expect(broker.log.contains("has exceeded timeout"))
        app.write("label\tAwake")
        app.send(SIGCONT)
        #expect(await reader.prints(#""label":"Awake""#))
        // Also its will is removed.
        try await expectEventually { try await broker.retained().values.map { $0.contains(#""epoch":1"#) } == [false] }
    }

    @Test func `A child process does not inherit the connection, which would hide the app's death`() async throws {
        let broker = try await MosquittoBroker()
        let client = try MQTTClient(id: "client", settings: MQTTSettings(broker.url))
        try client.connect()
        #expect(fcntl(client.socket, F_GETFD) == FD_CLOEXEC)
    }

    @Test("A late will does not harm the state; the process removes it at its end, and subscribes to nothing")
    func lateWill() async throws {
        try await withPublication("log_type all") { broker, app, _ in
            await broker.end()
            try await broker.start()
            #expect(try await eventually { try await broker.retained()[app.topic]?.contains(#""epoch":1,"#) == false })
            try await broker.publish(app.topic + "/lost", "-r", "-m", Self.lost)
            #expect(try await broker.retained()[app.topic]?.contains("Before") == true)
            #expect(broker.log.contains(/Received PUBLISH from ind-/))
            #expect(!broker.log.contains(/Received SUBSCRIBE from ind-/))
            await app.manager.shutdown()
            #expect(try await broker.retained()[app.topic + "/lost"] != Self.lost)
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
        let rights = ["acl": "topic readwrite indicator/1/+/app/+\ntopic read #\n"]
        let broker = try await MosquittoBroker(settings: "acl_file FOLDER/acl", files: rights)
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

    @Test(arguments: [
        // To leave, in a packet: it does not close the connection.
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
        // A keep-alive interval of five seconds: it ends after a longer silence.
        """
        c, _ = s.accept()
        c.recv(1000)
        c.sendall(bytes([0x20, 6, 0, 0, 3, 0x13, 0, 5]))
        c.settimeout(60)
        while data := c.recv(1000):
            if data.endswith(bytes([0xC0, 0])):
                c.sendall(bytes([0xD0, 0]))
                print('ping', flush=True)
        """,
    ])
    func `What a broker demands of a client that is patient is done at once`(script: String) async throws {
        var (server, settings) = try await fakeBroker(script)
        settings.keepAlive = .seconds(3600)
        let app = try Publication(settings)
        #expect(await eventually { server.output.count { $0 == "\n" } > 3 || !server.isRunning })
        #expect(server.isRunning, "\(server.output) \(server.errors)")
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
        var (server, settings) = try await fakeBroker(Self.halfDead, mode)
        // Before it runs, the other one is tried.
        let broker = try await MosquittoBroker(isRunning: false)
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
        let (server, settings) = try await fakeBroker(Self.halfDead, "pings")
        let broker = try await MosquittoBroker(isRunning: false)
        let urls = "\(settings.brokerName),\(broker.url)"
        let watch = try Daemon([Command.built("indicator"), "watch", "--mqtt", urls])
        #expect(await server.prints("subscribe"))
        try await broker.start()
        try await broker.publish("indicator/1/h/a/i", "-r", "-m", #"{"state":"active","epoch":1,"seq":1}"#)
        #expect(await eventually { watch.output == "h/a/i appeared: hidden\n" }, "\(watch.errors)")
        await watch.end(SIGINT)
    }

    @Test(.needs(.rootMounts))
    func `A name server that does not answer does not delay the end of an app`() async throws {
        let broker = try await MosquittoBroker(isRunning: false)
        let (server, _) = try await fakeBroker(
            """
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.bind(('\(broker.address)', 53))
            print('bound', flush=True)
            time.sleep(1000)
            """
        )
        #expect(await server.prints("bound"))
        // The resolver waits for minutes.
        let options = "nameserver \(broker.address)\noptions timeout:30 attempts:5\n"
        let path = try broker.folder.write(options, to: "resolv.conf")
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
        let (server, settings) = try await fakeBroker(
            """
            while True:
                c, _ = s.accept()
                c.sendall(subprocess.run(['sh', '-c', mode], stdout=subprocess.PIPE).stdout)
                c.close()
            """,
            answer
        )
        for scheme in ["mqtt", "mqtts"] {
            let app = try Publication(MQTTSettings(settings.brokerName.replacing("mqtt:", with: "\(scheme):")))
            #expect(await eventually { app.manager.backendStatuses[0].lastError != nil })
            await app.manager.shutdown()
        }
        await server.end()
    }
}
#endif
