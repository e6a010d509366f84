import Foundation
import IndicatorThreads
package import Logging
import Synchronization

/// What an ``IndicatorManager`` is the public face of: the lock, the state machine behind it, and the queue of its
/// actions.
///
/// Every input does the same three things: lock and ask ``IndicatorStateMachine``; unlock; perform the returned
/// actions. While the lock is held nothing foreign runs: no continuation is resumed, no object of the caller's is
/// released, no task is created, no backend or observer is called. (The exceptions: `==` and `hash(into:)` of the
/// caller's identities, and an injected clock.) Actions are performed in the order in which the lock was held, by the
/// thread that finds the ``Outbox`` unattended, and no thread waits for another one's. So a `deinit` or log handler
/// that blocks holds up the deliveries of this indicator, and the timers of the process if it runs on their thread.
///
/// The manager, timers, observations and backends hold the engine, and it holds all of them but the first; closing it
/// ends these circles, when the manager is deallocated and its last activity has ended. There are no weak references:
/// an object to which there was one is slow to retain.
@usableFromInline
package final class IndicatorEngine: Sendable {
    /// All that the lock protects. Runners, subscriptions and timers have a lock each, which is taken without this one.
    private struct Storage: Sendable {
        var machine: IndicatorStateMachine
        var outbox = Outbox<Effect>()
        /// The backends, in the order in which they were added.
        var runners: [BackendRunner] = []
        /// Those who receive snapshots: the runners, as soon as they have their first one, and the subscriptions.
        var receivers: [any SnapshotReceiver] = []
        var observations: [NotificationObservation] = []
        var resources: [any ManagerResource] = []
        var isShutDown = false
        /// Whether the manager is deallocated: the engine closes when the last activity that somebody holds has ended.
        var isOrphaned = false
        /// The engine itself, from then on until it has closed: activities hold no reference to it.
        var itself: IndicatorEngine?
        /// Whether the engine is closed, or about to be.
        var isClosed = false
        /// Whether it is one of ``ObservedObjects/observers``.
        var isObserver = false

        /// Whether the engine is to be closed now, by the caller.
        mutating func takesUpClosing() -> Bool {
            guard isOrphaned, !isClosed, machine.heldActivityCount == 0 else { return false }
            isClosed = true
            return true
        }
    }

    /// An action, with those that it concerns.
    private enum Effect: Sendable {
        case deliver(IndicatorSnapshot, to: [any SnapshotReceiver])
        case wake(at: Duration, version: UInt64)
        case release(IndicatorStateMachine.Garbage)
        case finish([any SnapshotReceiver], timeLimit: Duration)
    }

    @usableFromInline let counter: ActivityCounter
    let time: TimeSource
    let logger: Logger
    private let storage: Locked<Storage>
    private let timer: DeadlineTimer

    init(delays: IndicatorDelays, isEnabled: Bool, clock: any Clock<Duration>, logger: Logger) {
        self.logger = logger
        time = TimeSource.reading(clock)
        counter = ActivityCounter(phase: .inactive, time: time)
        let machine = IndicatorStateMachine(
            delays: delays,
            isEnabled: isEnabled,
            counter: counter,
            now: time.now
        )
        storage = Locked(Storage(machine: machine))
        timer = DeadlineTimer(time: time)
    }

    /// The manager is deallocated. Closes the engine, unless somebody holds an activity: then the end of the last one
    /// does.
    func managerIsReleased() {
        let isOver = storage.withLock { storage in
            storage.isOrphaned = true
            storage.itself = self
            storage.machine.setOrphaned()
            return storage.takesUpClosing()
        }
        if isOver { close() }
    }

    /// Ends everything without waiting.
    private func close() {
        let (runners, resources) = end(timeLimit: .seconds(2))
        // Kept until they have stopped: a shutdown at the end of the process waits for them.
        Task.detached(executorPreference: ServiceThread.shared) { [self] in
            for runner in runners { await runner.waitUntilFinished() }
            _ = storage.withLock { storage in (exchange(&storage.runners, with: []), storage.itself.take()) }
        }
        timer.set(nil, version: .max) { _ in }
        for resource in resources { resource.managerIsGone() }
    }

    /// Hides the indicator for good, and lets the backends and subscriptions finish.
    private func end(timeLimit: Duration) -> (runners: [BackendRunner], resources: [any ManagerResource]) {
        let now = time.now
        let (runners, resources, observations) = storage.withLock { storage in
            if !storage.isShutDown {
                // Nobody has switched it off: the last snapshot must not report that.
                let isEnabled = storage.machine.isEnabled
                append(storage.machine.setEnabled(false, at: now), to: &storage, isEnabled: isEnabled)
                append(storage.machine.publishPending(at: now), to: &storage, isEnabled: isEnabled)
                storage.isShutDown = true
                storage.outbox.append(.finish(storage.receivers + storage.runners, timeLimit: timeLimit))
                if storage.isObserver { ObservedObjects.observers.wrappingSubtract(1, ordering: .relaxed) }
            }
            defer { (storage.receivers, storage.resources, storage.observations) = ([], [], []) }
            return (storage.runners, storage.resources, storage.observations)
        }
        perform()
        for observation in observations { observation.cancel() }
        return (runners, resources)
    }

    // MARK: - Lock, ask, unlock, perform

    /// Passes an input to the state machine, and performs what it returns.
    ///
    /// - Parameter input: called with the lock held; reads the time if it needs it.
    func change(_ input: (inout IndicatorStateMachine, IndicatorStateMachine.Now) -> [IndicatorStateMachine.Action]) {
        let (mustPerform, isOver) = storage.withLock { storage in
            let actions = input(&storage.machine) { time.now }
            let isOver = storage.takesUpClosing()
            if actions.isEmpty { return (false, isOver) }
            append(actions, to: &storage)
            return (storage.outbox.attend(), isOver)
        }
        if mustPerform { performAttended() }
        if isOver { close() }
    }

    /// The public state now.
    package var snapshot: IndicatorSnapshot { read { $0.snapshot { time.now } } }

    /// Reads what the lock protects.
    func read<Result: Sendable>(_ body: (inout IndicatorStateMachine) -> Result) -> Result {
        storage.withLock { body(&$0.machine) }
    }

    /// The counter asked for a report.
    @usableFromInline
    func report() {
        change { machine, now in machine.countChanged(now) }
    }

    /// - Parameter isEnabled: what snapshots report instead of what is the case.
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

    /// Performs what waits, unless another thread does.
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
        advance(to: max(time.now, deadline))
    }

    /// Does what is due by now.
    func advance(to now: Duration) {
        checkLifetimes(at: now)
        change { machine, _ in machine.advance(to: now) }
    }

    /// Looks at the observed objects, part by part, if that is due.
    private func checkLifetimes(at now: Duration) {
        if storage.withLock({ $0.machine.isLifetimeCheckDue(at: now) }) {
            for part in 0..<IndicatorStateMachine.lifetimeCheckPartCount {
                change { machine, _ in machine.checkLifetimes(part: part, at: now) }
                // The lock is not fair: without this, a thread that waits for it may wait for all parts.
                sched_yield()
            }
        }
    }

    // MARK: - Receivers

    /// Adds a receiver of snapshots, which receives the present one first. Returns whether it was added.
    private func add(_ receiver: some SnapshotReceiver, if condition: (borrowing Storage) -> Bool) -> Bool {
        let now = time.now
        let isAdded = storage.withLock { storage in
            guard condition(storage) else { return false }
            // What has ended before is for those who were there.
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

    /// Subscribes to snapshots. The subscription ends at once if the indicator was shut down.
    func subscribe() -> SnapshotSubscription {
        let subscription = SnapshotSubscription()
        if !add(subscription, if: { !$0.isShutDown }) {
            subscription.receive(snapshot)
            subscription.finish(timeLimit: .zero)
        }
        return subscription
    }

    /// Ends a subscription.
    func unsubscribe(_ subscription: SnapshotSubscription) {
        storage.withLock { remove(subscription, from: &$0) }
    }

    // MARK: - Backends

    /// - Parameter logger: where its diagnostics go; by default the engine's.
    package func addBackend(_ backend: any IndicatorBackend, logger: Logger? = nil) -> Bool {
        let logger = logger ?? self.logger
        let runner = BackendRunner(backend: backend, time: time, logger: logger)
        let refusal: String? = storage.withLock { storage in
            if storage.isShutDown { return "the indicator was shut down" }
            if storage.runners.contains(where: { $0.name == runner.name }) {
                return "there is one of that name already; give each backend a name of its own"
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
                // The engine is not referenced weakly: that would make every later retain of it slow. What it keeps of
                // the backend is released when it closes.
                setEnabled: { [self] in setEnabled($0) },
                retry: { [weak runner] in runner?.retry() },
                surfaceWasLost: { [weak runner] in runner?.surfaceWasLost($0) },
                backendStatuses: { [self] in backendStatuses }
            )
        )
        let isNeeded = add(runner) { storage in storage.runners.contains { $0 === runner } && !storage.isShutDown }
        // It was removed, or the indicator was shut down, while it was attached.
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
        checkLifetimes(at: now)
        storage.withLock { storage in
            guard !storage.isShutDown else { return }
            append(storage.machine.setEnabled(isEnabled, at: now), to: &storage)
        }
        perform()
    }

    /// Whether the engine is closed or shut down: it shows nothing any more.
    package var isClosed: Bool { storage.withLock { $0.isShutDown } }

    package var isEnabled: Bool { counter.phase != .disabled }

    package var delays: IndicatorDelays {
        get { read { $0.delays } }
        set { setDelays { _ in newValue } }
    }

    /// Changes the delays.
    func setDelays(_ change: (IndicatorDelays) -> IndicatorDelays) {
        let now = time.now
        checkLifetimes(at: now)
        self.change { machine, _ in machine.setDelays(change(machine.delays), at: now) }
    }

    // MARK: - What lives with the manager

    func keep(_ observation: NotificationObservation) {
        // Released without the lock: an observation holds closures of the caller's.
        _ = storage.withLock { storage in
            if !storage.isObserver { ObservedObjects.observers.wrappingAdd(1, ordering: .relaxed) }
            storage.isObserver = true
            let cancelled = storage.observations.filter(\.isCancelled)
            storage.observations.removeAll(where: \.isCancelled)
            storage.observations.append(observation)
            return cancelled
        }
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

/// What receives snapshots: a backend's runner, or a subscription.
///
/// It is called without a lock, one call at a time, in order.
protocol SnapshotReceiver: AnyObject, Sendable {
    /// Which changes it wants to hear of.
    var audience: IndicatorStateMachine.Audience { get }

    /// The indicator has changed. Returns at once.
    func receive(_ snapshot: IndicatorSnapshot)

    /// There will be no more snapshots. Returns at once.
    func finish(timeLimit: Duration)
}

/// Something that lives and ends with a manager, such as what watches its config file.
package protocol ManagerResource: AnyObject, Sendable {
    /// The manager is being shut down: release everything, in bounded time.
    func managerWillShutDown() async
    /// The manager was deallocated without having been shut down: release everything, without waiting.
    func managerIsGone()
}
