#if MQTT
/// The indicators on a broker as a watcher has received them: a plain value that processes each message.
package struct MQTTRoster {
    /// A change of an indicator.
    package enum Event: Sendable, Hashable {
        /// An indicator exists: it was already there, is new, or has returned.
        case appeared(MQTTTopic, MQTTReport)
        /// It has changed.
        case changed(MQTTTopic, MQTTReport)
        /// Activities have finished.
        case finished(MQTTTopic, MQTTEvents)
        /// It has died, or was silent for too long. With its last report, if known.
        case lost(MQTTTopic, MQTTReport?)
        /// The broker no longer has it: it has disconnected, or another client has removed it.
        case vanished(MQTTTopic)
    }

    private struct Entry {
        /// `nil` if only its death is known.
        var report: MQTTReport?
        /// The epoch and the number of the latest message.
        var version: (epoch: Int, seq: Int)
        var isLost: Bool
        var heardAt: ContinuousClock.Instant
        /// Whether the broker has sent it on this connection.
        var isConfirmed = true
    }

    /// The maximum number of indicators. Messages of further ones are ignored and counted.
    package static let capacity = 200_000
    /// How long after a retained message no further ones are expected.
    static let quietTime = Duration.seconds(2)

    /// How many messages below the prefix did not come from an indicator, or exceeded ``capacity``.
    package private(set) var ignoredCount = 0
    /// How many indicators have appeared whose retained states the broker did not send at the beginning: brokers drop
    /// messages beyond their queue limits.
    package private(set) var missedCount = 0

    private let prefix: String
    private var entries: [MQTTTopic: Entry] = [:]
    /// When all retained messages are considered received; `nil` afterwards.
    private var retainedEnd: ContinuousClock.Instant?
    /// When to check for silent indicators again.
    private var nextCheck: ContinuousClock.Instant?

    package init(prefix: String) {
        self.prefix = prefix
    }

    /// The indicators that are lost.
    package var lost: [MQTTTopic] { entries.filter(\.value.isLost).map(\.key) }

    /// The number of indicators, including lost ones.
    package var count: Int { entries.count }

    /// Whether all retained messages are considered received.
    package var isComplete: Bool { retainedEnd == nil }

    /// Whether the broker still has a state from before this connection. If not, it was restarted without persistence.
    private var hasBrokerMemory = false

    /// Whether the broker has dropped retained messages of this connection.
    private var hasGaps = false

    /// Takes note that the broker has dropped retained messages: what it has not sent may exist.
    mutating func noteGaps() { hasGaps = true }

    /// Prepares for a connection, on which the broker sends all retained messages again.
    package mutating func connected(at now: ContinuousClock.Instant) {
        (hasBrokerMemory, hasGaps) = (false, false)
        for key in entries.keys { entries[key]?.isConfirmed = false }
        retainedEnd = now + Self.quietTime
    }

    /// Processes a message.
    mutating func receive(_ message: MQTTClient.Message, at now: ContinuousClock.Instant) -> Event? {
        if message.isRetained, retainedEnd != nil { retainedEnd = now + Self.quietTime }
        guard let (topic, isEvents) = MQTTTopic.parse(message.topic, prefix: prefix) else { return ignore() }
        if isEvents {
            guard !message.isRetained, let events = MQTTEvents(message.payload) else { return ignore() }
            return .finished(topic, events)
        }
        let entry = entries[topic]
        if message.payload.isEmpty {
            entries[topic] = nil
            return entry == nil ? nil : .vanished(topic)
        }
        guard let report = MQTTReport(message.payload), entry != nil || entries.count < Self.capacity else {
            return ignore()
        }
        entries[topic]?.isConfirmed = true
        if message.isRetained, let entry, (report.epoch, report.seq ?? 0) <= entry.version { hasBrokerMemory = true }
        // A late `lost` message belongs to an earlier connection.
        if let entry, report.epoch < entry.version.epoch { return nil }
        if report.state == "lost" {
            let version = (report.epoch, entry?.version.seq ?? 0)
            entries[topic] = Entry(report: entry?.report, version: version, isLost: true, heardAt: now)
            return entry?.isLost == true ? nil : .lost(topic, entry?.report)
        }
        let version = (report.epoch, report.seq ?? 0)
        // Uses only the broker's clock.
        let age = message.isRetained ? message.expiry.map { max(0, Int(MQTTReport.stateExpiry) - Int($0)) } ?? 0 : 0
        let heardAt = now - .seconds(age)
        let isLost = age > Self.longestSilence
        let isNew = entry.map { $0.version < version } ?? true
        if !isNew, entry?.isLost != true || message.isRetained {
            entries[topic]?.heardAt = max(heardAt, entry?.heardAt ?? heardAt)
            return nil
        }
        if entry == nil, !message.isRetained, report.seq ?? 1 > 1 { missedCount += 1 }
        let change = entry.map { $0.report?.withoutNumbers != report.withoutNumbers } ?? true
        entries[topic] = Entry(report: report, version: version, isLost: isLost, heardAt: heardAt)
        if isLost { return entry?.isLost == true ? nil : .lost(topic, report) }
        if entry == nil || entry?.isLost == true { return .appeared(topic, report) }
        return change ? .changed(topic, report) : nil
    }

    /// Reports which indicators have been silent for too long, and which have not returned. Call it every few seconds;
    /// calling it after each message is cheap.
    package mutating func advance(to now: ContinuousClock.Instant) -> [Event] {
        var events: [Event] = []
        if let end = retainedEnd, end <= now {
            retainedEnd = nil
            // A broker that was restarted without persistence receives the states again within about a minute.
            if hasBrokerMemory, !hasGaps {
                for topic in entries.filter({ !$0.value.isConfirmed }).keys { events.append(vanish(topic)) }
            }
        }
        // Checking all entries after each message would be the watcher's main cost.
        if let nextCheck, now < nextCheck { return events }
        nextCheck = now + Self.checkInterval
        for (topic, entry) in entries
        where !entry.isLost && entry.heardAt.duration(to: now) > .seconds(Self.longestSilence) {
            // The broker would have sent a `lost` message if it had detected a death.
            guard entry.isConfirmed else {
                events.append(vanish(topic))
                continue
            }
            entries[topic]?.isLost = true
            events.append(.lost(topic, entry.report))
        }
        return events
    }

    private mutating func vanish(_ topic: MQTTTopic) -> Event {
        entries[topic] = nil
        return .vanished(topic)
    }

    private mutating func ignore() -> Event? {
        ignoredCount += 1
        return nil
    }

    private static let checkInterval = Duration.seconds(1)
    /// In seconds.
    private static let longestSilence = Int(MQTTReport.refreshInterval) * 3 / 2
}

extension MQTTReport {
    /// Without `epoch` and `seq`, which differ even if the indicator is unchanged.
    fileprivate var withoutNumbers: Self {
        var copy = self
        copy.epoch = 0
        copy.seq = nil
        return copy
    }
}
#endif
