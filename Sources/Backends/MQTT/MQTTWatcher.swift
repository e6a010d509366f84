#if MQTT
import Foundation
import IndicatorCore
import IndicatorThreads

/// Follows the indicators on an MQTT broker.
package struct MQTTWatcher: Sendable {
    /// What is reported.
    package enum Report: Sendable {
        /// An indicator has changed.
        case event(MQTTRoster.Event)
        /// Something that the user should know: the broker was lost, is back, or has not sent everything.
        case notice(String)
    }

    /// The broker, and what all topics begin with.
    package var settings: MQTTSettings
    /// The names of the machines to follow; all if there are none.
    package var hosts: [String] = []
    /// The names of the apps to follow; all if there are none.
    package var apps: [String] = []

    package init(settings: MQTTSettings) {
        self.settings = settings
    }

    /// Reports the indicators on the broker, then their changes, until the task is cancelled or `report` throws.
    ///
    /// The broker may go away and come back. Throws `MQTTError` if it cannot be reached at the beginning.
    ///
    /// - Parameter report: called on a thread of the watcher's own. While it does not return, the broker waits.
    package func run(_ report: @escaping @Sendable (Report) throws -> Void) async throws {
        try await onThread { wakeUp in
            try Watch(watcher: self, wakeUp: wakeUp, report: report).run()
        }
    }

    /// Has the broker forget the indicators that are lost. Returns which ones those were.
    package func forgetLost() async throws -> [MQTTTopic] {
        let forgotten = Locked<[MQTTTopic]>([])
        try await onThread { wakeUp in
            let topics = try Watch(watcher: self, wakeUp: wakeUp, report: { _ in }).forgetLost()
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

    /// What to subscribe to. One by one, so that the broker's queue for this client has room for what is retained in
    /// each.
    fileprivate var filters: [String] {
        let hosts = hosts.isEmpty ? ["+"] : hosts.map(MQTTTopic.level)
        let apps = apps.isEmpty ? ["+"] : apps.map(MQTTTopic.level)
        return hosts.flatMap { host in apps.map { "\(settings.topic)/\(host)/\($0)/+" } }
    }
}

/// What the thread of a watcher knows.
private final class Watch {
    private let watcher: MQTTWatcher
    private let wakeUp: WakeUp
    private let report: (MQTTWatcher.Report) throws -> Void

    private var roster: MQTTRoster
    /// What `report` has thrown on the arrival of a message.
    private var error: (any Error)?
    private var failures = 0
    /// Whether there was a connection on which the broker has granted all subscriptions.
    private var hasFollowed = false
    private var reportedMissed = 0
    private var nextIgnoredNotice = 1

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
                let end = ContinuousClock.now + .seconds(Double(1 << failures) * .random(in: 0.25...1))
                while !wakeUp.isStopped, .now < end { wakeUp.wait(until: end) }
            }
        }
    }

    func forgetLost() throws -> [MQTTTopic] {
        let client = try connect()
        try follow(client, untilComplete: true)
        let lost = roster.lost
        for topic in lost {
            while client.unacknowledged >= 16 { try client.turn(wakeUp) }
            try client.publish(topic: topic.state, payload: [], retain: true)
        }
        while client.unacknowledged > 0 { try client.turn(wakeUp) }
        disconnect(client)
        return lost
    }

    private func connect() throws(MQTTError) -> MQTTClient {
        do throws(MQTTError) {
            return try connect(usesIPv4Only: failures % 2 == 1)
        } catch {
            // Some hosts have an address of version 6 that leads nowhere.
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

    /// Subscribes, and reports what arrives, until the watcher is stopped or all that is retained is there.
    private func follow(_ client: MQTTClient, untilComplete: Bool = false) throws {
        roster.connected(at: .now)
        client.onMessage = { [unowned self] in receive($0) }
        for filter in watcher.filters {
            try client.subscribe(to: filter)
            try client.subscribe(to: filter + "/events")
            while client.unansweredSubscriptions > 0, !wakeUp.isStopped { try client.turn(wakeUp) }
        }
        if hasFollowed { try report(.notice("the broker is back")) }
        (hasFollowed, failures) = (true, 0)
        while !wakeUp.isStopped, !untilComplete || !roster.isComplete {
            try client.turn(wakeUp, until: .now + .seconds(1))
            if let error { throw error }
            for event in roster.advance(to: .now) { try report(.event(event)) }
            if roster.ignoredCount >= nextIgnoredNotice {
                // At 1, 2, 4 and so on: a stranger does not fill the log.
                nextIgnoredNotice = 2 * roster.ignoredCount
                try report(
                    .notice("messages that no indicator has sent, and that are ignored: \(roster.ignoredCount)")
                )
            }
            if roster.missedCount > reportedMissed {
                reportedMissed = roster.missedCount
                try report(
                    .notice(
                        """
                        the broker has not sent \(reportedMissed) of the indicators at the beginning; set \
                        max_queued_messages (mosquitto) to more than there are, or follow some with --host and --app
                        """
                    )
                )
            }
        }
    }

    private func receive(_ message: MQTTClient.Message) {
        guard error == nil, let event = roster.receive(message, at: .now) else { return }
        do { try report(.event(event)) } catch { self.error = error }
    }
}
#endif
