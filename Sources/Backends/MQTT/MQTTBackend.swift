#if MQTT
import Foundation
public import IndicatorCore
import IndicatorThreads

/// The indicator on an MQTT broker, for those who watch many machines.
///
/// Each process publishes under `indicator/1/<host>/<app>/<instance>`, with QoS 1:
///
/// - The state, retained, so that a watcher who comes late has all: a JSON object with `state`, `visible`, `count`,
///   `label`, `progress`, `attention`, `activities` (`label`, `progress`, `since`), `since`, and `epoch` and `seq`, the
///   numbers of the connection and of the message on it.
/// - What has finished at `…/events`, not retained: `epoch`, `finished` (`label`, `outcome`, `message`, `seconds`) and,
///   if there was too much, `omitted`. At least once: what a broker has not acknowledged when it is lost is sent again.
/// - By the broker, when the process is gone without a farewell: `{"epoch":E,"state":"lost"}`, retained for a week.
///   After a clean end nothing is retained.
///
/// A state is sent again when another client has overwritten it and the broker lets this one read its own topic: a
/// death that is late does not stay. It is also sent again after ten minutes, and the broker forgets it after thirty:
/// what even the broker has not noticed does not stay. In a topic, `/`, `+`, `#`, `$`, `%` and control characters of a
/// name become `%2F` and so on.
///
/// At most one message is sent in each ``MQTTSettings/interval``. While the broker is away, the latest state and the
/// last 64 ends wait; attempts to reach it are at random times, ever farther apart, up to a minute.
public final class MQTTBackend: IndicatorBackend {
    private struct State: Sendable {
        var control = IndicatorControl()
        var connection: MQTTConnection?
        var epoch = 0
        /// How many connections have failed in succession.
        var failures = 0
        var lastError: MQTTError?
        /// When the next attempt may be made, by ``ServiceThread/now``.
        var nextAttempt: Int64 = 0
        var call: UInt64?
    }

    /// How long ``start()`` waits for the broker. The attempt goes on, and the backend is started when it succeeds.
    private static let patience = Duration.seconds(1)
    /// A connection that lasts so long was a success.
    private static let successTime = Duration.seconds(30)

    /// The name that the config file and the diagnostics use.
    public let name: String

    private let topic: MQTTTopic
    private let settings: MQTTSettings
    private let outbox = MQTTOutbox()
    private let state = Locked(State())

    /// Makes a backend. It touches no network before ``start()``.
    ///
    /// - Parameters:
    ///   - name: its name among the backends of an indicator.
    ///   - applicationName: the name of the app.
    ///   - settings: where it publishes, and as whom.
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

    /// Hidden changes too: who watches many machines also wants to see those that have nothing to do.
    public var delivery: BackendDelivery { BackendDelivery(includesHidden: true) }

    /// The topic of the state.
    package var stateTopic: String { topic.state }

    /// Keeps the handle, for the loss of the broker and its return.
    public func attach(to control: IndicatorControl) {
        state.withLock { $0.control = control }
    }

    /// Connects. Throws if that fails, also while the time for the next attempt has not come.
    public func start() async throws {
        if let problem = MQTTTopic.problem(withPrefix: settings.topic) {
            throw MQTTError.invalidTopic("\(settings.topic) (\(problem))")
        }
        // The latest is delivered anew.
        outbox.state.withLock { $0.snapshot = nil }
        try await connection().waitUntilConnected(within: Self.patience)
    }

    /// Has the snapshot published, soon.
    public func update(_ snapshot: IndicatorSnapshot) async throws {
        outbox.add(snapshot)
        guard let connection = state.withLock({ $0.connection }) else {
            throw state.withLock { $0.lastError } ?? MQTTError.lost(settings.url, reason: "it is not connected")
        }
        connection.wakeUp.wake()
    }

    /// Has the broker forget the state, and disconnects. Returns when that is delivered, or after 0.7 s.
    public func stop() async {
        await state.withLock { $0.connection }?.stop()
    }

    /// The connection that there is, or a new one if the time for it has come.
    private func connection() throws -> MQTTConnection {
        let (connection, isNew) = try state.withLock { state throws(MQTTError) in
            if let connection = state.connection { return (connection, false) }
            if ServiceThread.now < state.nextAttempt, let error = state.lastError { throw error }
            state.epoch += 1
            let connection = try MQTTConnection(
                settings: settings,
                topic: topic,
                epoch: state.epoch,
                outbox: outbox,
                // Some hosts have an address of version 6 that leads nowhere.
                usesIPv4Only: state.failures % 2 == 1
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

    /// How many failures count.
    package static let mostFailures = 6

    /// How long to wait before the next attempt.
    ///
    /// At random: when a broker with thousands of clients is back, they must not come all at once.
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

/// What waits to be published. It outlives connections.
final class MQTTOutbox: Sendable {
    struct State: Sendable {
        /// The latest, if it has not been published.
        var snapshot: IndicatorSnapshot?
        var finished: [MQTTEvents.Finished] = []
        var omitted = 0
        /// What was sent, and the broker has not acknowledged.
        var sent: [MQTTEvents.Finished] = []
        var sentOmitted = 0

        /// Keeps as many as there is room for, and counts the others.
        mutating func trim() {
            let excess = max(finished.count - MQTTOutbox.capacity, 0)
            finished.removeFirst(excess)
            omitted += excess
        }
    }

    /// How many ends are kept.
    private static let capacity = 64

    let state = Locked(State())

    func add(_ snapshot: IndicatorSnapshot) {
        let finished = snapshot.finished.map(MQTTEvents.Finished.init)
        state.withLock { state in
            state.snapshot = snapshot
            state.finished += finished
            state.omitted += snapshot.omittedFinishedCount
            state.trim()
        }
    }

    func takeSnapshot() -> IndicatorSnapshot? { state.withLock { $0.snapshot.take() } }

    var hasSnapshot: Bool { state.withLock { $0.snapshot != nil } }

    func takeEvents(epoch: Int) -> MQTTEvents? {
        state.withLock { state in
            guard !state.finished.isEmpty || state.omitted > 0 else { return nil }
            defer { (state.finished, state.omitted) = ([], 0) }
            state.sent += state.finished
            state.sentOmitted += state.omitted
            return MQTTEvents(epoch: epoch, finished: state.finished, omitted: state.omitted)
        }
    }

    /// Forgets what was sent: the broker has acknowledged all of it.
    func confirmEvents() { state.withLock { ($0.sent, $0.sentOmitted) = ([], 0) } }

    /// Has what was sent sent again: the connection was lost before the broker has acknowledged it.
    func restoreEvents() {
        state.withLock { state in
            state.finished = state.sent + state.finished
            state.omitted += state.sentOmitted
            (state.sent, state.sentOmitted) = ([], 0)
            state.trim()
        }
    }

    var hasEvents: Bool { state.withLock { !$0.finished.isEmpty || $0.omitted > 0 } }
}
#endif
