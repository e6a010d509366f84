#if MQTT
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
/// At most one message is sent in each ``MQTTSettings/interval``, except at the end and after a reconnection. While the
/// broker is unreachable, the latest state and the last 64 finished activities are kept. Reconnection attempts are at
/// random times, at increasing intervals of up to a minute.
public final class MQTTBackend: IndicatorBackend {
    private struct State: Sendable {
        var control = IndicatorControl()
        var connection: MQTTConnection?
        var epoch = 0
        /// The number of consecutive failed connections.
        var failures = 0
        var lastError: MQTTError?
        /// The earliest time of the next attempt, on the clock of ``ServiceThread/now``.
        var nextAttempt: Int64 = 0
        var call: ServiceThread.Call?
    }

    /// How long ``start()`` waits for the broker, and for a name server. The attempt continues, and the backend starts
    /// when it succeeds.
    private static let startTimeout = Duration.seconds(1)
    /// A connection that lasts this long counts as a success.
    private static let successTime = Duration.seconds(30)

    /// The name that the config file and the diagnostics use.
    public let name: String

    let topic: MQTTTopic

    private let settings: MQTTSettings
    private let outbox = MQTTOutbox()
    private let state = Locked(State())

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
    }

    deinit {
        let (connection, call) = state.withLock { ($0.connection, $0.call) }
        connection?.wakeUp.stop()
        if let call { ServiceThread.shared.cancelCall(call) }
    }

    /// Includes changes while hidden: a watcher of many machines also shows the idle ones.
    public var delivery: BackendDelivery { BackendDelivery(includesHidden: true) }

    /// The topic of the state.
    package var stateTopic: String { topic.state }

    /// Keeps the handle, to report the loss of the broker and to retry.
    public func attach(to control: IndicatorControl) {
        state.withLock { $0.control = control }
    }

    /// Connects. Throws if that fails, or if the next attempt is not due yet.
    public func start() async throws {
        if let problem = MQTTTopic.problem(withPrefix: settings.topic) {
            throw MQTTError.invalidTopic("\(settings.topic) (\(problem))")
        }
        // After a start, the latest snapshot is delivered again.
        outbox.state.withLock { $0.snapshot = nil }
        try await connection().waitUntilConnected(within: Self.startTimeout)
    }

    /// Queues the snapshot for the connection's thread.
    public func update(_ snapshot: IndicatorSnapshot) async throws {
        outbox.add(snapshot)
        guard let connection = state.withLock({ $0.connection }) else {
            throw state.withLock { $0.lastError } ?? MQTTError.lost(settings.brokerName, reason: "it is closed")
        }
        connection.wakeUp.wake()
    }

    /// Removes the retained state and disconnects. Returns when that is delivered, or after 0.7 s.
    public func stop() async {
        await state.withLock { $0.connection }?.stop()
    }

    /// The current connection, or a new one if the next attempt is due.
    private func connection() throws -> MQTTConnection {
        let (connection, isNew) = try state.withLock { state throws(MQTTError) in
            if let connection = state.connection { return (connection, false) }
            if ServiceThread.now < state.nextAttempt, let error = state.lastError { throw error }
            state.epoch += 1
            let connection = try MQTTConnection(
                settings: settings,
                topic: topic,
                epoch: state.epoch,
                outbox: outbox
            )
            state.connection = connection
            return (connection, true)
        }
        guard isNew else { return connection }
        let control = state.withLock { $0.control }
        connection.run(
            onConnected: { control.retry() },
            onEnd: { [weak self] error, duration in self?.ended(error, after: duration) }
        )
        return connection
    }

    /// The number of failures up to which the pause grows.
    package static let mostFailures = 6

    /// How long to wait before the next attempt.
    ///
    /// Random, so that thousands of clients do not reconnect to a restarted broker simultaneously.
    package static func pause(afterFailures failures: Int) -> Duration {
        .seconds(min(60, Double(1 << failures)) * .random(in: 0.25...1))
    }

    private func ended(_ error: MQTTError?, after duration: Duration?) {
        let (control, wait) = state.withLock { state in
            state.connection = nil
            state.lastError = error
            guard error != nil else { return (state.control, nil as Duration?) }
            state.failures = duration ?? .zero >= Self.successTime ? 1 : min(state.failures + 1, Self.mostFailures)
            let wait = Self.pause(afterFailures: state.failures)
            state.nextAttempt = ServiceThread.now + wait.wholeNanoseconds
            return (state.control, wait)
        }
        guard let error, let wait else { return }
        control.surfaceWasLost("\(error)")
        let call = ServiceThread.shared.call(at: ServiceThread.now + wait.wholeNanoseconds) { control.retry() }
        state.withLock { $0.call = call }
    }
}

/// What waits to be published. Outlives connections.
final class MQTTOutbox: Sendable {
    struct State: Sendable {
        /// The latest snapshot, if it has not been published.
        var snapshot: IndicatorSnapshot?
        var finished = FinishedActivities()
        /// Sent, but not acknowledged by the broker.
        var sent = FinishedActivities()
    }

    let state = Locked(State())

    func add(_ snapshot: IndicatorSnapshot) {
        state.withLock { state in
            state.snapshot = snapshot
            state.finished.append(snapshot.finishedActivities)
        }
    }

    func takeSnapshot() -> IndicatorSnapshot? { state.withLock { $0.snapshot.take() } }

    var hasSnapshot: Bool { state.withLock { $0.snapshot != nil } }

    func takeEvents(epoch: Int) -> MQTTEvents? {
        state.withLock { state in
            guard !state.finished.isEmpty else { return nil }
            let finished = state.finished.takeAll()
            state.sent.append(finished)
            return MQTTEvents(
                epoch: epoch,
                finished: finished.latest.map(MQTTEvents.Finished.init),
                omitted: finished.omittedCount
            )
        }
    }

    /// Discards what was sent: the broker has acknowledged all of it.
    func confirmEvents() { state.withLock { $0.sent = FinishedActivities() } }

    /// Queues again what was sent: the connection was lost before the broker acknowledged it.
    func restoreEvents() {
        state.withLock { state in
            state.sent.append(state.finished)
            state.finished = state.sent.takeAll()
        }
    }

    var hasEvents: Bool { state.withLock { !$0.finished.isEmpty } }
}
#endif
