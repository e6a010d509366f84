#if MQTT
import TestSupport

@testable import IndicatorMQTT

@Suite struct MQTTWatcherTests {
    @Test("Forgetting lost indicators can be cancelled while the broker does not answer", .needs(.broker))
    func cancellation() async throws {
        let broker = try await MosquittoBroker(settings: "log_type all")
        let watcher = MQTTWatcher(settings: try MQTTSettings(broker.url))
        var isInTime = false
        while !isInTime {
            try await broker.publish("indicator/1/h/a/i/lost", "-r", "-m", #"{"epoch":1,"state":"lost"}"#)
            let sent = broker.log.matches(of: /Sending PUBLISH to ind-watch-/).count
            let hasEnded = Locked(false)
            let task = Task {
                defer { hasEnded.withLock { $0 = true } }
                return try await watcher.forgetLost()
            }
            #expect(await eventually { broker.log.matches(of: /Sending PUBLISH to ind-watch-/).count > sent })
            // The watcher waits for more messages first.
            broker.send(SIGSTOP)
            #expect(try await eventually { try broker.unreadBytes > 0 || hasEnded.withLock { $0 } })
            isInTime = hasEnded.withLock { !$0 }
            task.cancel()
            if isInTime { await #expect(throws: CancellationError.self) { try await task.value } }
            broker.send(SIGCONT)
        }
    }

    @Test("The pauses between attempts grow to a minute, and differ between clients", arguments: 1...7)
    func pauses(failures: Int) {
        let longest = Duration.seconds([2, 4, 8, 16, 32, 60, 60][failures - 1])
        let pauses = (0..<100).map { _ in MQTTWatcher.pause(afterFailures: failures) }
        #expect(pauses.allSatisfy { (longest / 4...longest).contains($0) })
        #expect(Set(pauses).count > 50)
        // They are spread over the whole range: each end has a chance of 0.8^100 to be missed.
        #expect(pauses.contains { $0 < longest * 0.4 } && pauses.contains { $0 > longest * 0.85 })
    }
}
#endif
