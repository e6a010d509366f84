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
        #expect(app.topic.hasPrefix("indicator/1/h%2F1/a%2Bb/\(getpid())-"))
        #expect(await reader.prints("0 \(app.topic) {"))
        let birth = try #require(try await broker.retained()[app.topic])
        #expect(birth.contains(#""count":0,"epoch":1,"seq":1"#) && birth.contains(#""state":"inactive""#))

        let activity = app.manager.begin("Copying\n\u{1B}[31mfiles")
        activity.progress = 0.25
        activity.attention = "Overwrite?"
        /// The last message at a topic, without times and durations, which vary.
        func last(_ topic: String) -> String? {
            let messages = reader.output.split(separator: "\n").filter { $0.hasPrefix("0 \(topic) {") }
            return messages.last.map { String($0.dropFirst(topic.count + 3)) }?
                .replacing(/"since":"[-0-9]+T[0-9:.]+Z"/, with: "SINCE").replacing(/"seq":[0-9]+/, with: "SEQ")
                .replacing(/"seconds":[0-9.e-]+/, with: "SECONDS")
        }
        let state = """
            {"activities":[{"label":"Copying [31mfiles","progress":0.25,SINCE}],"attention":"Overwrite?","count":1,\
            "epoch":1,"label":"Copying [31mfiles","progress":0.25,SEQ,SINCE,"state":"active","visible":true}
            """
        await expectEventually("\(reader.output)") { last(app.topic) == state }
        activity.end(.failed("HTTP 503"))
        let events = """
            {"epoch":1,"finished":[{"label":"Copying [31mfiles","message":"HTTP 503","outcome":"failed",SECONDS}]}
            """
        await expectEventually("\(reader.output)") { last(app.topic + "/events") == events }
        await app.manager.shutdown()
        // `shutdown()` returns after the delivery.
        #expect(try await broker.retained().isEmpty)
        #expect(!reader.output.contains("lost"))
    }

    @Test("At most one message in each interval: many changes become few messages, the last with the current state")
    func rate() async throws {
        let broker = try await MosquittoBroker()
        let reader = try await broker.reader()
        var settings = try MQTTSettings(broker.url)
        settings.interval = .seconds(100)
        let app = try Publication(settings)
        #expect(await reader.prints("0 \(app.topic) {"))
        for number in 0..<200 { app.manager.begin("Step \(number)").end(.succeeded) }
        // `shutdown()` does not wait for the interval.
        await app.manager.shutdown()
        #expect(await reader.prints("0 \(app.topic) \n"))
        let messages = reader.output.split(separator: "\n").filter { $0.hasPrefix("0 \(app.topic)") }
        #expect(messages.count == 4, "the first state, finished activities, the last state, the removal: \(messages)")
        #expect(messages.first { $0.contains("/events") }?.contains("Step 199") == true)
    }

    @Test("A connection has no thread of its own beside that of the backend, and without one there is none")
    func threads() async throws {
        let broker = try await MosquittoBroker()
        let app = try await broker.app()
        #expect(try await broker.retains(1))
        await expectEventually { wakingThreads(of: app.processID).names.filter { $0.contains("mqtt") } == ["ind-mqtt"] }
        await broker.end()
        await expectEventually { !wakingThreads(of: app.processID).names.contains("ind-mqtt") }
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
        let threads = (0..<4).map { number in
            JoinableThread { for _ in 0..<2000 { _ = try? MQTTClient(id: "client-\(number)", settings: settings) } }
        }
        for thread in threads { await thread.join() }
        // Not what it was: other tests install one, and create connections, during which it is ignored.
        await expectEventually("it is not SIG_IGN") {
            var action = sigaction()
            sigaction(SIGPIPE, nil, &action)
            return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) != 1
        }
    }

    @Test(arguments: BackendCompatibility.Case.allCases)
    func `With a broker, it does what every backend must`(_ expectation: BackendCompatibility.Case) async throws {
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
