#if MQTT
import Foundation
import IndicatorBackends
import IndicatorCore
import IndicatorThreads
import TestSupport
import Testing

/// The backend with a real mosquitto, read by mosquitto_sub.
@Suite struct MQTTBackendTests {
    private func settings(_ broker: MosquittoBroker, scheme: String = "mqtt") throws -> MQTTSettings {
        var settings = MQTTSettings(url: try MQTTURL("\(scheme)://\(broker.address):\(broker.port)"))
        settings.interval = .zero
        settings.host = "h/1"
        return settings
    }

    private func manager(_ settings: MQTTSettings) throws -> (IndicatorManager, topic: String) {
        let backend = MQTTBackend(applicationName: "a+b", settings: settings)
        let delays = try IndicatorDelays(startDelay: .zero, completionDelay: .zero)
        return (IndicatorManager(delays: delays, backends: [backend]), backend.stateTopic)
    }

    @Test("The state is retained from the start, has the label and progress, and is removed at a clean end")
    func life() async throws {
        let broker = try await MosquittoBroker()
        let reader = try await broker.reader()
        let (manager, topic) = try manager(try settings(broker))
        #expect(topic.hasPrefix("indicator/1/h%2F1/a%2Bb/\(getpid())-"))
        #expect(await eventually { reader.output.contains("0 \(topic) {") })
        let birth = try #require(try await broker.retained()[topic])
        #expect(birth.contains(#""count":0,"epoch":1,"seq":1"#) && birth.contains(#""state":"inactive""#))

        let activity = manager.begin("Copying\n\u{1B}[31mfiles")
        activity.progress = 0.25
        #expect(await eventually { reader.output.contains(#""label":"Copying [31mfiles","progress":0.25"#) })
        activity.end(.failed("HTTP 503"))
        #expect(await eventually { reader.output.contains("0 \(topic)/events {") })
        #expect(reader.output.contains(#""message":"HTTP 503","outcome":"failed""#))
        await manager.shutdown()
        // `shutdown()` returns after the delivery.
        #expect(try await broker.retained().isEmpty)
        #expect(!reader.output.contains("lost"))
    }

    @Test("At most one message in each interval: many changes become few messages, the last with the current state")
    func rate() async throws {
        let broker = try await MosquittoBroker()
        let reader = try await broker.reader()
        var settings = try settings(broker)
        settings.interval = .seconds(100)
        let (manager, topic) = try manager(settings)
        #expect(await eventually { reader.output.contains("0 \(topic) {") })
        for number in 0..<200 { manager.begin("Step \(number)").end(.succeeded) }
        #expect(await eventually { (manager.backendStatuses.first?.updatesDelivered ?? 0) > 1 })
        // `shutdown()` does not wait for the interval.
        await manager.shutdown()
        #expect(await eventually { reader.output.contains("0 \(topic) \n") })
        let messages = reader.output.split(separator: "\n").filter { $0.hasPrefix("0 \(topic)") }
        #expect(messages.count == 3, "the first state, finished activities, the removal: \(messages)")
        #expect(messages.first { $0.contains("/events") }?.contains("Step 199") == true)
    }

    @Test("The password is read from a file; a wrong one causes an error that does not contain it")
    func password() async throws {
        let passwords = try TemporaryDirectory()
        let made = try await Command.run("mosquitto_passwd", ["-b", "-c", passwords.appending("p"), "me", "hush"])
        #expect(made.status == 0)
        let broker = try await MosquittoBroker(
            settings: "allow_anonymous false\npassword_file FOLDER/passwords\nacl_file FOLDER/acl",
            files: [
                "passwords": try passwords.read("p"),
                "acl": "user me\ntopic readwrite indicator/1/h%2F1/#\n",
            ]
        )
        let file = try passwords.write("hush\n", to: "secret")
        var settings = try settings(broker)
        settings.username = "me"
        settings.password = .file(file)
        let (right, topic) = try manager(settings)
        let login = ["-u", "me", "-P", "hush"]
        #expect(await eventually { right.backendStatuses[0].state == .running })
        #expect(
            try await eventually { try await broker.retained(login[0], login[1], login[2], login[3])[topic] != nil }
        )
        await right.shutdown()

        try passwords.write("hush-hush\n", to: "secret")
        let (wrong, _) = try manager(settings)
        #expect(await eventually { wrong.backendStatuses[0].state.description.contains("refuses") })
        #expect(!"\(wrong.backendStatuses)".contains("hush"))
        await wrong.shutdown()

        // With MQTT 5, mosquitto reports what the ACL forbids.
        settings.password = .text("hush")
        settings.host = "elsewhere"
        let (elsewhere, _) = try manager(settings)
        #expect(
            await eventually { elsewhere.backendStatuses[0].lastError?.contains("publishing: Not authorized") == true }
        )
        await elsewhere.shutdown()
    }

    @Test("TLS with a client certificate; a broker certificate from another authority is rejected")
    func tls() async throws {
        let certificates = try await Certificates()
        let broker = try await MosquittoBroker(
            settings: """
                allow_anonymous true
                cafile \(certificates.folder.path)/ca.pem
                certfile \(certificates.folder.path)/server.pem
                keyfile \(certificates.folder.path)/server.key
                require_certificate true
                """
        )
        try await certificates.sign("server", for: broker.address)
        await broker.end()
        try await broker.start()
        var settings = try settings(broker, scheme: "mqtts")
        settings.caFile = certificates.folder.appending("ca.pem")
        settings.certificateFile = certificates.folder.appending("client.pem")
        settings.keyFile = certificates.folder.appending("client.key")
        let reader = try await broker.reader(
            of: "#",
            "--cafile",
            settings.caFile!,
            "--cert",
            settings.certificateFile!,
            "--key",
            settings.keyFile!
        )
        let (manager, topic) = try manager(settings)
        #expect(await eventually { reader.output.contains("0 \(topic) {") })
        await manager.shutdown()
        #expect(await eventually { reader.output.contains("0 \(topic) \n") })

        settings.caFile = certificates.folder.appending("other.pem")
        let (other, _) = try self.manager(settings)
        #expect(await eventually { other.backendStatuses[0].state.description.contains("no encrypted connection") })
        await other.shutdown()

        settings.caFile = certificates.folder.appending("ca.pem")
        settings.certificateFile = nil
        settings.keyFile = nil
        let (bare, _) = try self.manager(settings)
        #expect(await eventually { if case .unavailable = bare.backendStatuses[0].state { true } else { false } })
        await bare.shutdown()

        settings.caFile = certificates.folder.appending("nowhere.pem")
        let (missing, _) = try self.manager(settings)
        #expect(
            await eventually {
                missing.backendStatuses[0].state.description.contains("cannot be used: it does not exist")
            }
        )
        await missing.shutdown()
    }

    @Test("Connections that are created concurrently do not change the app's handling of SIGPIPE")
    func brokenPipes() async throws {
        func handler() -> Int {
            var action = sigaction()
            sigaction(SIGPIPE, nil, &action)
            return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
        }
        let before = handler()
        let settings = MQTTSettings(url: try MQTTURL("mqtt://127.0.0.1"))
        let left = Locked(4)
        for number in 0..<4 {
            let isStarted = ThreadStarter.start(named: "clients") {
                for _ in 0..<2000 { _ = try? MQTTClient(id: "client-\(number)", settings: settings) }
                left.withLock { $0 -= 1 }
            }
            try #require(isStarted)
        }
        #expect(await eventually { left.withLock { $0 } == 0 })
        #expect(handler() == before)
    }

    @Test("A key with a passphrase is an error, without a prompt")
    func passphrase() async throws {
        let certificates = try await Certificates()
        let key = certificates.folder.appending("client.key")
        let locked = certificates.folder.appending("locked.key")
        _ = try await Command.run("openssl", ["rsa", "-aes256", "-passout", "pass:hush", "-in", key, "-out", locked])
        var settings = MQTTSettings(url: try MQTTURL("mqtts://127.0.0.1:9"))
        settings.caFile = certificates.folder.appending("ca.pem")
        settings.certificateFile = certificates.folder.appending("client.pem")
        settings.keyFile = locked
        let backend = MQTTBackend(applicationName: "x", settings: settings)
        await #expect(throws: MQTTError.self) { try await backend.start() }
    }
}

/// Certificates of a private authority, created with openssl.
private struct Certificates {
    let folder: TemporaryDirectory

    init() async throws {
        folder = try TemporaryDirectory()
        for name in ["ca", "other"] {
            try await openssl(
                "req",
                "-x509",
                "-newkey",
                "rsa:2048",
                "-nodes",
                "-days",
                "2",
                "-subj",
                "/CN=\(name)",
                "-keyout",
                folder.appending("\(name).key"),
                "-out",
                folder.appending("\(name).pem")
            )
        }
        try await sign("client", for: "127.0.0.1")
        try await sign("server", for: "127.0.0.1")
    }

    func sign(_ name: String, for address: String) async throws {
        let extensions = try folder.write("subjectAltName=IP:\(address)\n", to: "extensions")
        let request = folder.appending("\(name).csr")
        try await openssl(
            "req",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-subj",
            "/CN=\(name)",
            "-keyout",
            folder.appending("\(name).key"),
            "-out",
            request
        )
        try await openssl(
            "x509",
            "-req",
            "-in",
            request,
            "-days",
            "2",
            "-CA",
            folder.appending("ca.pem"),
            "-CAkey",
            folder.appending("ca.key"),
            "-CAcreateserial",
            "-extfile",
            extensions,
            "-out",
            folder.appending("\(name).pem")
        )
    }

    private func openssl(_ arguments: String...) async throws {
        let result = try await Command.run("openssl", arguments, package: "openssl")
        if result.status != 0 { throw MosquittoBroker.NotStarted(error: result.error) }
    }
}
#endif
