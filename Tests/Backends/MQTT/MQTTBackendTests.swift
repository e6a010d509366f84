#if MQTT
import TestSupport

@testable import IndicatorMQTT

/// The backend with a real mosquitto, read by mosquitto_sub.
@Suite(.needs(.broker)) struct MQTTBackendTests {
    @Test("The state is retained from the start, has the label and progress, and is removed at a clean end")
    func life() async throws {
        let broker = try await MosquittoBroker()
        let reader = try await broker.reader()
        let app = try Publication(MQTTSettings(broker.url, host: "h/1"), app: "a+b")
        let (manager, topic) = (app.manager, app.topic)
        #expect(topic.hasPrefix("indicator/1/h%2F1/a%2Bb/\(getpid())-"))
        #expect(await reader.prints("0 \(topic) {"))
        let birth = try #require(try await broker.retained()[topic])
        #expect(birth.contains(#""count":0,"epoch":1,"seq":1"#) && birth.contains(#""state":"inactive""#))

        let activity = manager.begin("Copying\n\u{1B}[31mfiles")
        activity.progress = 0.25
        activity.attention = "Overwrite?"
        func messages(at topic: String) -> [String] {
            reader.output.split(separator: "\n").filter { $0.hasPrefix("0 \(topic) {") }.map {
                // Times and durations vary.
                String($0.dropFirst(topic.count + 3)).replacing(/"since":"[-0-9]+T[0-9:.]+Z"/, with: "SINCE")
                    .replacing(/"seq":[0-9]+/, with: "SEQ").replacing(/"seconds":[0-9.e-]+/, with: "SECONDS")
            }
        }
        let state = """
            {"activities":[{"label":"Copying [31mfiles","progress":0.25,SINCE}],"attention":"Overwrite?","count":1,\
            "epoch":1,"label":"Copying [31mfiles","progress":0.25,SEQ,SINCE,"state":"active","visible":true}
            """
        #expect(await eventually { messages(at: topic).last == state }, "\(messages(at: topic))")
        activity.end(.failed("HTTP 503"))
        let events = """
            {"epoch":1,"finished":[{"label":"Copying [31mfiles","message":"HTTP 503","outcome":"failed",SECONDS}]}
            """
        #expect(await eventually { messages(at: topic + "/events") == [events] }, "\(reader.output)")
        await manager.shutdown()
        // `shutdown()` returns after the delivery.
        #expect(try await broker.retained().isEmpty)
        #expect(!reader.output.contains("lost"))
    }

    @Test("At most one message in each interval: many changes become few messages, the last with the current state")
    func rate() async throws {
        let broker = try await MosquittoBroker()
        let reader = try await broker.reader()
        #expect(MQTTSettings(url: try MQTTURL(broker.url)).interval == .milliseconds(500), "the default")
        var settings = try MQTTSettings(broker.url)
        settings.interval = .seconds(100)
        let app = try Publication(settings)
        let (manager, topic) = (app.manager, app.topic)
        #expect(await reader.prints("0 \(topic) {"))
        for number in 0..<200 { manager.begin("Step \(number)").end(.succeeded) }
        // `shutdown()` does not wait for the interval.
        await manager.shutdown()
        #expect(await reader.prints("0 \(topic) \n"))
        let messages = reader.output.split(separator: "\n").filter { $0.hasPrefix("0 \(topic)") }
        #expect(messages.count == 4, "the first state, finished activities, the last state, the removal: \(messages)")
        #expect(messages.first { $0.contains("/events") }?.contains("Step 199") == true)
    }

    /// A backend that also receives.
    private struct Lamp: IndicatorBackend {
        let name = "lamp"
        let settings: MQTTSettings

        func show(_ updates: IndicatorUpdates) async throws {
            let will = ("lamp/state", Array("lost".utf8))
            let lamp = try await MQTTConnection.open(id: "lamp", settings: settings, will: will, for: updates)
            lamp.client.onMessage = { updates.control.isEnabled = $0.topic == "lamp/1/set" && $0.payload.first == 49 }
            try lamp.client.subscribe(to: "lamp/+/set")
            while let event = try await lamp.next() {
                guard case .update(let update) = event else { continue }
                let state = update.snapshot.isVisible ? "on" : "off"
                try lamp.publish(topic: "lamp/state", payload: Array(state.utf8), retain: true)
                try await lamp.settle()
            }
            lamp.disconnect()
        }
    }

    @Test func `A backend publishes and receives over its connection`() async throws {
        let broker = try await MosquittoBroker()
        let lamp = Lamp(settings: try MQTTSettings(broker.url))
        let manager = IndicatorManager(delays: .zero, backends: [lamp])
        manager.start("work")
        for number in 0..<2 {
            #expect(try await broker.retains("on", at: "lamp/state"))
            try await broker.publish("lamp/1/set", "-m", "0")
            #expect(try await broker.retains("off", at: "lamp/state"))
            if number == 0 { try await broker.publish("lamp/1/set", "-m", "1") }
        }
        await manager.shutdown()
        #expect(try await broker.retained()["lamp/state"] == "off", "it has disconnected")
    }

    @Test("A connection has no thread of its own beside that of the backend, and without one there is none")
    func threads() async throws {
        let broker = try await MosquittoBroker()
        let app = try await broker.app()
        func threads() -> [String] {
            let tasks = "/proc/\(app.processID)/task"
            return ((try? FileManager.default.contentsOfDirectory(atPath: tasks)) ?? []).compactMap {
                try? String(contentsOfFile: "\(tasks)/\($0)/comm", encoding: .utf8)
            }
        }
        #expect(try await broker.retains(1))
        #expect(threads().filter { $0.contains("mqtt") } == ["ind-mqtt\n"])
        await broker.end()
        #expect(await eventually { !threads().contains("ind-mqtt\n") })
        await app.end()
    }

    @Test("Each indicator has its own client identifier, and keeps it when it reconnects; keep-alive is 15 s")
    func identifiers() async throws {
        let broker = try await MosquittoBroker()
        let managers = try (0..<3).map { _ in try Publication(broker).manager }
        func identifiers() -> [String] {
            broker.log.matches(of: /New client connected from \S+ as (ind-\S+) \(p5, c1, k15\)/).map { String($0.1) }
        }
        #expect(await eventually { identifiers().count == 3 })
        let first = Set(identifiers())
        #expect(first.count == 3 && first.allSatisfy { $0.wholeMatch(of: /ind-[0-9]+-[0-9a-f]{8}/) != nil })
        await broker.end()
        try await broker.start()
        #expect(await eventually { Set(identifiers()) == first })
        // Otherwise mosquitto would have closed one of two connections with the same identifier.
        #expect(!broker.log.contains("already connected"))
        for manager in managers { await manager.shutdown() }
    }

    @Test func `Connections that are created concurrently do not change the app's handling of SIGPIPE`() async throws {
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
        var action = sigaction()
        sigaction(SIGPIPE, nil, &action)
        // Not what it was: other tests install one.
        #expect(unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) != 1, "it is not SIG_IGN")
    }

    @Test(arguments: BackendCompatibility.Case.allCases)
    func `A broker that ends and returns`(_ expectation: BackendCompatibility.Case) async throws {
        let broker = try await MosquittoBroker()
        let settings = MQTTSettings(url: try MQTTURL(broker.url))
        let suite = BackendCompatibility(
            make: { MQTTBackend(applicationName: "app", settings: settings) },
            surface: BackendCompatibility.Surface(
                take: { await broker.end() },
                giveBack: { try await broker.start() },
                hang: { broker.send(SIGSTOP) },
                goOn: { broker.send(SIGCONT) }
            )
        )
        try await suite.check(expectation)
    }
}
#endif
