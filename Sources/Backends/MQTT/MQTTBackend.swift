import BackendConfiguration
import DisplayText
import Foundation
public import IndicatorCore
import IndicatorThreads

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
/// At most one message is sent in each ``MQTTSettings/interval``, except at the end and after a reconnection; the next
/// one waits until the broker has acknowledged the previous one. While the broker is unreachable, the latest state and
/// 64 finished activities are kept, failures first, and connections are attempted at increasing intervals of up to a
/// minute, each process at a random part of them.
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

    /// The topic of the state.
    package var stateTopic: String { topic.state }

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
        // Another attempt would take over the session, of which a broker that was stopped then publishes the will.
        if wasLast, updates.isEnding { throw MQTTAttempt.noAnswer(settings) }
        let attempt = MQTTAttempt(settings: settings, topic: topic, epoch: epoch, avoiding: lost, on: thread.thread)
        let connection: MQTTConnection
        do { connection = try await attempt.connection(for: updates) } catch {
            connections.withLock { $0.wasLast = updates.isEnding }
            throw error
        }
        connection.onTurn = { updates.wake() }
        var publisher = MQTTPublisher(connection, settings: settings, topic: topic, epoch: epoch)
        do {
            while let event = await updates.next(until: publisher.refreshDue) {
                if case .update(let update) = event { try publisher.publish(update) }
                try publisher.refresh()
                try await publisher.waitForBroker(updates)
            }
        } catch {
            // Without removing what was published before.
            connection.close()
            connections.withLock { $0.lost = connection.place }
            throw error
        }
        await publisher.end()
    }

    /// Connects with a will and publishes once, both retained and empty: they remove the will of no process, which the
    /// right to publish states permits. Returns whether the broker speaks MQTT 5, with which it would have reported
    /// that it forbids that.
    static func probe(_ settings: MQTTSettings, _ topic: MQTTTopic, within limit: Duration) async throws -> Bool {
        let thread = ServiceThread(name: "ind-mqtt", idleTime: .zero)
        let probe = Task.detached(executorPreference: thread) {
            let id = "ind-probe-\(topic.instance)"
            let connection = try await MQTTConnection.open(id: id, settings: settings, on: thread) { client in
                client.setWill(topic: topic.lost, payload: [], expiry: MQTTReport.lostExpiry)
            }
            defer { connection.close() }
            let client = connection.client
            try client.publish(topic: topic.lost, payload: [], retain: true)
            while client.unacknowledged > 0 {
                guard !Task.isCancelled else {
                    throw MQTTError.lost("\(client.url)", reason: "it does not answer")
                }
                try await connection.turn()
            }
            await connection.disconnect()
            return client.isVersion5
        }
        let call = thread.call(at: ServiceThread.now + limit.wholeNanoseconds) { probe.cancel() }
        defer { thread.cancelCall(call) }
        return try await probe.value
    }
}

/// An attempt to connect, which continues while the backend is unavailable.
private struct MQTTAttempt {
    /// After what time without an answer the broker counts as unreachable.
    private static let answerLimit = Duration.seconds(1)

    private let noAnswer: MQTTError
    private let thread: ServiceThread
    private let task: Task<MQTTConnection, any Error>

    init(
        settings: MQTTSettings,
        topic: MQTTTopic,
        epoch: Int,
        avoiding lost: MQTTConnection.Place?,
        on thread: ServiceThread
    ) {
        (noAnswer, self.thread) = (Self.noAnswer(settings), thread)
        let will = MQTTReport.lost(epoch: epoch).payload
        task = Task.detached(executorPreference: thread) {
            let id = "ind-\(topic.instance)"
            let connection = try await MQTTConnection.open(id: id, settings: settings, avoiding: lost, on: thread) {
                $0.setWill(topic: topic.lost, payload: will, expiry: MQTTReport.lostExpiry)
            }
            guard Task.isCancelled else { return connection }
            await connection.disconnect()
            throw CancellationError()
        }
    }

    static func noAnswer(_ settings: MQTTSettings) -> MQTTError {
        .unreachable(settings.brokerName, reason: "no answer yet")
    }

    /// The connection. At the end of the updates, an attempt has as long as a farewell.
    func connection(for updates: IndicatorUpdates) async throws -> MQTTConnection {
        let isOver = Locked(false)
        Task.detached(executorPreference: thread) { [task] in
            _ = await task.result
            isOver.withLock { $0 = true }
            updates.wake()
        }
        var limit: SuspendingClock.Instant? = .now + Self.answerLimit
        while !isOver.withLock(\.self), await updates.wait(until: limit) != nil {
            guard let time = limit, time <= .now else { continue }
            updates.reportUnavailable(noAnswer)
            limit = nil
        }
        let end = ServiceThread.now + MQTTPublisher.farewellLimit.wholeNanoseconds
        let call = thread.call(at: end) { [task] in if !isOver.withLock(\.self) { task.cancel() } }
        defer { thread.cancelCall(call) }
        do { return try await task.value } catch { throw task.isCancelled ? noAnswer : error }
    }
}

/// Publishes on one connection. Only used on its thread.
private struct MQTTPublisher {
    /// How long the broker may delay the end.
    static let farewellLimit = Duration.milliseconds(700)

    private let connection: MQTTConnection
    private let settings: MQTTSettings
    private let topic: MQTTTopic
    /// The number of the connection.
    private let epoch: Int
    /// The number of the latest state on the connection.
    private var seq = 0
    private var latest = IndicatorSnapshot()
    /// When the end must be over; `nil` before it is announced.
    private var endLimit: SuspendingClock.Instant?
    /// When the state is to be published again.
    private(set) var refreshDue: SuspendingClock.Instant?

    init(_ connection: MQTTConnection, settings: MQTTSettings, topic: MQTTTopic, epoch: Int) {
        (self.connection, self.settings, self.topic, self.epoch) = (connection, settings, topic, epoch)
    }

    mutating func publish(_ update: IndicatorUpdate) throws(MQTTError) {
        if let fault = connection.fault { throw fault }
        latest = update.snapshot
        let finished = update.allFinished
        if !finished.isEmpty {
            let events = MQTTEvents(
                epoch: epoch,
                finished: finished.latest.map(MQTTEvents.Finished.init),
                omitted: finished.omittedCount
            )
            try connection.client.publish(topic: topic.events, payload: events.payload, retain: false)
        }
        try publishState()
    }

    /// Publishes the state again if it is time. Throws if the connection has ended.
    mutating func refresh() throws(MQTTError) {
        if let fault = connection.fault { throw fault }
        if let refreshDue, refreshDue <= .now { try publishState() }
    }

    private mutating func publishState() throws(MQTTError) {
        let client = connection.client
        let standard = client.isVersion5 ? MQTTReport.standardRefresh : MQTTReport.shortRefresh
        let interval = settings.refresh.map { Int(clamping: max($0.components.seconds, 1)) } ?? standard
        seq += 1
        let report = MQTTReport(latest, epoch: epoch, seq: seq, refresh: interval)
        let expiry = UInt32(report.expiry)
        try client.publish(topic: topic.state, payload: report.payload, retain: true, expiry: expiry)
        // Of the previous connection. A watcher ignores its will after this state.
        if seq == 1, epoch > 1 { try client.publish(topic: topic.lost, payload: [], retain: true) }
        refreshDue = .now + .seconds(interval)
    }

    /// Waits until the broker has acknowledged everything; at the end of the updates, only for a limited time.
    mutating func waitForBroker(_ updates: IndicatorUpdates) async throws(MQTTError) {
        while connection.client.unacknowledged > 0 {
            // The acknowledgement may be what ended the wait.
            if await updates.wait() == nil, connection.client.unacknowledged > 0 {
                let limit = endLimit ?? .now + Self.farewellLimit
                endLimit = limit
                guard .now < limit else { return }
                try await connection.turn(until: limit)
            }
            if let fault = connection.fault { throw fault }
        }
    }

    /// Removes the retained state and disconnects, unless the connection is lost. If the broker does not acknowledge in
    /// time, does not disconnect, so that it publishes the will.
    func end() async {
        defer { connection.close() }
        guard connection.fault == nil else { return }
        connection.onTurn = {}
        let client = connection.client
        let deadline = endLimit ?? .now + Self.farewellLimit
        try? await {
            if seq > 0 { try client.publish(topic: topic.state, payload: [], retain: true) }
            // A late will.
            if seq > 0, epoch > 1 { try client.publish(topic: topic.lost, payload: [], retain: true) }
            while client.unacknowledged > 0 {
                guard .now < deadline else { return }
                try await connection.turn(until: deadline)
            }
            await connection.disconnect(within: SuspendingClock.now.duration(to: deadline))
        }()
    }
}
