#if MQTT
import Foundation
@testable import IndicatorMQTT
import IndicatorCore
import IndicatorThreads
import TestSupport
import Testing

/// The backend with a real mosquitto, read by mosquitto_sub.
@Suite struct MQTTBackendTests {
    private func settings(_ broker: MosquittoBroker) throws -> MQTTSettings {
        var settings = MQTTSettings(url: try MQTTURL(broker.url))
        settings.interval = .zero
        settings.host = "h/1"
        return settings
    }

    private func manager(_ settings: MQTTSettings) throws -> (IndicatorManager, topic: String) {
        let backend = MQTTBackend(applicationName: "a+b", settings: settings)
        let delays = try IndicatorDelays(startDelay: .zero, completionDelay: .zero)
        return (IndicatorManager(delays: delays, backends: [backend]), backend.stateTopic)
    }

    @Test(
        "The state is retained from the start, has the label and progress, and is removed at a clean end",
        .needs(.broker)
    )
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

    @Test(
        "At most one message in each interval: many changes become few messages, the last with the current state",
        .needs(.broker)
    )
    func rate() async throws {
        let broker = try await MosquittoBroker()
        let reader = try await broker.reader()
        var settings = try settings(broker)
        settings.interval = .seconds(100)
        let (manager, topic) = try manager(settings)
        #expect(await eventually { reader.output.contains("0 \(topic) {") })
        for number in 0..<200 { manager.begin("Step \(number)").end(.succeeded) }
        // `shutdown()` does not wait for the interval.
        await manager.shutdown()
        #expect(await eventually { reader.output.contains("0 \(topic) \n") })
        let messages = reader.output.split(separator: "\n").filter { $0.hasPrefix("0 \(topic)") }
        #expect(messages.count == 4, "the first state, finished activities, the last state, the removal: \(messages)")
        #expect(messages.first { $0.contains("/events") }?.contains("Step 199") == true)
    }

    @Test(.needs(.broker))
    func `A burst of changes becomes two messages a second, and the last one has the last change`() async throws {
        let broker = try await MosquittoBroker()
        let reader = try await broker.reader()
        var settings = MQTTSettings(url: try MQTTURL(broker.url))
        #expect(settings.interval == .milliseconds(500), "the default")
        settings.host = "h"
        let start = ContinuousClock.now
        let (manager, topic) = try manager(settings)
        #expect(await eventually { reader.output.contains("0 \(topic) {") })
        let activity = ManagedActivity("Working", in: manager)
        func messages() -> [Substring] { reader.output.split(separator: "\n").filter { $0.hasPrefix("0 \(topic)") } }
        // Changes until several messages have arrived, each of which could have been another message.
        var number = 0
        #expect(
            await eventually {
                for _ in 0..<100 {
                    number += 1
                    activity.label = "Step \(number)"
                }
                return messages().count > 5
            }
        )
        activity.label = "The last"
        #expect(await eventually { messages().last?.contains("The last") == true })
        let count = messages().count
        let passed = ContinuousClock.now - start
        // At any speed of this machine: the first is immediate, and the others are half a second apart.
        #expect(Double(count) <= 1 + passed / settings.interval, "\(count) messages in \(passed)")
        #expect(number > 2 * count, "most changes were not sent")
        activity.end()
        await manager.shutdown()
        // The end of an activity and of the app do not wait for the interval, and nothing else follows.
        #expect(await eventually { reader.output.hasSuffix("0 \(topic) \n") })
        #expect(messages().dropFirst(count).contains { $0.contains("/events") })
        #expect(messages().count <= count + 3)
    }

    @Test(
        "A connection has no thread of its own beside that of the backend, and without one there is none",
        .needs(.broker)
    )
    func threads() async throws {
        let broker = try await MosquittoBroker()
        let config = "backends: [mqtt]\nmqtt: {url: '\(broker.url)', host: h}\n"
        let folder = try TemporaryDirectory()
        let path = try folder.write(config, to: "c.yaml")
        let app = try Daemon(try Command.built("test-probe"), ["desktop", "config=\(path)"])
        func threads() -> [String] {
            let tasks = "/proc/\(app.processID)/task"
            return ((try? FileManager.default.contentsOfDirectory(atPath: tasks)) ?? []).compactMap {
                try? String(contentsOfFile: "\(tasks)/\($0)/comm", encoding: .utf8)
            }
        }
        #expect(try await eventually { try await broker.retained().count == 1 })
        #expect(threads().filter { $0.contains("mqtt") } == ["ind-mqtt\n"])
        await broker.end()
        #expect(await eventually { !threads().contains("ind-mqtt\n") })
        await app.end()
    }

    @Test(
        "Each indicator has its own client identifier, and keeps it when it reconnects; keep-alive is 15 s",
        .needs(.broker)
    )
    func identifiers() async throws {
        let broker = try await MosquittoBroker()
        let managers = try (0..<3).map { _ in try manager(try settings(broker)).0 }
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

    @Test
    func `Connections that are created concurrently do not change the app's handling of SIGPIPE`() async throws {
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
}
#endif
