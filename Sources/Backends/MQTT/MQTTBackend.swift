import BackendConfiguration
import DisplayText
import Foundation
public import IndicatorCore
package import IndicatorThreads
import Synchronization

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
/// the last 64 finished activities are kept, and connections are attempted at increasing intervals of up to a minute,
/// each process at a random part of them.
public final class MQTTBackend: IndicatorBackend {
    /// The name that the config file and the diagnostics use.
    public let name: String

    let topic: MQTTTopic
    package let thread = ServiceThread(name: "ind-mqtt", idleTime: .zero)

    private let settings: MQTTSettings
    private let session: MQTTSession
    private let control = Locked(IndicatorControl())
    private let hasStarted = Atomic(false)

    /// Creates a backend. It does not use the network before ``start()``.
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
        session = MQTTSession(settings: settings, topic: topic, thread: thread)
    }

    deinit {
        guard hasStarted.load(ordering: .relaxed) else { return }
        Task.detached(executorPreference: thread) { [session] in await session.end() }
    }

    /// Includes changes while hidden: a watcher of many machines also shows the idle ones.
    public var delivery: BackendDelivery {
        // Before, a broker that does not acknowledge a message within an interval ends the connection.
        BackendDelivery(
            includesHidden: true,
            minimumInterval: settings.interval,
            updateTimeLimit: settings.keepAlive * 2
        )
    }

    /// The topic of the state.
    package var stateTopic: String { topic.state }

    /// Keeps the handle, to report the loss of the broker and to retry.
    public func attach(to control: IndicatorControl) {
        self.control.withLock { $0 = control }
    }

    /// Connects. Throws if the broker has not accepted the client after a second; the attempt continues then.
    public func start() async throws {
        if let problem = MQTTTopic.problem(withPrefix: settings.topic) {
            throw MQTTError.invalidTopic("\(settings.topic) (\(problem))")
        }
        hasStarted.store(true, ordering: .relaxed)
        let control = control.withLock { $0 }
        try await withTaskExecutorPreference(thread) { try await session.start(control) }
    }

    /// Publishes the snapshot. Returns when the broker has acknowledged it.
    public func update(_ snapshot: IndicatorSnapshot) async throws {
        try await withTaskExecutorPreference(thread) { try await session.publish(snapshot) }
    }

    /// Removes the retained state and disconnects. Returns when that is delivered, or after 0.7 s.
    public func stop() async {
        await withTaskExecutorPreference(thread) { await session.end() }
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

extension MQTTBackend: ConnectedBackend {
    package func willStop() { thread.call(at: .min) { [session] in session.willEnd() } }
}

/// The connections of a backend, one after the other. Only used on its thread.
private final class MQTTSession: @unchecked Sendable {
    // `@unchecked`: only used on the thread.

    /// How long ``start(_:)`` waits for the broker, and for a name server.
    private static let startLimit = Duration.seconds(1)
    /// How long the broker may delay the end, from ``willEnd()`` on.
    private static let farewellLimit = Duration.milliseconds(700)

    private let settings: MQTTSettings
    private let topic: MQTTTopic
    private let thread: ServiceThread
    private var control = IndicatorControl()
    private var connection: MQTTConnection?
    /// The attempt to connect.
    private var attempt: Task<Void, Never>?
    /// Why the latest attempt has failed.
    private var failure: MQTTError?
    private var starter: CheckedContinuation<Void, any Error>?
    /// The number of the connection.
    private var epoch = 0
    /// The number of the latest state on the connection.
    private var seq = 0
    private var latest = IndicatorSnapshot()
    /// When the end must be over; `nil` before ``willEnd()``.
    private var endLimit: SuspendingClock.Instant?

    init(settings: MQTTSettings, topic: MQTTTopic, thread: ServiceThread) {
        (self.settings, self.topic, self.thread) = (settings, topic, thread)
    }

    func start(_ control: IndicatorControl) async throws {
        self.control = control
        if let connection, connection.fault == nil { return }
        if attempt == nil { connect() }
        let call = thread.call(at: ServiceThread.now + Self.startLimit.wholeNanoseconds) { [weak self] in
            guard let self else { return }
            let error = failure ?? .unreachable(settings.brokerName, reason: "no answer yet")
            starter.take()?.resume(throwing: error)
        }
        defer { thread.cancelCall(call) }
        try await withCheckedThrowingContinuation { starter = $0 }
    }

    private func connect() {
        // Where the last connection was lost, another node may be better.
        let failed = connection?.place
        (epoch, seq, connection) = (epoch + 1, 0, nil)
        let will = MQTTReport.lost(epoch: epoch).payload
        attempt = Task.detached(executorPreference: thread) { [settings, topic, thread, weak self] in
            let result: Result<MQTTConnection, MQTTError>
            do throws(MQTTError) {
                let id = "ind-\(topic.instance)"
                result = .success(
                    try await MQTTConnection.open(id: id, settings: settings, avoiding: failed, on: thread) { client in
                        client.setWill(topic: topic.lost, payload: will, expiry: MQTTReport.lostExpiry)
                    }
                )
            } catch {
                result = .failure(error)
            }
            if !Task.isCancelled, let self { connected(result) } else { await (try? result.get())?.disconnect() }
        }
    }

    private func connected(_ result: Result<MQTTConnection, MQTTError>) {
        attempt = nil
        switch result {
        case .failure(let error):
            failure = error
            starter.take()?.resume(throwing: error)
        case .success(let connection):
            (self.connection, failure) = (connection, nil)
            connection.onEnd = { [weak self] in self?.control.surfaceWasLost("\($0)") }
            if let starter = starter.take() {
                starter.resume()
            } else if endLimit == nil {
                // The start has failed meanwhile; the next one finds the connection.
                control.retry()
            } else {
                Task.detached(executorPreference: thread) { [self] in await end() }
            }
        }
    }

    func publish(_ snapshot: IndicatorSnapshot) async throws(MQTTError) {
        guard let connection else { throw .lost(settings.brokerName, reason: "it is closed") }
        do throws(MQTTError) { try await publish(snapshot, on: connection) } catch {
            // Without removing what was published before.
            connection.close()
            throw error
        }
    }

    private func publish(_ snapshot: IndicatorSnapshot, on connection: MQTTConnection) async throws(MQTTError) {
        if let fault = connection.fault { throw fault }
        latest = snapshot.withoutReports
        let finished = snapshot.allFinished
        if !finished.isEmpty {
            let events = MQTTEvents(
                epoch: epoch,
                finished: finished.latest.map(MQTTEvents.Finished.init),
                omitted: finished.omittedCount
            )
            try connection.client.publish(topic: topic.events, payload: events.payload, retain: false)
        }
        try publishState(on: connection)
        while connection.client.unacknowledged > 0, endLimit.map({ .now < $0 }) ?? true {
            try await connection.turn(until: endLimit)
        }
    }

    private func publishState(on connection: MQTTConnection) throws(MQTTError) {
        let client = connection.client
        let standard = client.isVersion5 ? MQTTReport.standardRefresh : MQTTReport.shortRefresh
        let interval = settings.refresh.map { Int(clamping: max($0.components.seconds, 1)) } ?? standard
        seq += 1
        let report = MQTTReport(latest, epoch: epoch, seq: seq, refresh: interval)
        let expiry = UInt32(report.expiry)
        try client.publish(topic: topic.state, payload: report.payload, retain: true, expiry: expiry)
        // Of the previous connection. A watcher ignores its will after this state.
        if seq == 1, epoch > 1 { try client.publish(topic: topic.lost, payload: [], retain: true) }
        connection.refresh = (
            .now + .seconds(interval),
            { [unowned self, unowned connection] () throws(MQTTError) in try publishState(on: connection) }
        )
    }

    /// The backend is to be stopped: a broker that does not answer delays that only for a limited time.
    func willEnd() {
        endLimit = endLimit ?? .now + Self.farewellLimit
        connection?.resumeWaiters()
    }

    /// Removes the retained state and disconnects, unless the connection is lost. If the broker does not acknowledge in
    /// time, does not disconnect, so that it publishes the will.
    func end() async {
        attempt.take()?.cancel()
        defer { endLimit = nil }
        guard let connection = connection.take() else { return }
        defer { connection.close() }
        guard connection.fault == nil else { return }
        (connection.onEnd, connection.refresh) = ({ _ in }, nil)
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
