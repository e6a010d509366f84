#if MQTT
import TestSupport

@testable import IndicatorMQTT

/// Brokers that speak MQTT 3.1.1 only, clusters, and several addresses.
@Suite struct MQTTClusterTests {
    private func watch(_ urls: [String]) throws -> Daemon {
        try Daemon([Command.built("indicator"), "watch", "--mqtt", urls.joined(separator: ",")])
    }

    /// The indicators that a watcher has reported, without those that are lost or have vanished: "host/app: label".
    private func labels(_ watch: Daemon) -> [String] {
        var labels: [Substring: String] = [:]
        // The last line may not be complete.
        for line in watch.output.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
            guard let match = line.wholeMatch(of: /((.+)\/\S+) (\w+)(.*)/), match.3 != "finished" else { continue }
            let label = "\(match.2): \(match.4.split(separator: "'").last ?? "")"
            labels[match.1] = ["lost", "vanished"].contains(match.3) ? nil : label
        }
        return labels.values.sorted()
    }

    @Test("NATS: names with dots and spaces, a clean end, a death, and no claims of a watcher", .needs(.cluster))
    func fallback() async throws {
        let nats = try await NATSCluster()
        var settings = try MQTTSettings(nats.urls[0], host: "a.example.org")
        let publication = try Publication(settings, app: "my app")
        let activity = ManagedActivity("Copying", in: publication.manager)
        // After the first messages, so that the states are retained ones.
        await expectEventually { publication.manager.backendStatuses[0].updatesDelivered > 0 }
        let app = try nats.app(host: "b.example.org")
        app.write("begin\tWorking")
        let reported = ["a.example.org/my app: Copying", "b.example.org/probe: Working"]
        let first = try watch(nats.urls)
        await expectEventually { labels(first) == reported }
        let second = try watch(nats.urls)
        await expectEventually { labels(second) == reported }
        app.send(SIGKILL)
        #expect(await second.prints(" lost: "))
        activity.end()
        await publication.manager.shutdown()
        await expectEventually { labels(second) == [] }
        #expect(first.errors + second.errors == "")

        settings.protocolVersion = .version5
        try await expect("speaks MQTT 3.1.1, not 5; set 'protocol' to auto or 3.1.1", with: settings)
    }

    @Test(.needs(.brokers), arguments: [true, false])
    func `MQTT 3.1.1 is spoken if it is set, and with a broker that closes at first`(isSet: Bool) async throws {
        let broker = try await MosquittoBroker()
        // Closes the first connection, and passes on the second one.
        let (proxy, proxied) = try await fakeBroker(
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
            """
        )
        var settings = isSet ? try MQTTSettings(broker.url) : proxied
        if isSet { settings.protocolVersion = .version311 }
        let app = try Publication(settings)
        #expect(try await broker.retains(#""refresh":60"#, at: app.topic))
        #expect(proxy.output == (isSet ? "ready\n" : "ready\n5\n"))
        #expect(broker.log.contains("(p2, c1, k15)") && !broker.log.contains(/as ind-.*p5/))
        await app.manager.shutdown()
        #expect(try await broker.retained().isEmpty)
    }

    @Test(.needs(.broker)) func `Where the last connection was lost is tried last`() async throws {
        let brokers = [try await MosquittoBroker(), try await MosquittoBroker()]
        var settings = try MQTTSettings(brokers[0].url)
        settings.urls.append(try MQTTURL(brokers[1].url))
        let thread = ServiceThread(name: "connections", idleTime: .zero)
        try await Task(executorPreference: thread) { [settings] in
            var last: MQTTConnection.Place?
            for _ in 0..<10 {
                let connection = try await MQTTConnection.open(id: "x", settings: settings, avoiding: last, for: nil)
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
            settings.urls = urls[..<place] + [try MQTTURL(broker.url)] + urls[place...]
            let app = try Publication(settings)
            #expect(await app.runs())
            #expect(app.manager.backendStatuses[0].lastError?.contains("no answer yet") ?? true, "at the first attempt")
            await app.manager.shutdown()
            settings.urls[place] = try MQTTURL(strict.url)
            // An indicator would try again, beginning with another one.
            await #expect { _ = try await MQTTConnection.open(id: "x", settings: settings, for: nil) } throws: {
                "\($0)".contains("rejected the conn")
            }
        }
    }

    @Test("One of three nodes is killed: 100 processes return, and each node has all states", .needs(.cluster))
    func cluster() async throws {
        let nats = try await NATSCluster(nodes: 3)
        let count = 100
        // A node may miss a state while it accepts a subscription.
        let apps = try (0..<count).map { _ in try nats.app(host: "h", settings: "completionDelay: 0", refresh: 10) }
        for app in apps { app.write("begin\tBefore") }
        let witness = try watch(nats.urls)
        func expect(_ label: String, of watch: Daemon) async {
            await expectEventually { labels(watch) == Array(repeating: "h/probe: \(label)", count: count) }
        }
        await expect("Before", of: witness)
        await nats.end(1)
        for app in apps { app.write("label\tAfter") }
        await expect("After", of: witness)
        try nats.start(1)
        try await nats.waitUntilUsed(1)
        for url in nats.urls { await expect("After", of: try watch([url])) }
        for app in apps { app.write("quit") }
        await expectEventually { !apps.contains { $0.isRunning } }
        // A cluster that is busy may not acknowledge the end within the time limit: then the will tells it.
        await expectEventually("\(labels(witness))") { labels(witness).isEmpty }
    }

    @Test(.needs("python3", package: "python3"))
    func `With MQTT 3.1.1, no reply of a broker ends the process`() async throws {
        var (server, settings) = try await fakeBroker(
            """
            for number in range(1, 301):
                c, _ = s.accept()
                c.recv(1000)
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
            """
        )
        settings.protocolVersion = .version311
        while server.isRunning {
            let connection = try? await MQTTConnection.open(id: "client", settings: settings, for: nil)
            // Until the server closes the connection.
            while let connection, (try? await connection.turn()) != nil {}
        }
        #expect(server.status == 0, "\(server.errors)")
    }
}
#endif
