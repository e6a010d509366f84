import Foundation
import IndicatorThreads
package import Logging
import Synchronization

/// The implementation of ``IndicatorManager``: the lock, and the state machine and the receivers that it protects.
///
/// Every input takes the same three steps: lock and pass it to ``IndicatorStateMachine``; unlock; perform the returned
/// actions. No foreign code runs under the lock: no continuation is resumed, no caller's object is released, no task is
/// created, no backend or observer is called. (Exceptions: `==` and `hash(into:)` of the caller's identities, and an
/// injected clock.) Snapshots enter the receivers' inboxes under the lock, so they keep its order, and those that a
/// receiver has not taken yet are merged. What remains needs no order: each thread sets the timer, notifies the
/// receivers and releases the values for its own input only. So there is no queue, and no call waits for another one's
/// work.
///
/// The manager, timers, observations and backends retain the engine, which retains all but the manager. It closes when
/// the manager is deallocated and its last activity has ended, which breaks these cycles. There are no weak references
/// to it: they would make every later retain slow.
@usableFromInline
package final class IndicatorEngine: Sendable {
    /// The state that the lock protects. Receivers have their own locks, which are also taken under this one. Those of
    /// timers are not.
    private struct Storage: ~Copyable, Sendable {
        var machine: IndicatorStateMachine
        /// The backends, in the order in which they were added.
        var runners: [BackendRunner] = []
        /// The receivers of snapshots: the subscriptions, and the runners that have received their first one.
        var receivers: [any SnapshotReceiver] = []
        var observations = OrderedList<NotificationObservation>()
        var resources: [any ManagerResource] = []
        /// Whether the manager was deallocated: the engine closes when the last held activity has ended.
        var isOrphaned = false
        /// The engine itself while activities are held after that: they do not retain it.
        var itself: IndicatorEngine?
        /// Whether the engine is closed or closing.
        var isClosed = false
        /// Whether it is counted in ``ObservedObjects/observers``.
        var isObserver = false
    }

    private typealias Actions = IndicatorStateMachine.Actions

    @usableFromInline let counter: ActivityCounter
    let time: TimeSource
    let logger: Logger
    /// Has a lock of its own, a leaf.
    let cancellation = Cancellation()
    private let ownStorage: Locked<Storage>
    private let timer: DeadlineTimer
    private let broadcaster = SnapshotBroadcaster()

    init(delays: IndicatorDelays, isEnabled: Bool, clock: any Clock<Duration>, logger: Logger) {
        self.logger = logger
        time = TimeSource.reading(clock)
        counter = ActivityCounter(phase: .inactive, time: time)
        let now = time.now
        let isFollowed = clock is SuspendingClock || clock is ContinuousClock
        let wallClock = WallClock.system(at: now, isFollowed: isFollowed)
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
        @inline(__always) _read { if ForkedProcess.isChild { yield Self.off.ownStorage } else { yield ownStorage } }
    }

    /// What all engines are in a child of fork(2): shut down, because another thread may have held the lock.
    private static let off: IndicatorEngine = {
        let (clock, logger) = (SuspendingClock(), Logger(label: "indicator"))
        let off = IndicatorEngine(delays: .standard, isEnabled: false, clock: clock, logger: logger)
        off.ownStorage.withLock { storage in
            _ = storage.machine.shutDown(at: .zero)
            storage.isClosed = true
        }
        return off
    }()

    /// The manager was deallocated. Closes the engine, or lets the end of the last held activity close it.
    func managerIsReleased() {
        storage.withLock { storage in
            storage.isOrphaned = true
            storage.machine.setOrphaned()
        }
        keepOrClose()
    }

    /// Ends everything without waiting.
    private func close() {
        let (runners, resources) = end(timeLimit: .seconds(2))
        // Kept until they have stopped: a shutdown at the end of the process waits for them.
        if !runners.isEmpty {
            Task.detached(executorPreference: ServiceThread.forCallersCode) { [self] in
                for runner in runners { await runner.waitUntilFinished() }
                _ = storage.withLock { storage in exchange(&storage.runners, with: []) }
            }
        }
        timer.set(nil, version: .max) { _ in }
        for resource in resources { resource.managerIsGone() }
    }

    /// Hides the indicator permanently, and lets the backends and subscriptions finish.
    private func end(timeLimit: Duration) -> (runners: [BackendRunner], resources: [any ManagerResource]) {
        let now = time.now
        let (actions, hasObjects, runners, resources, observations) = storage.withLock { storage in
            var actions = Actions()
            if !storage.machine.isShutDown {
                actions = storage.machine.shutDown(at: now) ?? actions
                post(&actions, storage)
                actions.receivers = storage.receivers + storage.runners
                for receiver in actions.receivers { receiver.finish(timeLimit: timeLimit, at: now) }
                if storage.isObserver { ObservedObjects.observers.wrappingSubtract(1, ordering: .relaxed) }
            }
            defer {
                (storage.receivers, storage.resources, storage.observations) = ([], [], OrderedList())
                updateAudience(of: &storage)
            }
            let hasObjects = storage.machine.list.objectCount > 0
            return (actions, hasObjects, storage.runners, storage.resources, storage.observations)
        }
        perform(actions)
        cancellation.close()
        if hasObjects { checkLater(at: now) }
        // Elsewhere: it releases closures of the caller, and thereby objects whose `deinit` may block.
        if observations.count > 0 {
            Task.detached(executorPreference: ServiceThread.forCallersCode) {
                for observation in observations.values { observation.cancel() }
            }
        }
        return (runners, resources)
    }

    // MARK: - Lock, ask, unlock, perform

    /// Passes an input to the state machine, and performs the returned actions.
    ///
    /// - Parameter input: called with the lock held; reads the time if it needs it.
    @inline(__always)
    func change(_ input: (inout IndicatorStateMachine, IndicatorStateMachine.Now) -> IndicatorStateMachine.Actions?) {
        if ForkedProcess.isChild { return reportFork() }
        // Unmanaged, because a closure that captures the engine retains it, several times for each input.
        let engine = Unmanaged.passUnretained(self)
        let (actions, isOrphaned): (Actions?, Bool) = ownStorage.withLock { storage in
            let now = { engine._withUnsafeGuaranteedRef { $0.time.now } }
            guard var actions = input(&storage.machine, now) else { return (nil, storage.isOrphaned) }
            post(&actions, storage)
            return (actions, storage.isOrphaned)
        }
        if let actions { perform(actions) }
        if isOrphaned { keepOrClose() }
    }

    /// Without a manager, keeps the engine while it has held activities; they may also begin after it has closed.
    private func keepOrClose() {
        // Returns the old reference, which is released without the lock.
        let (mustClose, _) = storage.withLock { storage in
            let isOver = storage.machine.heldActivityCount == 0
            defer { storage.isClosed = storage.isClosed || isOver }
            return (isOver && !storage.isClosed, exchange(&storage.itself, with: isOver ? nil : self))
        }
        if mustClose { close() }
    }

    /// Without the logger: another thread may have had a lock of its handler, or of the C library, at the fork.
    private func reportFork() {
        ForkedProcess.reportOnce {
            StandardErrorReport.write(
                "indicator: The indicator is off in this process, which was forked from the one that shows it\n"
            )
        }
    }

    /// The public state now.
    package var snapshot: IndicatorSnapshot {
        let engine = Unmanaged.passUnretained(self)
        return read { $0.snapshot { engine._withUnsafeGuaranteedRef { $0.time.now } } }
    }

    /// Reads from the state machine.
    @inline(__always)
    func read<Result: Sendable>(_ body: (inout IndicatorStateMachine) -> Result) -> Result {
        storage.withLock { body(&$0.machine) }
    }

    /// Reports a change of the count to the state machine.
    @usableFromInline
    func report() {
        change { machine, now in machine.countChanged(now) }
    }

    /// Performs the part of the actions that needs the lock: adds the snapshots to the receivers' inboxes.
    private func post(_ actions: inout Actions, _ storage: borrowing Storage) {
        for (snapshot, _) in actions.publications {
            for receiver in storage.receivers where receiver.post(snapshot) { actions.receivers.append(receiver) }
        }
    }

    private func perform(_ actions: Actions) {
        if let wake = actions.wake { timer.set(wake.deadline, version: wake.version, deadlineHasCome) }
        for receiver in actions.receivers { receiver.startDelivery() }
    }

    // MARK: - Time

    private func deadlineHasCome(_ deadline: Duration) {
        let now = max(time.now, deadline)
        guard read({ $0.isLifetimeCheckDue(at: now) }) else { return advance(to: now) }
        checkLater(at: now)
    }

    /// Performs the work that is due at `now`.
    func advance(to now: Duration) {
        change { machine, _ in machine.advance(to: now) }
    }

    /// Checks the objects and advances, on a thread of its own: neither a long check nor the `deinit` of an ended
    /// object delays timers or other indicators.
    private func checkLater(at now: Duration) {
        let check: @Sendable () -> Void = { [self] in
            // Released last: a `deinit` may block.
            withExtendedLifetime(checkLifetimes(at: now)) { advance(to: now) }
        }
        if !ThreadStarter.start(named: "ind-check", check) { check() }
    }

    /// Checks the observed objects, part by part. Returns what to release.
    private func checkLifetimes(at now: Duration) -> [[Any]] {
        let parts = read { $0.list.objectPartCount }
        var all: [[Any]] = []
        for part in 0..<parts {
            var released: [Any] = []
            change { machine, time in
                machine.checkLifetimes(part: part, of: parts, at: max(now, time()), releasing: &released)
            }
            // Not with the lock held: a long array may move.
            all.append(released)
            // The lock is not fair, and the kernel may wake a waiting thread on this thread's core, where it would wait
            // for the end of a time slice. On Linux 6.18, sched_yield(2) would cost one on a busy machine.
            if storage.isAwaited { usleep(1) }
        }
        return all
    }

    // MARK: - Receivers

    /// Publishes what is pending for the existing receivers, adds another one, and returns what `body` does with the
    /// current snapshot. Without effect if `condition` does not hold.
    private func add<Result: Sendable>(
        _ receiver: some SnapshotReceiver,
        if condition: (borrowing Storage) -> Bool,
        _ body: (IndicatorSnapshot) -> Result
    ) -> Result? {
        let now = time.now
        let added: (Actions, Result)? = storage.withLock { storage in
            guard condition(storage) else { return nil }
            // Activities that ended earlier are for the existing receivers only.
            var actions = storage.machine.publishPending(at: now) ?? Actions()
            post(&actions, storage)
            actions.receivers.append(receiver)
            if !storage.receivers.contains(where: { $0 === receiver }) { storage.receivers.append(receiver) }
            updateAudience(of: &storage)
            return (actions, body(storage.machine.snapshot { now }))
        }
        guard let (actions, result) = added else { return nil }
        perform(actions)
        return result
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
        if let subscription = add(broadcaster, if: { !$0.machine.isShutDown }, broadcaster.subscribe) {
            return subscription
        }
        let ended = SnapshotBroadcaster()
        ended.finish(timeLimit: .zero, at: .zero)
        return ended.subscribe(snapshot)
    }

    func unsubscribe(_ subscription: SnapshotSubscription) {
        storage.withLock { storage in
            if subscription.end() { remove(broadcaster, from: &storage) }
        }
    }

    // MARK: - Backends

    /// - Parameter logger: for its diagnostics; by default the engine's.
    package func addBackend(_ backend: any IndicatorBackend, logger: Logger? = nil) -> Bool {
        let logger = logger ?? self.logger
        let runner = BackendRunner(backend: backend, time: time, logger: logger)
        let refusal: String? = storage.withLock { storage in
            if storage.machine.isShutDown { return "the indicator was shut down" }
            if storage.runners.contains(where: { $0.name == runner.name }) {
                return "another backend has that name; give each backend a unique name"
            }
            storage.runners.append(runner)
            return nil
        }
        if let refusal {
            logger.inBackground.error("The backend '\(runner.name)' was not added: \(refusal)")
            return false
        }
        backend.attach(
            to: IndicatorControl(
                // A weak reference would make every later retain of the engine slow. Closing it breaks the cycle.
                setEnabled: { [self] in setEnabled($0) },
                retry: { [weak runner] in runner?.retry() },
                surfaceWasLost: { [weak runner] in runner?.surfaceWasLost($0) },
                backendStatuses: { [self] in backendStatuses },
                isCancellable: { [cancellation] in cancellation.isPossible },
                requestCancellation: { [cancellation] in cancellation.request(CancellationRequest(label: $0)) }
            )
        )
        let isNeeded: Void? = add(runner, if: { $0.runners.contains { $0 === runner } && !$0.machine.isShutDown }) {
            _ = runner.post($0)
        }
        // The backend was removed, or the indicator was shut down, in the meantime.
        if isNeeded == nil { runner.finish(timeLimit: .zero, at: time.now) }
        runner.run()
        return true
    }

    package func removeBackend(named name: String, timeLimit: Duration) async {
        let now = time.now
        let removed: (BackendRunner, Actions)? = storage.withLock { storage in
            guard let index = storage.runners.firstIndex(where: { $0.name == name }) else { return nil }
            let runner = storage.runners.remove(at: index)
            var actions = storage.machine.publishPending(at: now) ?? Actions()
            post(&actions, storage)
            actions.receivers.append(runner)
            remove(runner, from: &storage)
            var hidden = storage.machine.snapshot { now }
            hidden.state = .inactive
            _ = runner.post(hidden)
            runner.finish(timeLimit: timeLimit, at: now)
            return (runner, actions)
        }
        guard let (runner, actions) = removed else { return }
        perform(actions)
        await runner.waitUntilFinished()
    }

    package var backendStatuses: [BackendStatus] {
        storage.withLock { $0.runners }.map(\.status)
    }

    package func shutdown(timeLimit: Duration) async {
        let (runners, resources) = end(timeLimit: timeLimit)
        // Without a thread for the time limits, it would wait forever.
        guard ServiceThread.shared.start() else { return }
        await withTaskGroup { group in
            for runner in runners { group.addTask { await runner.waitUntilFinished() } }
            for resource in resources {
                group.addTask { await Self.wait(atMost: timeLimit) { await resource.managerWillShutDown() } }
            }
        }
    }

    /// Calls a function, and returns when it returns, or after the time limit.
    private static func wait(atMost timeLimit: Duration, _ body: @escaping @Sendable () async -> Void) async {
        await withCheckedContinuation { continuation in
            let waiting = Locked<CheckedContinuation<Void, Never>?>(continuation)
            let resume: @Sendable () -> Void = { waiting.withLock { $0.take() }?.resume() }
            let limit = min(max(timeLimit, .zero), TimeSource.longest)
            let end = ServiceThread.now + Int64(limit / .nanoseconds(1))
            // Elsewhere than on the timers' thread: the executor of the caller may block.
            let call = ServiceThread.shared.call(at: end) {
                Task.detached(executorPreference: ServiceThread.forCallersCode) { resume() }
            }
            Task.detached(executorPreference: ServiceThread.forCallersCode) {
                await body()
                ServiceThread.shared.cancelCall(call)
                resume()
            }
        }
    }

    // MARK: - Settings

    package func setEnabled(_ isEnabled: Bool) {
        let now = time.now
        change { machine, _ in machine.setEnabled(isEnabled, at: now) }
    }

    /// Whether the engine is closed or shut down.
    package var isClosed: Bool { read { $0.isShutDown } }

    package var isEnabled: Bool { counter.phase != nil }

    package var delays: IndicatorDelays {
        get { read { $0.delays } }
        set {
            let now = time.now
            change { machine, _ in machine.setDelays(newValue, at: now) }
        }
    }

    // MARK: - Resources of the manager

    func keep(_ observation: NotificationObservation) {
        let isShutDown = storage.withLock { storage in
            if storage.machine.isShutDown { return true }
            if !storage.isObserver { ObservedObjects.observers.wrappingAdd(1, ordering: .relaxed) }
            storage.isObserver = true
            storage.observations.set(observation.order, to: observation)
            return false
        }
        if isShutDown { observation.cancel() }
    }

    /// Removes a cancelled observation, which the caller retains: it is not deallocated with the lock held.
    func forget(_ observation: NotificationObservation) {
        storage.withLock { _ = $0.observations.set(observation.order, to: nil) }
    }

    package func keep(_ resource: some ManagerResource) {
        let isShutDown = storage.withLock { storage in
            if !storage.machine.isShutDown { storage.resources.append(resource) }
            return storage.machine.isShutDown
        }
        if isShutDown { resource.managerIsGone() }
    }

    package func keptResource<Resource: ManagerResource>(_ type: Resource.Type) -> Resource? {
        storage.withLock { $0.resources }.lazy.compactMap { $0 as? Resource }.first
    }
}

/// A receiver of snapshots: a backend's runner, or a subscription.
protocol SnapshotReceiver: AnyObject, Sendable {
    /// Which changes it observes.
    var audience: PublicationState.Audience { get }

    /// Adds a snapshot to the inbox. Called under the engine's lock, so it takes only its own.
    ///
    /// - Returns: whether the caller must call ``startDelivery()`` after unlocking.
    func post(_ snapshot: IndicatorSnapshot) -> Bool

    /// No more snapshots follow. Called as ``post(_:)``; the caller must call ``startDelivery()``.
    func finish(timeLimit: Duration, at now: Duration)

    /// Begins what has become necessary. Called without a lock, on any thread, in any order.
    func startDelivery()
}

/// A resource with the lifetime of a manager, such as the watcher of its config file.
package protocol ManagerResource: AnyObject, Sendable {
    /// The manager is being shut down: release everything, in bounded time.
    func managerWillShutDown() async
    /// The manager was deallocated without having been shut down: release everything, without waiting.
    func managerIsGone()
}
