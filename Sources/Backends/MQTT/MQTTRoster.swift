#if MQTT
/// What a watcher knows of the indicators on a broker: a plain value that is given each message.
package struct MQTTRoster {
    /// What happened.
    package enum Event: Sendable, Hashable {
        /// An indicator is there: it was there already, has appeared, or is back.
        case appeared(MQTTTopic, MQTTReport)
        /// It has changed.
        case changed(MQTTTopic, MQTTReport)
        /// Something has finished.
        case finished(MQTTTopic, MQTTEvents)
        /// It has died, or nothing was heard of it for too long. With what it said last, if that is known.
        case lost(MQTTTopic, MQTTReport?)
        /// The broker has it no more: it has taken its leave, or somebody has had the broker forget it.
        case vanished(MQTTTopic)
    }

    private struct Entry {
        /// `nil` for one of which nothing but its death is known.
        var report: MQTTReport?
        /// The epoch and the number of the latest message.
        var version: (epoch: Int, seq: Int)
        var isLost: Bool
        var heardAt: ContinuousClock.Instant
        /// Whether the broker has sent it on this connection.
        var isConfirmed = true
    }

    /// How many indicators are followed. What comes beyond them is ignored and counted.
    package static let capacity = 200_000
    /// How long after the last retained message all are taken for received.
    static let quietTime = Duration.seconds(2)

    /// How many messages under the prefix were not of an indicator, or one too many.
    package private(set) var ignoredCount = 0
    /// How many indicators the broker had and has not sent at the beginning: brokers drop messages beyond the limits of
    /// their queues. They are known from their next message on.
    package private(set) var missedCount = 0

    private let prefix: String
    private var entries: [MQTTTopic: Entry] = [:]
    /// When all that the broker has retained is taken for received; `nil` when that is so.
    private var retainedEnd: ContinuousClock.Instant?
    /// When silent indicators are looked for again.
    private var nextCheck: ContinuousClock.Instant?

    package init(prefix: String) {
        self.prefix = prefix
    }

    /// The indicators that are lost.
    package var lost: [MQTTTopic] { entries.filter(\.value.isLost).map(\.key) }

    /// How many indicators there are, with those that are lost.
    package var count: Int { entries.count }

    /// Whether all that the broker has retained is taken for received.
    package var isComplete: Bool { retainedEnd == nil }

    /// Whether the broker still has something from before this connection: else it has forgotten everything.
    private var hasBrokerMemory = false

    /// Prepares for a connection, on which the broker sends again what it has retained.
    package mutating func connected(at now: ContinuousClock.Instant) {
        hasBrokerMemory = false
        for key in entries.keys { entries[key]?.isConfirmed = false }
        retainedEnd = now + Self.quietTime
    }

    /// Takes in a message.
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
        // A death that is late is that of a connection which is over.
        if let entry, report.epoch < entry.version.epoch { return nil }
        if report.state == "lost" {
            let version = (report.epoch, entry?.version.seq ?? 0)
            entries[topic] = Entry(report: entry?.report, version: version, isLost: true, heardAt: now)
            return entry?.isLost == true ? nil : .lost(topic, entry?.report)
        }
        let version = (report.epoch, report.seq ?? 0)
        // By the broker's clock alone.
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

    /// Reports which indicators have been silent for too long, and which have not come back. To be called every few
    /// seconds; may be called after each message.
    package mutating func advance(to now: ContinuousClock.Instant) -> [Event] {
        var events: [Event] = []
        if let end = retainedEnd, end <= now {
            retainedEnd = nil
            // A broker that was restarted without its memory gets the states again, in the course of a minute.
            if hasBrokerMemory {
                for topic in entries.filter({ !$0.value.isConfirmed }).keys { events.append(vanish(topic)) }
            }
        }
        // Looking at all entries after each message would be the watcher's main cost.
        if let nextCheck, now < nextCheck { return events }
        nextCheck = now + Self.checkInterval
        for (topic, entry) in entries
        where !entry.isLost && entry.heardAt.duration(to: now) > .seconds(Self.longestSilence) {
            // The broker would have a death of which it knows.
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
    /// What differs if the indicator has changed.
    fileprivate var withoutNumbers: Self {
        var copy = self
        copy.epoch = 0
        copy.seq = nil
        return copy
    }
}
#endif
