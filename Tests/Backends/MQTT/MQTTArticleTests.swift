#if MQTT
import TestSupport

@testable import IndicatorMQTT

/// The commands and files of the article "Many machines".
@Suite(.needs(.broker)) struct MQTTArticleTests {
    private let article: Article

    init() throws { article = try Article("Backends/Standard/IndicatorBackends.docc/ManyMachines.md") }

    @Test("With the broker of the article, a machine writes its own topics only, and the watcher reads all of them")
    func broker() async throws {
        let address = try LoopbackAddress().host
        let folder = try TemporaryDirectory()
        mkdir(folder.appending("certs"), 0o700)
        let commands = try article.block(with: "mosquitto_passwd")
            .replacing("sudo apt install mosquitto && cd /etc/mosquitto/certs", with: "cd '\(folder.path)/certs'")
            .replacing("sudo ", with: "").replacing("DNS:broker.example", with: "IP:\(address)")
            .replacing(" && chown mosquitto broker.key", with: "").replacing("-o mosquitto ", with: "")
            .replacing("mosquitto_passwd ", with: "mosquitto_passwd -b ")
            .replacing(#""$user";"#, with: #""$user" hush;"#)
        let result = try await Command.run("sh", ["-e", "-c", commands])
        #expect(result.status == 0, "\(result.error)")
        let settings = try article.block(with: "listener 8883").replacing("listener 8883\n", with: "")
            .replacing("/etc/mosquitto", with: folder.path)
        let rights = try article.block(with: "user watcher")
        try folder.write(rights, to: "acl")
        let broker = try await MosquittoBroker(settings: settings, address: address)

        func client(_ user: String, host: String) throws -> MQTTSettings {
            var settings = try MQTTSettings("mqtts://\(address):\(broker.port)", host: host)
            (settings.username, settings.password) = (user, .text("hush"))
            settings.caFile = folder.appending("certs/ca.crt")
            return settings
        }
        let own = try ["web-1", "web-2"].map { try Publication(client($0, host: $0)) }
        let other = try Publication(client("web-2", host: "web-1"))
        #expect(await other.reports("Not authorized"), "\(broker.log)")
        let watcher = MQTTWatcher(settings: try client("watcher", host: ""))
        try await expectEventually {
            let hosts = Locked<[String]>([])
            do {
                try await watcher.run(once: true) { report in
                    if case .event(.appeared(let topic, _)) = report { hosts.withLock { $0.append(topic.host) } }
                }
            } catch MQTTError.lost, MQTTError.unreachable {
                // Seen on a busy machine; `watch` without --once tries again, too.
                return false
            }
            return hosts.withLock { $0 }.sorted() == ["web-1", "web-2"]
        }
        // The broker may have been too busy to answer in time at first.
        for app in own { #expect(await app.runs()) }
        for app in own + [other] { await app.manager.shutdown() }
    }

    @Test func `Behind the bridge of the article, states expire as on the site's own broker`() async throws {
        let central = try await MosquittoBroker()
        let bridge = try article.block(with: "bridge_protocol_version").split(separator: "\n")
            .filter { !$0.hasPrefix("bridge_cafile") && !$0.hasPrefix("remote_") }.joined(separator: "\n")
            .replacing("central.example:8883", with: "\(central.address):\(central.port)")
        let site = try await MosquittoBroker(settings: bridge)
        var settings = try MQTTSettings(site.url)
        settings.refresh = .seconds(20)
        let app = try Publication(settings)
        let reader = try await Command.run(
            "mosquitto_sub",
            ["-V", "5", "-h", central.address, "-p", "\(central.port)", "-t", "indicator/1/#", "-C", "1"]
                + ["-F", "%E", "-W", "60"]
        )
        let seconds = try #require(Int(reader.output.trimmingCharacters(in: .whitespacesAndNewlines)))
        #expect((1...60).contains(seconds))
        await app.manager.shutdown()
        #expect(try await central.retains(0))
    }

    @Test(.needs(.cluster)) func `NATS accepts the configuration of a node`() async throws {
        let folder = try TemporaryDirectory()
        let text = try article.block(with: "server_name").replacing("/var/lib/nats", with: folder.path)
        let path = try folder.write(text, to: "node.conf")
        let result = try await Command.run("nats-server", ["-t", "-c", path], package: "nats-server")
        #expect(result.status == 0, "\(result.output)\(result.error)")
    }

    @Test("The config file sets the keep-alive interval, and after how long an unchanged state is sent again")
    func intervals() async throws {
        let broker = try await MosquittoBroker()
        let app = try await broker.app(settings: "keepAlive: 7, refresh: 20")
        try await expectEventually { try await broker.retained().values.first?.contains(#""refresh":20"#) == true }
        #expect(broker.log.contains("(p5, c1, k7)"))
        await app.end()
    }
}
#endif
