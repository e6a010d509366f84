#if MQTT
import Foundation
import IndicatorCore
import IndicatorThreads

/// Watches the indicators on an MQTT broker.
package struct MQTTWatcher: Sendable {
    /// An event or a notice.
    package enum Report: Sendable {
        /// An indicator has changed.
        case event(MQTTRoster.Event)
        /// A notice for the user: the broker was lost, reconnected, or has not sent everything.
        case notice(String)
    }

    /// The broker and the prefix of all topics.
    package var settings: MQTTSettings
    /// The hosts to watch; all if empty.
    package var hosts: [String] = []
    /// The apps to watch; all if empty.
    package var apps: [String] = []

    package init(settings: MQTTSettings) {
        self.settings = settings
    }

    /// Reports the indicators on the broker, then their changes, until the task is cancelled or `report` throws.
    ///
    /// Reconnects when the connection is lost. Throws `MQTTError` if the broker cannot be reached at the beginning.
    ///
    /// - Parameter report: called on the watcher's thread. Until it returns, no further message is read.
    package func run(_ report: @escaping @Sendable (Report) throws -> Void) async throws {
        try await onThread { wakeUp in
            try Watch(watcher: self, wakeUp: wakeUp, report: report).run()
        }
    }

    /// Removes the lost indicators from the broker. Returns their topics, or throws `CancellationError`.
    ///
    /// - Parameter report: called with notices, on the watcher's thread.
    package func forgetLost(_ report: @escaping @Sendable (Report) throws -> Void = { _ in }) async throws
        -> [MQTTTopic]
    {
        let forgotten = Locked<[MQTTTopic]>([])
        try await onThread { wakeUp in
            let topics = try Watch(watcher: self, wakeUp: wakeUp, report: report).forgetLost()
            forgotten.withLock { $0 = topics }
        }
        return forgotten.withLock { $0 }
    }

    private func onThread(_ body: @escaping @Sendable (WakeUp) throws -> Void) async throws {
        guard let wakeUp = SpareDescriptors.makeWakeUp() else {
            throw MQTTError.noResources(reason: SpareDescriptors.problem)
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let isStarted = ThreadStarter.start(named: "ind-watch") {
                    continuation.resume(with: Result { try body(wakeUp) })
                }
                if !isStarted {
                    continuation.resume(throwing: MQTTError.noResources(reason: "could not create a thread"))
                }
            }
        } onCancel: {
            wakeUp.stop()
        }
    }

    /// The topic filters to subscribe to, in pairs, one after the other, so that the retained messages of each fit into
    /// the broker's queue for this client. The answer to the second one of a pair comes after the states.
    fileprivate var filters: [(String, String)] {
        if hosts.isEmpty, apps.isEmpty {
            // All, to count the messages of strangers. Nothing is published at the second one.
            return [("\(settings.topic)/#", "\(settings.topic)/-/-/-/-")]
        }
        let hosts = hosts.isEmpty ? ["+"] : hosts.map(MQTTTopic.level)
        let apps = apps.isEmpty ? ["+"] : apps.map(MQTTTopic.level)
        return hosts.flatMap { host in
            apps.map { app in
                let states = "\(settings.topic)/\(host)/\(app)/+"
                return (states, states + "/events")
            }
        }
    }
}

/// The state of a watcher's thread.
private final class Watch {
    private let watcher: MQTTWatcher
    private let wakeUp: WakeUp
    private let report: (MQTTWatcher.Report) throws -> Void

    private var roster: MQTTRoster
    /// The error that `report` threw for a message.
    private var error: (any Error)?
    private var failures = 0
    /// Whether the broker has granted all subscriptions on some connection.
    private var hasFollowed = false
    private var nextMissedNotice = 1
    private var nextIgnoredNotice = 1
    /// When the latest retained message for a subscription arrived.
    private var lastRetained: ContinuousClock.Instant?

    init(watcher: MQTTWatcher, wakeUp: WakeUp, report: @escaping (MQTTWatcher.Report) throws -> Void) {
        self.watcher = watcher
        self.wakeUp = wakeUp
        self.report = report
        roster = MQTTRoster(prefix: watcher.settings.topic)
    }

    func run() throws {
        while !wakeUp.isStopped {
            do {
                let client = try connect()
                try follow(client)
                disconnect(client)
            } catch let error as MQTTError {
                guard hasFollowed else { throw error }
                if failures == 0 { try report(.notice(error.reason)) }
                failures = min(failures + 1, 5)
                let end = ContinuousClock.now + MQTTBackend.pause(afterFailures: failures)
                while !wakeUp.isStopped, .now < end { wakeUp.wait(until: end) }
            }
        }
    }

    func forgetLost() throws -> [MQTTTopic] {
        let client = try connect()
        try follow(client, untilComplete: true)
        let lost = roster.lost
        for topic in lost {
            try waitUntilAcknowledged(client, exceptFor: 15)
            try client.publish(topic: topic.state, payload: [], retain: true)
        }
        try waitUntilAcknowledged(client)
        disconnect(client)
        return lost
    }

    /// Waits until the broker has acknowledged all messages, or all but a few. Throws if the task is cancelled.
    private func waitUntilAcknowledged(_ client: MQTTClient, exceptFor count: Int = 0) throws {
        while true {
            if wakeUp.isStopped { throw CancellationError() }
            if client.unacknowledged <= count { return }
            try client.turn(wakeUp)
        }
    }

    private func connect() throws(MQTTError) -> MQTTClient {
        do throws(MQTTError) {
            return try connect(usesIPv4Only: failures % 2 == 1)
        } catch {
            // Some hosts have an unreachable IPv6 address.
            guard !hasFollowed, !wakeUp.isStopped, case .unreachable = error else { throw error }
            return try connect(usesIPv4Only: true)
        }
    }

    private func connect(usesIPv4Only: Bool) throws(MQTTError) -> MQTTClient {
        let id = "ind-watch-\(String(UInt64.random(in: 0...UInt64.max), radix: 36))"
        let client = try MQTTClient(id: id, settings: watcher.settings)
        try client.connect(usesIPv4Only: usesIPv4Only, wakeUp)
        return client
    }

    private func disconnect(_ client: MQTTClient) {
        client.disconnect()
        try? client.turn(wakeUp, until: .now + .milliseconds(500))
    }

    /// Subscribes and reports events until the watcher is stopped or, if `untilComplete`, has all retained messages.
    private func follow(_ client: MQTTClient, untilComplete: Bool = false) throws {
        roster.connected(at: .now)
        client.onMessage = { [unowned self] in receive($0) }
        for filters in watcher.filters where !wakeUp.isStopped { try subscribe(client, to: filters) }
        if hasFollowed { try report(.notice("reconnected to the broker")) }
        (hasFollowed, failures) = (true, 0)
        while !wakeUp.isStopped, !untilComplete || !roster.isComplete {
            try client.turn(wakeUp, until: .now + .seconds(1))
            if let error { throw error }
            for event in roster.advance(to: .now) { try report(.event(event)) }
            if roster.ignoredCount >= nextIgnoredNotice {
                // At 1, 2, 4 and so on, so that the log stays short.
                nextIgnoredNotice = 2 * roster.ignoredCount
                try report(.notice("ignored messages that are not from an indicator: \(roster.ignoredCount)"))
            }
            if roster.missedCount >= nextMissedNotice {
                nextMissedNotice = 2 * roster.missedCount
                try report(
                    .notice("states that the broker did not send at the beginning: \(roster.missedCount) so far")
                )
            }
        }
    }

    /// Subscribes to the states and the events of some indicators, and receives the retained states.
    ///
    /// When a client's queue is full, mosquitto 2.0 drops all packets for it, also the answer to the subscription
    /// (https://github.com/eclipse/mosquitto/issues/2196). So an answer that does not follow the states was dropped. The
    /// reverse does not hold: if the broker pauses before it reads the second subscription, there may be room for that
    /// answer again. The roster counts what then appears later.
    private func subscribe(_ client: MQTTClient, to filters: (String, String)) throws {
        lastRetained = nil
        try client.subscribe(to: filters.0)
        try client.subscribe(to: filters.1)
        while client.unansweredSubscriptions > 0, !wakeUp.isStopped {
            let end = lastRetained.map { $0 + MQTTRoster.quietTime }
            if let end, .now >= end {
                client.unansweredSubscriptions = 0
                roster.noteGaps()
                try report(
                    .notice(
                        """
                        the broker did not send all states, which appear when they change; raise its queue limits \
                        (max_queued_messages of mosquitto), or watch fewer indicators with --host and --app
                        """
                    )
                )
            } else {
                try client.turn(wakeUp, until: end)
                if let error { throw error }
            }
        }
    }

    private func receive(_ message: MQTTClient.Message) {
        if message.isRetained { lastRetained = .now }
        guard error == nil, let event = roster.receive(message, at: .now) else { return }
        do { try report(.event(event)) } catch { self.error = error }
    }
}
#endif
