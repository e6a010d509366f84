import Foundation
import IndicatorThreads
package import Logging
import Synchronization

/// The implementation of ``IndicatorManager``: the lock, the state machine that it protects, and the queue of actions.
///
/// Every input takes the same three steps: lock and pass it to ``IndicatorStateMachine``; unlock; perform the returned
/// actions. No foreign code runs under the lock: no continuation is resumed, no caller's object is released, no task is
/// created, no backend or observer is called. (Exceptions: `==` and `hash(into:)` of the caller's identities, `update`
/// closures, and an injected clock.) Actions are performed in the order in which the lock was held, by the thread that
/// finds the ``Outbox`` unattended; no thread waits for another one's. So a `deinit` that blocks delays the deliveries
/// of this indicator, and the timers of the process if it runs on their thread.
///
/// The manager, timers, observations and backends retain the engine, which retains all but the manager. It closes when
/// the manager is deallocated and its last activity has ended, which breaks these cycles. There are no weak references
/// to it: they would make every later retain slow.
@usableFromInline
package final class IndicatorEngine: Sendable {
    /// The state that the lock protects. Runners, subscriptions and timers have their own locks, never taken under this
    /// one.
    private struct Storage: Sendable {
        var machine: IndicatorStateMachine
        var outbox = Outbox<Effect>()
        /// The backends, in the order in which they were added.
        var runners: [BackendRunner] = []
        /// The receivers of snapshots: the subscriptions, and the runners that have received their first one.
        var receivers: [any SnapshotReceiver] = []
        var observations: [NotificationObservation] = []
        var resources: [any ManagerResource] = []
        var isShutDown = false
        /// Whether the manager was deallocated: the engine closes when the last held activity has ended.
        var isOrphaned = false
        /// The engine itself while activities are held after that: they do not retain it.
        var itself: IndicatorEngine?
        /// Whether the engine is closed or closing.
        var isClosed = false
        /// Whether it is counted in ``ObservedObjects/observers``.
        var isObserver = false

        /// Keeps the engine while it has held activities but no manager; they may also begin after it has closed.
        ///
        /// - Returns: whether the caller must close it; and a reference to release without the lock.
        mutating func keep(_ engine: IndicatorEngine) -> (isOver: Bool, released: IndicatorEngine?) {
            guard isOrphaned else { return (false, nil) }
            let isOver = machine.heldActivityCount == 0
            defer { (itself, isClosed) = (isOver ? nil : engine, isClosed || isOver) }
            return (isOver && !isClosed, itself)
        }
    }

    /// An action and its receivers.
    private enum Effect: Sendable {
        case deliver(IndicatorSnapshot, to: [any SnapshotReceiver])
        case wake(at: Duration, version: UInt64)
        case release(IndicatorStateMachine.Garbage)
        case finish([any SnapshotReceiver], timeLimit: Duration)
    }

    @usableFromInline let counter: ActivityCounter
    let time: TimeSource
    let logger: Logger
    private let ownStorage: Locked<Storage>
    private let timer: DeadlineTimer

    init(delays: IndicatorDelays, isEnabled: Bool, clock: any Clock<Duration>, logger: Logger) {
        self.logger = logger
        time = TimeSource.reading(clock)
        counter = ActivityCounter(phase: .inactive, time: time)
        let now = time.now
        let wallClock = WallClock.system(at: now, isFollowed: clock is ContinuousClock)
        let machine = IndicatorStateMachine(
            delays: delays,
            isEnabled: isEnabled,
            counter: counter,
            now: now,
            wallClock: wallClock
        )
        ownStorage = Locked(Storage(machine: machine))
        ForkedProcess.watch()
        timer = DeadlineTimer(time: time)
    }

    private var storage: Locked<Storage> {
        _read { if ForkedProcess.isChild { yield Self.off.ownStorage } else { yield ownStorage } }
    }

    /// What all engines are in a child of fork(2): shut down, because another thread may have held the lock.
    private static let off: IndicatorEngine = {
        let (clock, logger) = (SuspendingClock(), Logger(label: "indicator"))
        let off = IndicatorEngine(delays: .standard, isEnabled: false, clock: clock, logger: logger)
        off.ownStorage.withLock { ($0.isShutDown, $0.isClosed) = (true, true) }
        return off
    }()

    /// The manager was deallocated. Closes the engine, or lets the end of the last held activity close it.
    func managerIsReleased() {
        let (isOver, _) = storage.withLock { storage in
            storage.isOrphaned = true
            storage.machine.setOrphaned()
            return storage.keep(self)
        }
        if isOver { close() }
    }

    /// Ends everything without waiting.
    private func close() {
        let (runners, resources) = end(timeLimit: .seconds(2))
        // Kept until they have stopped: a shutdown at the end of the process waits for them.
        Task.detached(executorPreference: ServiceThread.shared) { [self] in
            for runner in runners { await runner.waitUntilFinished() }
            _ = storage.withLock { storage in exchange(&storage.runners, with: []) }
        }
        timer.set(nil, version: .max) { _ in }
        for resource in resources { resource.managerIsGone() }
    }

    /// Hides the indicator permanently, and lets the backends and subscriptions finish.
    private func end(timeLimit: Duration) -> (runners: [BackendRunner], resources: [any ManagerResource]) {
        let now = time.now
        let (runners, resources, observations) = storage.withLock { storage in
            if !storage.isShutDown {
                // The app has not disabled it: the last snapshot must not report that.
                let isEnabled = storage.machine.isEnabled
                append(storage.machine.setEnabled(false, at: now), to: &storage, isEnabled: isEnabled)
                append(storage.machine.publishPending(at: now), to: &storage, isEnabled: isEnabled)
                storage.isShutDown = true
                storage.outbox.append(.finish(storage.receivers + storage.runners, timeLimit: timeLimit))
                if storage.isObserver { ObservedObjects.observers.wrappingSubtract(1, ordering: .relaxed) }
            }
            defer {
                (storage.receivers, storage.resources, storage.observations) = ([], [], [])
                updateAudience(of: &storage)
            }
            return (storage.runners, storage.resources, storage.observations)
        }
        perform()
        for observation in observations { observation.cancel() }
        return (runners, resources)
    }

    // MARK: - Lock, ask, unlock, perform

    /// Passes an input to the state machine, and performs the returned actions.
    ///
    /// - Parameter input: called with the lock held; reads the time if it needs it.
    func change(_ input: (inout IndicatorStateMachine, IndicatorStateMachine.Now) -> [IndicatorStateMachine.Action]) {
        if ForkedProcess.isChild {
            return ForkedProcess.reportOnce {
                logger.warning("The indicator is off in this process, which was forked from the one that shows it")
            }
        }
        let (mustPerform, (isOver, _)) = storage.withLock { storage in
            let actions = input(&storage.machine) { time.now }
            let kept = storage.keep(self)
            if actions.isEmpty { return (false, kept) }
            append(actions, to: &storage)
            return (storage.outbox.attend(), kept)
        }
        if mustPerform { performAttended() }
        if isOver { close() }
    }

    /// The public state now.
    package var snapshot: IndicatorSnapshot { read { $0.snapshot { time.now } } }

    /// Reads from the state machine.
    func read<Result: Sendable>(_ body: (inout IndicatorStateMachine) -> Result) -> Result {
        storage.withLock { body(&$0.machine) }
    }

    /// Reports a change of the count to the state machine.
    @usableFromInline
    func report() {
        change { machine, now in machine.countChanged(now) }
    }

    /// - Parameter isEnabled: the value for snapshots, instead of the current one.
    private func append(
        _ actions: [IndicatorStateMachine.Action],
        to storage: inout Storage,
        isEnabled: Bool? = nil
    ) {
        for action in actions {
            switch action {
            case .publish(var snapshot, _):
                if let isEnabled { snapshot.isEnabled = isEnabled }
                if !storage.receivers.isEmpty { storage.outbox.append(.deliver(snapshot, to: storage.receivers)) }
            case .wake(let deadline, let version):
                storage.outbox.append(.wake(at: deadline, version: version))
            case .release(let garbage):
                storage.outbox.append(.release(garbage))
            }
        }
    }

    /// Performs the waiting actions, unless another thread does.
    private func perform() {
        if storage.withLock({ $0.outbox.attend() }) { performAttended() }
    }

    private func performAttended() {
        while let batch = storage.withLock({ $0.outbox.nextBatch() }) {
            for effect in batch {
                switch effect {
                case .deliver(let snapshot, let receivers):
                    for receiver in receivers { receiver.receive(snapshot) }
                case .wake(let deadline, let version): timer.set(deadline, version: version, deadlineHasCome)
                case .release: break  // with the batch
                case .finish(let receivers, let timeLimit):
                    for receiver in receivers { receiver.finish(timeLimit: timeLimit) }
                }
            }
        }
    }

    // MARK: - Time

    private func deadlineHasCome(_ deadline: Duration) {
        let now = max(time.now, deadline)
        // On a thread of its own, because the timers of other indicators wait for this one's to return.
        let isLong = read { $0.list.objectCount > 10_000 && $0.isLifetimeCheckDue(at: now) }
        if !isLong || !ThreadStarter.start(named: "ind-check", { self.advance(to: now) }) { advance(to: now) }
    }

    /// Performs the work that is due at `now`.
    func advance(to now: Duration) {
        checkLifetimes(at: now)
        change { machine, _ in machine.advance(to: now) }
    }

    /// Checks the observed objects, part by part, if that is due.
    private func checkLifetimes(at now: Duration) {
        let (isDue, isLong) = read { ($0.isLifetimeCheckDue(at: now), $0.list.objectCount > 10_000) }
        guard isDue else { return }
        for part in 0..<IndicatorStateMachine.lifetimeCheckPartCount {
            change { machine, time in machine.checkLifetimes(part: part, at: max(now, time())) }
            // The lock is not fair: otherwise a thread that waits for it may wait for all parts, a long time with many
            // objects. On Linux 6.18, sched_yield(2) would cost a time slice on a busy machine.
            if isLong { usleep(10) }
        }
    }

    // MARK: - Receivers

    /// Adds a receiver of snapshots, which receives the current one first. Returns whether it was added.
    private func add(_ receiver: some SnapshotReceiver, if condition: (borrowing Storage) -> Bool) -> Bool {
        let now = time.now
        let isAdded = storage.withLock { storage in
            guard condition(storage) else { return false }
            // Activities that ended earlier are for the existing receivers only.
            append(storage.machine.publishPending(at: now), to: &storage)
            storage.receivers.append(receiver)
            updateAudience(of: &storage)
            storage.outbox.append(.deliver(storage.machine.snapshot { now }, to: [receiver]))
            return true
        }
        perform()
        return isAdded
    }

    private func remove(_ receiver: some SnapshotReceiver, from storage: inout Storage) {
        storage.receivers.removeAll { $0 === receiver }
        updateAudience(of: &storage)
    }

    private func updateAudience(of storage: inout Storage) {
        storage.machine.setAudience(storage.receivers.map(\.audience).max() ?? .nobody)
    }

    /// Subscribes to snapshots. The subscription ends immediately if the indicator was shut down.
    func subscribe() -> SnapshotSubscription {
        let subscription = SnapshotSubscription()
        if !add(subscription, if: { !$0.isShutDown }) {
            subscription.receive(snapshot)
            subscription.finish(timeLimit: .zero)
        }
        return subscription
    }

    func unsubscribe(_ subscription: SnapshotSubscription) {
        storage.withLock { remove(subscription, from: &$0) }
    }

    // MARK: - Backends

    /// - Parameter logger: for its diagnostics; by default the engine's.
    package func addBackend(_ backend: any IndicatorBackend, logger: Logger? = nil) -> Bool {
        let logger = logger ?? self.logger
        let runner = BackendRunner(backend: backend, time: time, logger: logger)
        let refusal: String? = storage.withLock { storage in
            if storage.isShutDown { return "the indicator was shut down" }
            if storage.runners.contains(where: { $0.name == runner.name }) {
                return "another backend has that name; give each backend a unique name"
            }
            storage.runners.append(runner)
            return nil
        }
        if let refusal {
            logger.error("The backend '\(runner.name)' was not added: \(refusal)")
            return false
        }
        backend.attach(
            to: IndicatorControl(
                // A weak reference would make every later retain of the engine slow. Closing it breaks the cycle.
                setEnabled: { [self] in setEnabled($0) },
                retry: { [weak runner] in runner?.retry() },
                surfaceWasLost: { [weak runner] in runner?.surfaceWasLost($0) },
                backendStatuses: { [self] in backendStatuses }
            )
        )
        let isNeeded = add(runner) { storage in storage.runners.contains { $0 === runner } && !storage.isShutDown }
        // The backend was removed, or the indicator was shut down, in the meantime.
        if !isNeeded { runner.finish(timeLimit: .zero) }
        runner.run()
        return true
    }

    package func removeBackend(named name: String, timeLimit: Duration) async {
        let now = time.now
        let runner: BackendRunner? = storage.withLock { storage in
            guard let index = storage.runners.firstIndex(where: { $0.name == name }) else { return nil }
            let runner = storage.runners.remove(at: index)
            append(storage.machine.publishPending(at: now), to: &storage)
            remove(runner, from: &storage)
            var hidden = storage.machine.snapshot { now }
            hidden.state = .inactive
            storage.outbox.append(.deliver(hidden, to: [runner]))
            storage.outbox.append(.finish([runner], timeLimit: timeLimit))
            return runner
        }
        perform()
        await runner?.waitUntilFinished()
    }

    package var backendStatuses: [BackendStatus] {
        storage.withLock { $0.runners }.map(\.status)
    }

    package func shutdown(timeLimit: Duration) async {
        let (runners, resources) = end(timeLimit: timeLimit)
        await withTaskGroup { group in
            for runner in runners { group.addTask { await runner.waitUntilFinished() } }
            for resource in resources { group.addTask { await resource.managerWillShutDown() } }
        }
    }

    // MARK: - Settings

    package func setEnabled(_ isEnabled: Bool) {
        let now = time.now
        storage.withLock { storage in
            guard !storage.isShutDown else { return }
            append(storage.machine.setEnabled(isEnabled, at: now), to: &storage)
        }
        perform()
    }

    /// Whether the engine is closed or shut down.
    package var isClosed: Bool { storage.withLock { $0.isShutDown } }

    package var isEnabled: Bool { counter.phase != .disabled }

    package var delays: IndicatorDelays {
        get { read { $0.delays } }
        set { setDelays { _ in newValue } }
    }

    func setDelays(_ change: (IndicatorDelays) -> IndicatorDelays) {
        let now = time.now
        self.change { machine, _ in machine.setDelays(change(machine.delays), at: now) }
    }

    // MARK: - Resources of the manager

    func keep(_ observation: NotificationObservation) {
        // Released without the lock: an observation retains the caller's closures.
        let (isShutDown, _) = storage.withLock { storage in
            if storage.isShutDown { return (true, [NotificationObservation]()) }
            if !storage.isObserver { ObservedObjects.observers.wrappingAdd(1, ordering: .relaxed) }
            storage.isObserver = true
            let old = storage.observations
            storage.observations = old.filter { !$0.isCancelled } + [observation]
            return (false, old)
        }
        if isShutDown { observation.cancel() }
    }

    package func keep(_ resource: some ManagerResource) {
        let isShutDown = storage.withLock { storage in
            if !storage.isShutDown { storage.resources.append(resource) }
            return storage.isShutDown
        }
        if isShutDown { resource.managerIsGone() }
    }

    package func keptResource<Resource: ManagerResource>(_ type: Resource.Type) -> Resource? {
        storage.withLock { $0.resources }.lazy.compactMap { $0 as? Resource }.first
    }
}

/// A receiver of snapshots: a backend's runner, or a subscription.
///
/// It is called without a lock, one call at a time, in order.
protocol SnapshotReceiver: AnyObject, Sendable {
    /// Which changes it observes.
    var audience: IndicatorStateMachine.Audience { get }

    /// Receives a new snapshot. Returns immediately.
    func receive(_ snapshot: IndicatorSnapshot)

    /// No more snapshots follow. Returns immediately.
    func finish(timeLimit: Duration)
}

/// A resource with the lifetime of a manager, such as the watcher of its config file.
package protocol ManagerResource: AnyObject, Sendable {
    /// The manager is being shut down: release everything, in bounded time.
    func managerWillShutDown() async
    /// The manager was deallocated without having been shut down: release everything, without waiting.
    func managerIsGone()
}
