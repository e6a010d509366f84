#if MQTT
import Foundation
import IndicatorCore
import IndicatorThreads

/// One connection of an ``MQTTBackend`` to its broker, with the thread that serves it.
final class MQTTConnection: Sendable {
    private struct State: Sendable {
        var result: Result<Void, MQTTError>?
        var hasEnded = false
        /// Whether the backend has started with this connection. Nothing is published before.
        var isUsed = false
        var starter: CheckedContinuation<Void, any Error>?
        var stoppers: [CheckedContinuation<Void, Never>] = []
    }

    /// How long the broker may delay ``stop()``.
    private static let farewellLimit = Duration.milliseconds(700)
    /// How long a connection waits for the next start: the backend may have been stopped in the meantime.
    private static let unusedLimit = Duration.seconds(5)
    /// How many messages may be unacknowledged. Beyond that, publishing waits, and the latest snapshot wins.
    private static let outgoingLimit = 4

    let wakeUp: WakeUp

    private let settings: MQTTSettings
    private let topic: MQTTTopic
    private let epoch: Int
    private let outbox: MQTTOutbox
    private let state = Locked(State())

    init(
        settings: MQTTSettings,
        topic: MQTTTopic,
        epoch: Int,
        outbox: MQTTOutbox
    ) throws(MQTTError) {
        guard let wakeUp = SpareDescriptors.makeWakeUp() else {
            throw .noResources(reason: SpareDescriptors.problem)
        }
        self.wakeUp = wakeUp
        self.settings = settings
        self.topic = topic
        self.epoch = epoch
        self.outbox = outbox
    }

    /// Begins to connect.
    ///
    /// - Parameters:
    ///   - onConnected: called if nothing waits in ``waitUntilConnected(within:)`` when the broker accepts the client.
    ///   - onEnd: called at the end with the error (`nil` after ``stop()``) and how long the client was connected.
    func run(
        onConnected: @escaping @Sendable () -> Void,
        onEnd: @escaping @Sendable (MQTTError?, Duration?) -> Void
    ) {
        let isStarted = ThreadStarter.start(named: "ind-mqtt") {
            var connectedAt: ContinuousClock.Instant?
            var fault: MQTTError?
            do throws(MQTTError) {
                let client = try self.connect()
                connectedAt = .now
                if !self.finishStart(.success(())) { onConnected() }
                let hasPublished = try self.serve(client)
                self.end(client, clears: hasPublished)
            } catch {
                // An error while stopping is not a failure.
                if !self.wakeUp.isStopped { fault = error }
            }
            // The next connection sends unacknowledged events again.
            self.outbox.restoreEvents()
            onEnd(fault, connectedAt?.duration(to: .now))
            self.finish(fault)
        }
        if !isStarted {
            let error = MQTTError.noResources(reason: "could not create a thread")
            onEnd(error, nil)
            finish(error)
        }
    }

    /// Returns when the broker has accepted the client. Throws the reason if it has not.
    func waitUntilConnected(within limit: Duration) async throws {
        let end = ServiceThread.now + limit.wholeNanoseconds
        let call = ServiceThread.shared.call(at: end) { [self] in
            let error = MQTTError.unreachable(settings.brokerName, reason: "no answer yet")
            let starter = state.withLock { $0.starter.take() }
            starter?.resume(throwing: error)
        }
        defer { ServiceThread.shared.cancelCall(call) }
        try await withCheckedThrowingContinuation { continuation in
            let result = state.withLock { state in
                state.isUsed = state.result != nil
                if state.result == nil { state.starter = continuation }
                return state.result
            }
            if let result { continuation.resume(with: result.mapError { $0 }) }
        }
    }

    /// Ends the connection. Returns when pending messages are delivered, or after 0.7 s.
    func stop() async {
        wakeUp.stop()
        await withCheckedContinuation { continuation in
            let hasEnded = state.withLock { state in
                if !state.hasEnded { state.stoppers.append(continuation) }
                return state.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }

    // MARK: - On the thread

    private func connect() throws(MQTTError) -> MQTTClient {
        try MQTTClient.connected(id: "ind-\(topic.instance)", settings: settings, wakeUp) { client in
            let will = MQTTReport.lost(epoch: epoch).payload
            client.setWill(topic: topic.lost, payload: will, expiry: MQTTReport.lostExpiry)
        }
    }

    /// Publishes until the backend is stopped. Returns whether a state was published.
    private func serve(_ client: MQTTClient) throws(MQTTError) -> Bool {
        let unusedEnd = ContinuousClock.now + Self.unusedLimit
        while !state.withLock({ $0.isUsed }) {
            guard !wakeUp.isStopped, .now < unusedEnd else { return false }
            try client.turn(wakeUp, until: unusedEnd)
        }
        let standard = client.isVersion5 ? MQTTReport.standardRefresh : MQTTReport.shortRefresh
        let interval = settings.refresh.map { Int(clamping: max($0.components.seconds, 1)) } ?? standard
        var seq = 0
        var latest: IndicatorSnapshot?
        var nextMessage = ContinuousClock.now
        var refresh = ContinuousClock.now + .seconds(interval)
        var wasEvents = true
        while !wakeUp.isStopped {
            var deadline = refresh
            if client.unacknowledged == 0 { outbox.confirmEvents() }
            if outbox.hasSnapshot || outbox.hasEvents { deadline = min(deadline, nextMessage) }
            if client.unacknowledged < Self.outgoingLimit, .now >= deadline {
                // Alternately, if both wait.
                if !wasEvents || !outbox.hasSnapshot, let events = outbox.takeEvents(epoch: epoch) {
                    try client.publish(topic: topic.events, payload: events.payload, retain: false)
                    wasEvents = true
                } else if let snapshot = outbox.takeSnapshot() ?? latest {
                    latest = snapshot
                    seq += 1
                    let report = MQTTReport(snapshot, epoch: epoch, seq: seq, refresh: interval)
                    let expiry = UInt32(report.expiry)
                    try client.publish(topic: topic.state, payload: report.payload, retain: true, expiry: expiry)
                    // Of the previous connection. A watcher ignores its will after this state.
                    if seq == 1, epoch > 1 { try client.publish(topic: topic.lost, payload: [], retain: true) }
                    // After the state, in case that the broker permits only that.
                    if seq == 1, let prefix = settings.homeAssistantTopic {
                        let discovery = HomeAssistantDiscovery(prefix: prefix, topic: topic, silence: interval * 3 / 2)
                        for message in discovery.messages {
                            try client.publish(topic: message.topic, payload: message.payload, retain: true)
                        }
                    }
                    refresh = .now + .seconds(interval)
                    wasEvents = false
                }
                nextMessage = .now + settings.interval
            } else {
                try client.turn(wakeUp, until: client.unacknowledged < Self.outgoingLimit ? deadline : nil)
            }
        }
        return seq > 0
    }

    /// Removes the retained state and disconnects. Does not disconnect if the broker does not acknowledge in time, so
    /// that it publishes the will.
    private func end(_ client: MQTTClient, clears: Bool) {
        let deadline = ContinuousClock.now + Self.farewellLimit
        try? {
            if let events = outbox.takeEvents(epoch: epoch) {
                try client.publish(topic: topic.events, payload: events.payload, retain: false)
            }
            if clears { try client.publish(topic: topic.state, payload: [], retain: true) }
            // A late will.
            if clears, epoch > 1 { try client.publish(topic: topic.lost, payload: [], retain: true) }
            while client.unacknowledged > 0 {
                guard .now < deadline else { return }
                try client.turn(wakeUp, until: deadline)
            }
            outbox.confirmEvents()
            client.disconnect()
            while client.socket >= 0, .now < deadline { try client.turn(wakeUp, until: deadline) }
        }()
    }

    /// Reports the result to ``waitUntilConnected(within:)``, if it still waits.
    private func finishStart(_ result: Result<Void, MQTTError>) -> Bool {
        let starter = state.withLock { state in
            state.result = result
            state.isUsed = state.starter != nil
            return state.starter.take()
        }
        starter?.resume(with: result.mapError { $0 })
        return starter != nil
    }

    private func finish(_ fault: MQTTError?) {
        _ = finishStart(.failure(fault ?? .lost(settings.brokerName, reason: "it was stopped")))
        let stoppers = state.withLock { state in
            state.hasEnded = true
            defer { state.stoppers = [] }
            return state.stoppers
        }
        for stopper in stoppers { stopper.resume() }
    }
}
#endif
