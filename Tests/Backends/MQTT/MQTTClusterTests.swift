#if MQTT
import TestSupport

@testable import IndicatorMQTT

/// Brokers that speak MQTT 3.1.1 only, clusters, and several addresses.
@Suite struct MQTTClusterTests {
    /// Follows a broker until the task of the test ends; the latest label of each instance that is not lost.
    private final class Follower: Sendable {
        let labels = Locked<[String: String]>([:])
        let lost = Locked(0)
        let notices = Locked<[String]>([])
        private let task = Locked<Task<Void, any Error>?>(nil)

        init(_ settings: MQTTSettings) {
            let task = Task {
                try await MQTTWatcher(settings: settings).run { [self] report in
                    switch report {
                    case .event(.appeared(let topic, let report)), .event(.changed(let topic, let report)):
                        labels.withLock { $0["\(topic.host)|\(topic.app)|\(topic.instance)"] = report.label ?? "" }
                    case .event(.lost(let topic, _)), .event(.vanished(let topic)):
                        if case .event(.lost) = report { lost.withLock { $0 += 1 } }
                        labels.withLock { $0["\(topic.host)|\(topic.app)|\(topic.instance)"] = nil }
                    case .event(.finished), .event(.broken), .listed: break
                    case .notice(let text): notices.withLock { $0.append(text) }
                    }
                }
            }
            self.task.withLock { $0 = task }
        }

        func end() async {
            let task = task.withLock { $0.take() }
            task?.cancel()
            _ = await task?.result
        }
    }

    @Test("NATS: names with dots and spaces, a clean end, a death, and no claims of a watcher", .needs(.cluster))
    func fallback() async throws {
        let nats = try await NATSCluster()
        let settings = try MQTTSettings(nats.urls[0], host: "web-1.example.org")
        let manager = try Publication(settings, app: "my app").manager
        let activity = ManagedActivity("Copying", in: manager)
        // After the first messages, so that the states are retained ones.
        #expect(await eventually { manager.backendStatuses[0].updatesDelivered > 0 })
        let folder = try TemporaryDirectory()
        let settingsOfApp = "{url: ['\(nats.urls[0])'], host: b.example.org, interval: 0}"
        let config = try folder.write("backends: [mqtt]\nstartDelay: 0\nmqtt: \(settingsOfApp)\n", to: "c.yaml")
        let app = try Daemon([Command.built("test-probe"), "desktop", "config=\(config)"])
        #expect(await app.prints("ready\n"))
        app.write("begin\tWorking")
        for number in 0..<2 {
            let follower = Follower(settings)
            await expectEventually {
                let labels = follower.labels.withLock { $0 }
                return labels.contains { $0.key.hasPrefix("web-1.example.org|my app|") && $0.value == "Copying" }
                    && labels.contains { $0.key.hasPrefix("b.example.org|") && $0.value == "Working" }
            }
            #expect(follower.notices.withLock { $0 } == [])
            if number == 1 {
                app.send(SIGKILL)
                #expect(await eventually { follower.lost.withLock { $0 } == 1 })
                activity.end()
                await manager.shutdown()
                #expect(await eventually { follower.labels.withLock { $0.isEmpty } })
            }
            await follower.end()
        }
    }

    @Test("MQTT 5 alone fails with NATS, and says why; 3.1.1 works with mosquitto", .needs(.brokers), .needs(.cluster))
    func protocolVersions() async throws {
        let nats = try await NATSCluster()
        var settings = try MQTTSettings(nats.urls[0])
        settings.protocolVersion = .version5
        let rejected = try Publication(settings)
        #expect(await rejected.reports("speaks MQTT 3.1.1, not 5; set 'protocol' to auto or 3.1.1"))
        await rejected.manager.shutdown()

        let broker = try await MosquittoBroker()
        settings.urls = [try MQTTURL(broker.url)]
        settings.protocolVersion = .version311
        let app = try Publication(settings)
        #expect(try await broker.retains(#""refresh":60"#, at: app.topic))
        #expect(await eventually { broker.log.contains("(p2, c1, k15)") })
        await app.manager.shutdown()
        #expect(try await broker.retained().isEmpty)
    }

    @Test(.needs(.brokers)) func `A broker that closes before it answers is tried with MQTT 3.1.1`() async throws {
        let broker = try await MosquittoBroker()
        let address = try LoopbackAddress()
        // Closes the first connection, and passes on the second one.
        let proxy = try await Daemon.python(
            """
            c, _ = s.accept()
            print(c.recv(1000)[8], flush=True)
            c.close()
            c, _ = s.accept()
            b = socket.create_connection(('\(broker.address)', \(broker.port)))
            def copy(a, b):
                while data := a.recv(1000): b.sendall(data)
            threading.Thread(target=copy, args=(b, c), daemon=True).start()
            copy(c, b)
            """,
            at: address
        )
        let app = try Publication(MQTTSettings(address.mqtt))
        #expect(await app.runs())
        #expect(proxy.output == "ready\n5\n")
        #expect(await eventually { broker.log.contains("(p2, c1, k15)") })
        await app.manager.shutdown()
    }

    @Test(.needs(.broker)) func `Where the last connection was lost is tried last`() async throws {
        let brokers = [try await MosquittoBroker(), try await MosquittoBroker()]
        var settings = try MQTTSettings(brokers[0].url)
        settings.urls = try brokers.map { try MQTTURL($0.url) }
        let thread = ServiceThread(name: "connections", idleTime: .zero)
        try await Task(executorPreference: thread) { [settings] in
            var last: MQTTConnection.Place?
            for _ in 0..<10 {
                let id = "connection"
                let connection = try await MQTTConnection.open(id: id, settings: settings, avoiding: last, for: nil)
                #expect(connection.place != last)
                last = connection.place
                connection.disconnect()
            }
        }.value
    }

    @Test("Of several addresses, one that answers is used; a rejection is reported before an outage", .needs(.broker))
    func severalAddresses() async throws {
        let broker = try await MosquittoBroker()
        let strict = try await MosquittoBroker(settings: "allow_anonymous false")
        let urls = try (0..<3).map { _ in try MQTTURL(LoopbackAddress().mqtt) }
        var settings = try MQTTSettings(broker.url)
        for place in 0...urls.count {
            settings.urls = urls
            settings.urls.insert(try MQTTURL(broker.url), at: place)
            let app = try Publication(settings)
            #expect(await app.runs())
            #expect(app.manager.backendStatuses[0].lastError == nil, "at the first attempt")
            await app.manager.shutdown()
            settings.urls[place] = try MQTTURL(strict.url)
            let rejected = try Publication(settings)
            #expect(await rejected.reports("rejected the conn"))
            await rejected.manager.shutdown()
        }
    }

    @Test("One of three nodes is killed: 100 processes return, and each node has all states", .needs(.cluster))
    func cluster() async throws {
        let nats = try await NATSCluster(nodes: 3)
        let folder = try TemporaryDirectory()
        let urls = nats.urls.map { "'\($0)'" }.joined(separator: ", ")
        // A node may miss a state while it accepts a subscription.
        let config = try folder.write(
            """
            backends: [mqtt]
            startDelay: 0
            completionDelay: 0
            mqtt: {url: [\(urls)], host: h.example.org, interval: 0, refresh: 10}

            """,
            to: "config.yaml"
        )
        let count = 100
        let apps = try (0..<count).map { _ in try Daemon([Command.built("test-probe"), "desktop", "config=\(config)"]) }
        for app in apps { app.write("begin\tBefore") }
        var settings = try MQTTSettings(nats.urls[0])
        settings.urls = try nats.urls.map(MQTTURL.init)
        let witness = Follower(settings)
        func have(_ follower: Follower, _ label: String) async -> Bool {
            await eventually { follower.labels.withLock { $0.values.count { $0 == label } } == count }
        }
        #expect(await have(witness, "Before"))
        await nats.end(1)
        for app in apps { app.write("label\tAfter") }
        #expect(await have(witness, "After"))
        try nats.start(1)
        try await nats.waitUntilUsed(1)
        for url in nats.urls {
            settings.urls = [try MQTTURL(url)]
            let newcomer = Follower(settings)
            #expect(await have(newcomer, "After"))
            #expect(newcomer.labels.withLock { $0.count } == count)
            await newcomer.end()
        }
        for app in apps { app.write("quit") }
        #expect(await eventually { !apps.contains { $0.isRunning } })
        // A cluster that is busy may not acknowledge the end within the time limit: then the will tells it.
        #expect(await eventually { witness.labels.withLock { $0.isEmpty } }, "\(witness.labels.withLock { $0 })")
        await witness.end()
    }

    @Test(.needs("python3", package: "python3"))
    func `With MQTT 3.1.1, no reply of a broker ends the process`() async throws {
        let address = try LoopbackAddress()
        let server = try await Daemon.python(
            """
            number = 0
            while True:
                c, _ = s.accept()
                c.recv(1000)
                number += 1
                r = random.Random(number)
                # Unknown properties, as in MQTT 5, then packets of any kind.
                body = bytes(r.randrange(256) for _ in range(r.randrange(40)))
                packet = bytes([r.randrange(16) * 16 + r.randrange(16), len(body)]) + body
                accepted = bytes([0x20, 2, 0, 0]) if number % 2 else bytes([0x20, 6, 0, 0, 3, 0x7F, 0, 1])
                try:
                    c.sendall(accepted + packet)
                    c.settimeout(0.01)
                    c.recv(1000)
                except OSError: pass
                c.close()
                print(number, flush=True)
            """,
            at: address
        )
        var settings = try MQTTSettings(address.mqtt)
        settings.protocolVersion = .version311
        for _ in 0..<300 {
            let client = try MQTTClient(id: "client", settings: settings, isVersion5: false)
            try client.connect()
            // Until the server closes the connection.
            while true { do { try client.waitAndTurn() } catch { break } }
        }
        #expect(await server.prints("\n300\n"))
    }
}

extension MQTTClient {
    /// Waits for the broker, for up to a second.
    fileprivate func waitAndTurn() throws {
        var descriptors = interest().descriptors
        poll(&descriptors, 1, 1000)
        try turn(descriptors)
    }
}
#endif
