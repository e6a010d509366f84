import BackendConfiguration
public import IndicatorCore
import Foundation

/// Publishes the indicator to an MQTT broker, for watching many machines.
///
/// Each process publishes below `indicator/1/<host>/<app>/<instance>`, with QoS 1:
///
/// - The state, retained, so that a watcher that connects later receives it: a JSON object with `state`, `visible`,
///   `count`, `label`, `progress`, `attention`, `activities` (`label`, `progress`, `since`), `since`, `epoch` (the
///   number of the connection) and `seq` (the number of the message on that connection).
/// - Finished activities at `…/events`, not retained: `epoch`, `finished` (`label`, `outcome`, `message`, `seconds`)
///   and `omitted`, the number of those dropped, if any. They are delivered at least once: those that the broker had
///   not acknowledged when the connection was lost are sent again.
/// - The will at `…/lost`, which the broker publishes when the process ends without disconnecting:
///   `{"epoch":E,"state":"lost"}`, retained for a week. The last state remains until it expires. After a clean end
///   nothing is retained.
///
/// A state is sent again after ten minutes, and expires after thirty: the state of a process whose death the broker did
/// not detect expires, too. With MQTT 3.1.1 nothing expires, and it is sent again after a minute. If that interval is
/// not ten minutes, the state has it as `refresh`, in seconds. In a topic, `/`, `+`, `#`, `$`, `%`, `.`, `*`, `>`,
/// spaces and control characters of a name become `%2F` and so on.
///
/// At most one message is sent in each ``MQTTSettings/interval``, except when the indicator is hidden, at the end and
/// after a reconnection; the next one waits until the broker has acknowledged the previous one. While the broker is
/// unreachable, the latest state and 64 finished activities are kept, failures first, and connections are attempted at
/// increasing intervals of up to a minute, each process at a random part of them.
public final class MQTTBackend: IndicatorBackend {
    /// The name that the config file and the diagnostics use.
    public let name: String

    let topic: MQTTTopic

    private let settings: MQTTSettings
    private let thread = BackendThread(name: "ind-mqtt")
    /// How many connections there were, where the last one was lost (another node may be better), and whether it was
    /// attempted until the end.
    private let connections = Locked((count: 0, lost: MQTTConnection.Place?.none, wasLast: false))

    /// Creates a backend. It does not use the network.
    ///
    /// - Parameters:
    ///   - name: its name among the backends of an indicator.
    ///   - applicationName: the name of the app.
    ///   - settings: the broker, the credentials and the topics.
    public init(name: String = "mqtt", applicationName: String, settings: MQTTSettings) {
        self.name = name
        self.settings = settings
        let number = String(UInt32.random(in: 0...UInt32.max), radix: 16)
        let instance = "\(getpid())-\(String(repeating: "0", count: 8 - number.count))\(number)"
        topic = MQTTTopic(prefix: settings.topic, host: settings.host, app: applicationName, instance: instance)
    }

    /// Includes changes while hidden: a watcher of many machines also shows the idle ones.
    public var delivery: BackendDelivery {
        // Before, a broker that does not acknowledge a message within an interval ends the connection.
        var delivery = BackendDelivery(
            includesHidden: true,
            minimumInterval: settings.interval,
            updateTimeLimit: settings.keepAlive * 2
        )
        (delivery.thread, delivery.spreadsRetries) = (thread, true)
        return delivery
    }

    /// Publishes the updates; asks for the next one when the broker has acknowledged one. At the end, removes the
    /// retained state and disconnects, within 0.7 s.
    ///
    /// - Throws: if the broker does not accept the client, or the connection was lost.
    public func show(_ updates: IndicatorUpdates) async throws {
        if let problem = MQTTTopic.problem(withPrefix: settings.topic) {
            throw MQTTError.invalidTopic("\(settings.topic) (\(problem))")
        }
        let (epoch, lost, wasLast) = connections.withLock { connections in
            connections.count += 1
            return (connections.count, connections.lost.take(), exchange(&connections.wasLast, with: false))
        }
        let noAnswer = MQTTError.unreachable(settings.brokerName, reason: "no answer yet")
        // Another attempt would take over the session, of which a broker that was stopped then publishes the will.
        if wasLast, updates.isEnding { throw noAnswer }
        let connection: MQTTConnection
        do {
            let (id, will) = ("ind-\(topic.instance)", (topic.lost, MQTTReport.lost(epoch: epoch).payload))
            connection = try await .open(id: id, settings: settings, will: will, avoiding: lost, for: updates)
        } catch {
            connections.withLock { $0.wasLast = updates.isEnding }
            throw error
        }
        var publisher = MQTTPublisher(connection, settings: settings, topic: topic, epoch: epoch)
        do {
            while let event = try await connection.next(until: publisher.refreshDue) {
                if case .update(let update) = event { try publisher.publish(update) } else { try publisher.refresh() }
                try await connection.settle()
            }
        } catch {
            // Without removing what was published before.
            connections.withLock { $0.lost = connection.place }
            throw error
        }
        try? await publisher.end()
    }

    /// Connects with a will and publishes once, both retained and empty: they remove the will of no process, which the
    /// right to publish states permits. Returns whether the broker speaks MQTT 5, with which it would have reported
    /// that it forbids that.
    static func probe(_ settings: MQTTSettings, _ topic: MQTTTopic, within limit: Duration) async throws -> Bool {
        let probe = Task.detached(executorPreference: ServiceThread(name: "ind-mqtt", idleTime: .zero)) {
            let (id, will) = ("ind-probe-\(topic.instance)", (topic.lost, [UInt8]()))
            let connection = try await MQTTConnection.open(id: id, settings: settings, will: will, for: nil)
            try connection.publish(topic: topic.lost, payload: [], retain: true)
            let url = connection.place.url
            guard try await connection.settle() else { throw MQTTError.lost("\(url)", reason: "it does not answer") }
            connection.disconnect()
            return connection.client.isVersion5
        }
        // Its own thread waits for the broker.
        let call = ServiceThread.shared.call(at: ServiceThread.now + limit.wholeNanoseconds) { probe.cancel() }
        defer { ServiceThread.shared.cancelCall(call) }
        return try await probe.value
    }
}

/// Publishes on one connection.
private struct MQTTPublisher {
    private let connection: MQTTConnection
    private let settings: MQTTSettings
    private let topic: MQTTTopic
    /// The number of the connection.
    private let epoch: Int
    /// The number of the latest state on the connection.
    private var seq = 0
    private var latest = IndicatorSnapshot()
    /// When the state is to be published again.
    private(set) var refreshDue: SuspendingClock.Instant?

    init(_ connection: MQTTConnection, settings: MQTTSettings, topic: MQTTTopic, epoch: Int) {
        (self.connection, self.settings, self.topic, self.epoch) = (connection, settings, topic, epoch)
    }

    mutating func publish(_ update: IndicatorUpdate) throws {
        latest = update.snapshot
        let finished = update.finished.map(MQTTEvents.Finished.init)
        if !finished.isEmpty {
            let events = MQTTEvents(epoch: epoch, finished: finished, omitted: update.omittedFinished)
            try connection.publish(topic: topic.events, payload: events.payload)
        }
        try publishState()
    }

    /// Publishes the state again if it is time.
    mutating func refresh() throws {
        if let refreshDue, refreshDue <= .now { try publishState() }
    }

    private mutating func publishState() throws {
        let standard = connection.client.isVersion5 ? MQTTReport.standardRefresh : MQTTReport.shortRefresh
        let interval = settings.refresh.map { Int(clamping: max($0.components.seconds, 1)) } ?? standard
        seq += 1
        let report = MQTTReport(latest, epoch: epoch, seq: seq, refresh: interval)
        let expiry = UInt32(report.expiry)
        try connection.publish(topic: topic.state, payload: report.payload, retain: true, expiry: expiry)
        // Of the previous connection. A watcher ignores its will after this state.
        if seq == 1, epoch > 1 { try connection.publish(topic: topic.lost, payload: [], retain: true) }
        refreshDue = .now + .seconds(interval)
    }

    /// Removes the retained state and disconnects. If the broker does not acknowledge in time, does not disconnect, so
    /// that it publishes the will.
    func end() async throws {
        if seq > 0 { try connection.publish(topic: topic.state, payload: [], retain: true) }
        // A late will.
        if seq > 0, epoch > 1 { try connection.publish(topic: topic.lost, payload: [], retain: true) }
        if try await connection.settle() { connection.disconnect() }
    }
}
