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
        /// Its state cannot be read, and why.
        case broken(MQTTTopic, problem: String)
    }

    private enum Status {
        case alive
        /// The broker has published its will. It may reconnect until the time.
        case missing(until: ContinuousClock.Instant)
        /// Reported as lost.
        case lost
    }

    private struct Entry {
        /// `nil` if only its death is known.
        var report: MQTTReport?
        /// The epoch and the number of the latest state.
        var version = (epoch: 0, seq: 0)
        /// The epoch of its latest will.
        var lostEpoch = 0
        var status = Status.alive
        /// Why its state cannot be read.
        var problem: String?
        var heardAt: ContinuousClock.Instant
        /// Whether the broker has sent it on this connection.
        var isConfirmed = true

        var isLost: Bool { if case .lost = status { true } else { false } }

        var longestSilence: Int { report?.longestSilence ?? MQTTReport.standardRefresh * 3 / 2 }

        /// About how many bytes of memory it occupies.
        var size: Int { (report?.size ?? 0) + (problem.map { $0.utf8.count + 64 } ?? 0) }
    }

    /// The maximum number of indicators. Messages of further ones are ignored and counted.
    package static let capacity = 200_000
    /// The maximum size of all reports, in bytes.
    package static let memoryLimit = 256 << 20
    /// How long after a retained message no further ones are expected.
    static let quietTime = Duration.seconds(2)
    /// How long a will is held back: a process whose broker has ended reconnects to another one.
    package static let returnTime = Duration.seconds(10)

    /// How many messages below the prefix did not come from an indicator.
    package private(set) var ignoredCount = 0
    /// How many messages came from indicators beyond ``capacity`` or ``memoryLimit``.
    package private(set) var excessCount = 0

    private let prefix: String
    private let memoryLimit: Int
    private var entries: [MQTTTopic: Entry] = [:]
    /// The size of all reports.
    private var size = 0
    /// When all retained messages are considered received; `nil` afterwards.
    private var retainedEnd: ContinuousClock.Instant?
    /// When to check for silent indicators again.
    private var nextCheck: ContinuousClock.Instant?
    private var lastAdvance: ContinuousClock.Instant?

    package init(prefix: String, memoryLimit: Int = memoryLimit) {
        self.prefix = prefix
        self.memoryLimit = memoryLimit
    }

    /// The indicators that are lost.
    package var lost: [MQTTTopic] { entries.filter(\.value.isLost).map(\.key) }

    /// The number of indicators, including lost ones.
    package var count: Int { entries.count }

    /// Whether all retained messages are considered received.
    package var isComplete: Bool { retainedEnd == nil }

    /// Whether the broker still has a state from before this connection. If not, it was restarted without persistence.
    private var hasBrokerMemory = false

    /// Whether the broker has dropped retained messages of this connection: what it has not sent may exist.
    package var hasGaps = false

    /// Prepares for a connection, on which the broker sends all retained messages again. No indicator was silent while
    /// there was no connection.
    package mutating func connected(at now: ContinuousClock.Instant) {
        (hasBrokerMemory, hasGaps) = (false, false)
        for key in entries.keys {
            entries[key]?.isConfirmed = false
            entries[key]?.heardAt = now
            if case .missing = entries[key]?.status { entries[key]?.status = .missing(until: now + Self.returnTime) }
        }
        (retainedEnd, lastAdvance) = (now + Self.quietTime, now)
    }

    /// Processes a message.
    package mutating func receive(_ message: MQTTClient.Message, at now: ContinuousClock.Instant) -> Event? {
        if message.isRetained, retainedEnd != nil { retainedEnd = now + Self.quietTime }
        guard let (topic, content) = MQTTTopic.parse(message.topic, prefix: prefix) else { return ignore() }
        switch content {
        case .events:
            guard !message.isRetained, let events = try? MQTTEvents(message.payload) else { return ignore() }
            return .finished(topic, events)
        case .lost: return receiveWill(message, of: topic, at: now)
        case .state: return receiveState(message, of: topic, at: now)
        }
    }

    private mutating func receiveWill(
        _ message: MQTTClient.Message,
        of topic: MQTTTopic,
        at now: ContinuousClock.Instant
    ) -> Event? {
        if message.payload.isEmpty {
            // The state tells what has become of the process, if there is one.
            guard let entry = entries[topic], entry.report == nil, entry.problem == nil else { return nil }
            return vanish(topic)
        }
        guard let will = try? MQTTReport(message.payload), will.state == "lost" else { return ignore() }
        var entry = entries[topic] ?? Entry(heardAt: now)
        entry.isConfirmed = true
        entry.lostEpoch = max(entry.lostEpoch, will.epoch)
        // A late will belongs to an earlier connection.
        let isLate = will.epoch < entry.version.epoch
        let isNew = !isLate && !entry.isLost
        // What the broker had retained is not recent.
        if isNew, message.isRetained { entry.status = .lost }
        if isNew, !message.isRetained, case .alive = entry.status {
            entry.status = .missing(until: now + Self.returnTime)
        }
        guard set(entry, for: topic) else { return nil }
        return isNew && message.isRetained ? .lost(topic, entry.report) : nil
    }

    private mutating func receiveState(
        _ message: MQTTClient.Message,
        of topic: MQTTTopic,
        at now: ContinuousClock.Instant
    ) -> Event? {
        let old = entries[topic]
        if message.payload.isEmpty { return old == nil ? nil : vanish(topic) }
        let report: MQTTReport
        do throws(MQTTPayloadProblem) {
            report = try MQTTReport(message.payload)
            if report.state == "lost" { throw MQTTPayloadProblem("its state is that of a will") }
        } catch {
            return receiveBroken(error.description, of: topic, at: now)
        }
        entries[topic]?.isConfirmed = true
        let version = (report.epoch, report.seq ?? 0)
        if message.isRetained, let old, version <= old.version { hasBrokerMemory = true }
        if let old, report.epoch < old.version.epoch { return nil }
        // Uses only the broker's clock.
        let age = message.isRetained ? message.expiry.map { max(0, report.expiry - Int($0)) } ?? 0 : 0
        let heardAt = now - .seconds(age)
        let isDead = age > report.longestSilence || message.isRetained && report.epoch <= old?.lostEpoch ?? 0
        let isNew = old.map { $0.version < version } ?? true
        if !isNew, old?.problem == nil, old?.isLost != true || message.isRetained {
            entries[topic]?.heardAt = heardAt
            return nil
        }
        var entry = old ?? Entry(heardAt: heardAt)
        (entry.report, entry.version, entry.heardAt, entry.isConfirmed) = (report, version, heardAt, true)
        entry.problem = nil
        let isMissing = if case .missing = entry.status { true } else { false }
        if !isDead { entry.status = .alive } else if !isMissing { entry.status = .lost }
        guard set(entry, for: topic) else { return nil }
        if isDead { return old?.isLost == true || isMissing ? nil : .lost(topic, report) }
        if old?.report == nil || old?.isLost == true || old?.problem != nil { return .appeared(topic, report) }
        return old?.report?.withoutNumbers != report.withoutNumbers ? .changed(topic, report) : nil
    }

    private mutating func receiveBroken(
        _ problem: String,
        of topic: MQTTTopic,
        at now: ContinuousClock.Instant
    ) -> Event? {
        var entry = entries[topic] ?? Entry(heardAt: now)
        let isKnown = entry.problem == problem
        (entry.problem, entry.isConfirmed) = (problem, true)
        guard set(entry, for: topic), !isKnown else { return nil }
        return .broken(topic, problem: problem)
    }

    /// Reports which indicators are lost, and which have not returned. Call it at least every few seconds; calling it
    /// after each message is cheap.
    package mutating func advance(to now: ContinuousClock.Instant) -> [Event] {
        var events: [Event] = []
        let gap = lastAdvance.map { $0.duration(to: now) } ?? .zero
        if gap > Self.longestGap { skip(gap, until: now) }
        lastAdvance = now
        if let end = retainedEnd, end <= now {
            retainedEnd = nil
            // A broker that was restarted without persistence receives the states again within about a minute.
            if hasBrokerMemory, !hasGaps {
                for topic in entries.filter({ !$0.value.isConfirmed }).keys {
                    events += [vanish(topic)].compactMap(\.self)
                }
            }
        }
        // Checking all entries after each message would be the watcher's main cost.
        if let nextCheck, now < nextCheck { return events }
        nextCheck = now + Self.checkInterval
        for (topic, entry) in entries {
            switch entry.status {
            case .lost: continue
            case .missing(let end): guard end <= now else { continue }
            case .alive:
                guard entry.problem == nil, entry.heardAt.duration(to: now) > .seconds(entry.longestSilence) else {
                    continue
                }
                // The broker would have published the will if it had detected a death.
                guard entry.isConfirmed else {
                    events += [vanish(topic)].compactMap(\.self)
                    continue
                }
            }
            entries[topic]?.status = .lost
            events.append(.lost(topic, entry.report))
        }
        return events
    }

    /// Does not count a time as silence in which nothing was received: this machine slept.
    private mutating func skip(_ gap: Duration, until now: ContinuousClock.Instant) {
        for (topic, entry) in entries {
            entries[topic]?.heardAt = min(entry.heardAt + gap, now)
            if case .missing(let end) = entry.status { entries[topic]?.status = .missing(until: end + gap) }
        }
    }

    /// Stores an entry. Returns whether there is room for it.
    private mutating func set(_ entry: Entry, for topic: MQTTTopic) -> Bool {
        let old = entries[topic]
        let growth = entry.size - (old?.size ?? 0)
        guard old != nil || entries.count < Self.capacity, growth <= 0 || size + growth <= memoryLimit else {
            excessCount += 1
            return false
        }
        size += growth
        entries[topic] = entry
        return true
    }

    /// Removes an entry. No event if there was none of it: only its will has arrived.
    private mutating func vanish(_ topic: MQTTTopic) -> Event? {
        guard let entry = entries.removeValue(forKey: topic) else { return nil }
        size -= entry.size
        return entry.report == nil && entry.problem == nil && !entry.isLost ? nil : .vanished(topic)
    }

    private mutating func ignore() -> Event? {
        ignoredCount += 1
        return nil
    }

    private static let checkInterval = Duration.seconds(1)
    /// A longer time between two calls of ``advance(to:)`` is not silence of the indicators.
    private static let longestGap = Duration.seconds(5)
}

extension MQTTReport {
    /// Without `epoch` and `seq`, which differ even if the indicator is unchanged.
    fileprivate var withoutNumbers: Self {
        var copy = self
        copy.epoch = 0
        copy.seq = nil
        return copy
    }

    /// About how many bytes of memory it occupies: texts, and what each allocation and each activity needs.
    fileprivate var size: Int {
        var texts: [String?] = [label, attention, since]
        for activity in activities ?? [] { texts += [activity.label, activity.since] }
        return texts.reduce(400) { $0 + ($1.map { $0.utf8.count + 64 } ?? 0) }
    }
}
