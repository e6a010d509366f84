import Foundation
import IndicatorCore

/// Watches the indicators on an MQTT broker.
package struct MQTTWatcher: Sendable {
    /// An event or a notice.
    package enum Report: Sendable {
        /// An indicator has changed.
        case event(MQTTRoster.Event)
        /// The indicators that were on the broker at the beginning have been reported.
        case listed
        /// A notice for the user: the broker was lost, reconnected, or has not sent everything.
        case notice(String)
    }

    /// The broker and the prefix of all topics.
    package var settings: MQTTSettings
    /// The hosts to watch, or patterns such as `web-*`; all if empty.
    package var hosts: [String]
    /// The apps to watch, or patterns; all if empty.
    package var apps: [String]

    package init(settings: MQTTSettings, hosts: [String] = [], apps: [String] = []) {
        (self.settings, self.hosts, self.apps) = (settings, hosts, apps)
    }

    /// Reports the indicators on the broker, then their changes, until the task is cancelled or `report` throws.
    ///
    /// Reconnects when the connection is lost. Throws `MQTTError` if the broker cannot be reached at the beginning.
    ///
    /// - Parameters:
    ///   - once: whether to return when the indicators on the broker are reported.
    ///   - report: called on the watcher's thread. Until it returns, no further message is read.
    package func run(once: Bool = false, _ report: @escaping @Sendable (Report) throws -> Void) async throws {
        let watch = try Watch(watcher: self, report: report)
        try await withTaskExecutorPreference(watch.thread) { try await watch.run(once: once) }
    }

    /// Removes the lost indicators from the broker. Returns their topics, or throws `CancellationError`.
    ///
    /// - Parameter report: called with notices, on the watcher's thread.
    package func forgetLost(
        _ report: @escaping @Sendable (Report) throws -> Void = { _ in }
    ) async throws -> [MQTTTopic] {
        let watch = try Watch(watcher: self, report: report)
        return try await withTaskExecutorPreference(watch.thread) { try await watch.forgetLost() }
    }

    /// How long to wait before the next attempt.
    ///
    /// Random, so that thousands of clients do not reconnect to a restarted broker simultaneously.
    package static func pause(afterFailures failures: Int) -> Duration {
        .seconds(min(60, Double(1 << failures)) * .random(in: 0.25...1))
    }

    /// The topic filters to subscribe to, in pairs, one after the other, so that the retained messages of each fit into
    /// the broker's queue for this client. The answer to the second one of a pair comes after the states.
    fileprivate var filters: [(String, String)] {
        if hosts.isEmpty, apps.isEmpty {
            // All, to count the messages of strangers. Nothing is published at the second one.
            return [("\(settings.topic)/#", "\(settings.topic)/-/-/-/-")]
        }
        return Self.levels(hosts).flatMap { host in
            Self.levels(apps).map { app in
                let states = "\(settings.topic)/\(host)/\(app)/+"
                return (states, states + "/+")
            }
        }
    }

    private static func isPattern(_ name: String) -> Bool { name.contains { "*?[".contains($0) } }

    /// The topic levels to subscribe to for some names; one for all if a pattern is among them.
    private static func levels(_ names: [String]) -> [String] {
        names.isEmpty || names.contains(where: isPattern) ? ["+"] : names.map(MQTTTopic.level)
    }

    /// Whether the patterns exclude a topic.
    fileprivate func excludes(_ text: String) -> Bool {
        guard (hosts + apps).contains(where: Self.isPattern),
            let topic = MQTTTopic.parse(text, prefix: settings.topic)?.topic
        else { return false }
        return !Self.matches(hosts, topic.host) || !Self.matches(apps, topic.app)
    }

    private static func matches(_ names: [String], _ name: String) -> Bool {
        guard names.contains(where: isPattern) else { return true }
        return names.contains { fnmatch($0, name, 0) == 0 }
    }
}

/// A run of a watcher. Only used on its thread.
private final class Watch: @unchecked Sendable {
    // `@unchecked`: only used on the thread.

    let thread = ServiceThread(name: "ind-watch", idleTime: .zero)

    private let watcher: MQTTWatcher
    private let report: (MQTTWatcher.Report) throws -> Void

    private var roster: MQTTRoster
    /// The error that `report` threw for a message.
    private var error: (any Error)?
    private var failures = 0
    /// Where the last connection was lost.
    private var failed: MQTTConnection.Place?
    /// How many connections brokers have accepted.
    private var acceptedCount = 0
    /// Whether the broker has granted all subscriptions on some connection.
    private var hasFollowed = false
    private var isListed = false
    private var nextIgnoredNotice = 1
    private var nextExcessNotice = 1
    /// When the latest retained message for a subscription arrived.
    private var lastRetained: SuspendingClock.Instant?

    init(watcher: MQTTWatcher, report: @escaping (MQTTWatcher.Report) throws -> Void) throws(MQTTError) {
        self.watcher = watcher
        self.report = report
        roster = MQTTRoster(prefix: watcher.settings.topic)
        guard thread.start() else { throw .noResources(reason: "could not create a thread") }
    }

    func run(once: Bool) async throws {
        while !Task.isCancelled {
            do {
                let connection = try await connect()
                try await follow(connection, untilComplete: once)
                connection.disconnect()
                if once { return }
            } catch let error as MQTTError {
                // One that is half dead is no reason not to try the others.
                if !hasFollowed, case .lost = error, acceptedCount < watcher.settings.urls.count { continue }
                guard hasFollowed else { throw error }
                if failures == 0 { try report(.notice(error.reason)) }
                failures = min(failures + 1, 5)
                let pause = MQTTWatcher.pause(afterFailures: failures)
                await thread.sleep(until: ServiceThread.now + pause.wholeNanoseconds)
            }
        }
    }

    func forgetLost() async throws -> [MQTTTopic] {
        let connection = try await connect()
        try await follow(connection, untilComplete: true)
        let lost = roster.lost.sorted { $0.state < $1.state }
        for topic in lost {
            try await waitUntilAcknowledged(connection, exceptFor: 15)
            try connection.client.publish(topic: topic.state, payload: [], retain: true)
            try connection.client.publish(topic: topic.lost, payload: [], retain: true)
        }
        try await waitUntilAcknowledged(connection)
        connection.disconnect()
        return lost
    }

    /// Waits until the broker has acknowledged all messages, or all but a few. Throws if the task is cancelled.
    private func waitUntilAcknowledged(_ connection: MQTTConnection, exceptFor count: Int = 0) async throws {
        while true {
            if Task.isCancelled { throw CancellationError() }
            if connection.client.unacknowledged <= count { return }
            try await connection.turn()
        }
    }

    private func connect() async throws -> MQTTConnection {
        let id = "ind-watch-\(String(UInt64.random(in: 0...UInt64.max), radix: 36))"
        let settings = watcher.settings
        let connection = try await MQTTConnection.open(id: id, settings: settings, avoiding: failed, for: nil)
        (failed, acceptedCount) = (connection.place, acceptedCount + 1)
        return connection
    }

    /// Subscribes and reports events until the watcher is stopped or, if `untilComplete`, has all retained messages.
    private func follow(_ connection: MQTTConnection, untilComplete: Bool = false) async throws {
        roster.connected(at: .now)
        connection.client.onMessage = { [unowned self] in receive($0) }
        for filters in watcher.filters where !Task.isCancelled { try await subscribe(connection, to: filters) }
        guard !Task.isCancelled else { return }
        if hasFollowed { try report(.notice("reconnected to the broker")) }
        (hasFollowed, failures) = (true, 0)
        while !Task.isCancelled, !untilComplete || !roster.isComplete { try await process(connection) }
    }

    /// Waits for messages, and reports events and notices.
    private func process(_ connection: MQTTConnection) async throws {
        try await connection.turn(until: .now + .seconds(1))
        if let error { throw error }
        for event in roster.advance(to: .now) { try report(.event(event)) }
        if roster.isComplete, !isListed {
            isListed = true
            try report(.listed)
        }
        try notify(of: roster.ignoredCount, &nextIgnoredNotice) {
            "ignored messages that are not from an indicator: \($0)"
        }
        try notify(of: roster.excessCount, &nextExcessNotice) { count in
            """
            ignored messages of indicators beyond the limits of \(MQTTRoster.capacity) indicators and \
            \(MQTTRoster.memoryLimit >> 20) MiB: \(count); watch fewer indicators with --host and --app
            """
        }
    }

    /// Reports a number at 1, 2, 4 and so on, so that the log stays short.
    private func notify(of count: Int, _ next: inout Int, _ text: (Int) -> String) throws {
        guard count >= next else { return }
        next = 2 * count
        try report(.notice(text(count)))
    }

    /// Subscribes to the states and the events of some indicators, and receives the retained states.
    ///
    /// When a client's queue is full, mosquitto 2.0 drops all packets for it, also the answer to the subscription
    /// (https://github.com/eclipse/mosquitto/issues/2196). So an answer that does not follow the states was dropped.
    /// The reverse does not hold: if the broker pauses before it reads the second subscription, there may be room for
    /// that answer again. With MQTT 3.1.1 a late answer means nothing: a cluster may first have to elect a leader.
    private func subscribe(_ connection: MQTTConnection, to filters: (String, String)) async throws {
        let client = connection.client
        lastRetained = nil
        try client.subscribe(to: filters.0)
        try client.subscribe(to: filters.1)
        let limit = SuspendingClock.now + MQTTClient.attemptLimit
        while client.unansweredSubscriptions > 0, !Task.isCancelled {
            let end = lastRetained.map { $0 + MQTTRoster.quietTime } ?? limit
            if .now < end {
                try await connection.turn(until: end)
                if let error { throw error }
            } else if lastRetained == nil {
                throw MQTTError.lost("\(client.url)", reason: "it does not answer a subscription")
            } else {
                client.unansweredSubscriptions = 0
                roster.hasGaps = true
                if !client.isVersion5 { return }
                try report(
                    .notice(
                        """
                        the broker did not send all states, which appear when they change; raise its queue limits \
                        (max_queued_messages of mosquitto), or watch fewer indicators with --host and --app
                        """
                    )
                )
            }
        }
    }

    private func receive(_ message: MQTTClient.Message) {
        if message.isRetained { lastRetained = .now }
        guard error == nil, !watcher.excludes(message.topic), let event = roster.receive(message, at: .now) else {
            return
        }
        do { try report(.event(event)) } catch { self.error = error }
    }
}
