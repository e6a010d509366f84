import Foundation
import Logging
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
/// It closes when its last ``EngineLease`` is released, which breaks the cycles with timers, observations and backends.
/// What else refers to it, such as a sequence of snapshots, finds it closed then. There are no weak references to it:
/// they would make every later retain slow.
@usableFromInline
package final class IndicatorEngine: Sendable {
    /// The state that the lock protects. Receivers have their own locks, which are also taken under this one. That of
    /// the timer is not: this one is taken under it.
    struct Storage: ~Copyable, Sendable {
        var machine: IndicatorStateMachine
        /// The backends' runners, in the order in which they were added.
        var runners: [any UpdateReceiver] = []
        /// The receivers of snapshots: those of the app, and the runners that have received their first one.
        var receivers: [any UpdateReceiver] = []
        var resources: [any ManagerResource] = []
        var cancellation: [CancellationSubscriber] = []
    }

    /// What to perform after an input: what the machine has decided, and the receivers to notify, which may be
    /// duplicated.
    struct Actions {
        let machine: IndicatorStateMachine.Actions?
        var receivers: [any UpdateReceiver] = []

        /// With the lock held: the snapshots enter the inboxes.
        init(_ machine: IndicatorStateMachine.Actions?, _ storage: borrowing Storage) {
            self.machine = machine
            guard let machine, !machine.publications.isEmpty else { return }
            for (update, _) in machine.publications {
                for receiver in storage.receivers { receiver.post(update) }
            }
            receivers = storage.receivers
        }
    }

    @usableFromInline let counter: ActivityCounter
    let time: TimeSource
    let logger: Logger
    let storage: Locked<Storage>
    private let timer: DeadlineTimer
    /// The timer's checks of objects, which may keep references to them for a moment.
    let checksInProgress = Atomic(0)

    init(delays: IndicatorDelays, isEnabled: Bool, clock: any Clock<Duration>, logger: Logger) {
        self.logger = logger
        time = TimeSource.reading(clock)
        counter = ActivityCounter(phase: .inactive, time: time)
        let now = time.now
        let machine = IndicatorStateMachine(delays: delays, isEnabled: isEnabled, counter: counter, now: now)
        storage = Locked(Storage(machine: machine))
        timer = DeadlineTimer(time: time)
    }

    /// Ends everything without waiting.
    fileprivate func close() {
        let runners = end(timeLimit: .seconds(2)).runners
        // Kept until they have stopped: a shutdown at the end of the process waits for them.
        if !runners.isEmpty {
            Task.detached(executorPreference: ServiceThread.ownCode) { [self] in
                for runner in runners { await runner.waitUntilFinished() }
                _ = storage.withLock { storage in exchange(&storage.runners, with: []) }
            }
        }
        timer.set({ nil }) { _ in }
    }

    /// Hides the indicator permanently, and lets the backends, the subscriptions and the resources finish.
    func end(timeLimit: Duration) -> (runners: [any UpdateReceiver], resources: [Task<Void, Never>]) {
        let now = time.now
        let (actions, hasObjects, runners, resources, cancellation) = storage.withLock { storage in
            let isFirst = !storage.machine.isShutDown
            var actions = Actions(isFirst ? storage.machine.shutDown(at: now) : nil, storage)
            if isFirst {
                actions.receivers = storage.receivers + storage.runners
                for receiver in actions.receivers { receiver.finish(timeLimit: timeLimit) }
            }
            defer {
                (storage.receivers, storage.resources) = ([], [])
                updateAudience(of: &storage)
            }
            let hasObjects = storage.machine.list.objects.count > 0
            return (actions, hasObjects, storage.runners, storage.resources, storage.cancellation)
        }
        perform(actions)
        for subscriber in cancellation { subscriber.values.signal() }
        if hasObjects { checkLater(at: now) }
        return (runners, resources.map(Self.end))
    }

    /// Ends a resource elsewhere: it may release objects of the caller whose `deinit` blocks.
    @discardableResult
    private static func end(_ resource: any ManagerResource) -> Task<Void, Never> {
        Task.detached(executorPreference: ServiceThread.foreignCode) { await resource.managerHasEnded() }
    }

    // MARK: - Lock, ask, unlock, perform

    /// Passes an input to the state machine, with the lock held, and performs the returned actions. Returns them, for
    /// what they release.
    @inline(__always) @discardableResult
    func change(
        _ input: (inout IndicatorStateMachine, IndicatorStateMachine.Now) -> IndicatorStateMachine.Actions?
    ) -> Actions? {
        // Unmanaged, because a closure that captures the engine retains it, several times for each input.
        let engine = Unmanaged.passUnretained(self)
        let actions: Actions? = storage.withLock { storage in
            let now = { engine._withUnsafeGuaranteedRef { $0.time.now } }
            return input(&storage.machine, now).map { Actions($0, storage) }
        }
        if let actions { perform(actions) }
        return actions
    }

    /// The public state now.
    package var snapshot: IndicatorSnapshot { read { machine, now in machine.snapshot(now) } }

    /// Reads from the state machine.
    @inline(__always)
    func read<Result: Sendable>(
        _ body: (inout IndicatorStateMachine, IndicatorStateMachine.Now) -> Result
    ) -> Result {
        let engine = Unmanaged.passUnretained(self)
        return storage.withLock { storage in
            body(&storage.machine) { engine._withUnsafeGuaranteedRef { $0.time.now } }
        }
    }

    /// Reports a change of the count to the state machine.
    @usableFromInline
    func report() {
        change { machine, now in machine.countChanged(now) }
    }

    func perform(_ actions: Actions) {
        if actions.machine?.wake != nil {
            timer.set({ read { machine, _ in machine.isShutDown ? nil : machine.wakesAt } }, deadlineHasCome)
        }
        for receiver in actions.receivers { receiver.startDelivery() }
    }

    // MARK: - Time

    func deadlineHasCome(_ deadline: Duration) {
        let now = max(time.now, deadline)
        if read({ machine, _ in machine.isLifetimeCheckDue(at: now) }) { checkLater(at: now) } else { advance(to: now) }
    }

    func advance(to now: Duration) {
        change { machine, _ in machine.advance(to: now) }
    }

    /// Checks the objects and advances, on another thread: neither a long check nor the `deinit` of an ended object
    /// delays timers or other indicators.
    private func checkLater(at now: Duration) {
        checksInProgress.add(1, ordering: .relaxed)
        ServiceThread.ownCode.call(at: .min) { [self] in
            // Released last: a `deinit` may block.
            withExtendedLifetime(checkLifetimes(at: now)) { advance(to: now) }
            checksInProgress.subtract(1, ordering: .releasing)
        }
    }

    /// Checks the observed objects, table by table. Returns what to release when all were checked: that may take long.
    private func checkLifetimes(at now: Duration) -> [Actions] {
        read { machine, _ in machine.list.objects.tables }.compactMap { table in
            var isAwaited = false
            let actions = change { machine, time in
                let now = max(now, time())
                defer { isAwaited = storage.isAwaited }
                return machine.endActivitiesOfEndedObjects(table) { now }
            }
            // The lock is not fair, and the kernel may wake a waiting thread on this thread's core, where it would wait
            // for the end of a time slice. On Linux 6.18, sched_yield(2) would cost one on a busy machine.
            if isAwaited { usleep(1) }
            return actions
        }
    }

    // MARK: - Receivers

    /// Publishes what is pending for the existing receivers, and adds another one with the current snapshot. Without
    /// effect after the end, and if `accept` returns `false`. Returns whether it was added.
    func add(_ receiver: some UpdateReceiver, if accept: (inout Storage) -> Bool = { _ in true }) -> Bool {
        let now = time.now
        let actions: Actions? = storage.withLock { storage in
            guard !storage.machine.isShutDown, accept(&storage) else { return nil }
            // Activities that ended earlier are for the existing receivers only.
            var actions = Actions(storage.machine.publishPending(at: now), storage)
            actions.receivers.append(receiver)
            storage.receivers.append(receiver)
            updateAudience(of: &storage)
            receiver.post(IndicatorUpdate(storage.machine.snapshot { now }))
            return actions
        }
        if let actions { perform(actions) }
        return actions != nil
    }

    func remove(_ receiver: some UpdateReceiver, from storage: inout Storage) {
        storage.receivers.removeAll { $0 === receiver }
        updateAudience(of: &storage)
    }

    private func updateAudience(of storage: inout Storage) {
        storage.machine.setAudience(storage.receivers.map(\.audience).max() ?? .nobody)
    }

    // MARK: - Settings

    package func setEnabled(_ isEnabled: Bool) {
        let now = time.now
        change { machine, _ in machine.setEnabled(isEnabled, at: now) }
    }

    /// Whether the engine is closed or shut down.
    package var isClosed: Bool { read { machine, _ in machine.isShutDown } }

    package var isEnabled: Bool { counter.phase != nil }

    package var delays: IndicatorDelays {
        get { read { machine, _ in machine.delays } }
        set {
            let now = time.now
            change { machine, _ in machine.setDelays(newValue, at: now) }
        }
    }

    // MARK: - Resources of the manager

    package func keep(_ resource: some ManagerResource) {
        let isShutDown = storage.withLock { storage in
            if !storage.machine.isShutDown { storage.resources.append(resource) }
            return storage.machine.isShutDown
        }
        if isShutDown { Self.end(resource) }
    }

    /// Removes a resource, which the caller retains: it is not deallocated with the lock held.
    func forget(_ resource: some ManagerResource) {
        storage.withLock { $0.resources.removeAll { $0 === resource } }
    }

    package func keptResource<Resource: ManagerResource>(_ type: Resource.Type) -> Resource? {
        storage.withLock { $0.resources }.lazy.compactMap { $0 as? Resource }.first
    }
}

/// Keeps an engine open. Containers and activities hold one; when the last of them is released, the engine closes.
@usableFromInline
package class EngineLease: @unchecked Sendable {
    // `@unchecked`: it and its subclass have only constants.

    @usableFromInline package final let engine: IndicatorEngine
    /// That of the engine: one indirection less.
    @usableFromInline final let counter: ActivityCounter
    private final let closer: EngineCloser

    fileprivate init(_ closer: EngineCloser) {
        self.closer = closer
        engine = closer.engine
        counter = engine.counter
    }

    /// Calls a function with the engine, without a retain: the lease retains it, and another one is measurable.
    @inlinable @inline(__always) @discardableResult
    final func withEngine<Result>(_ body: (IndicatorEngine) -> Result) -> Result {
        Unmanaged.passUnretained(engine)._withUnsafeGuaranteedRef(body)
    }
}

/// The lease of a container, in which activities begin.
@usableFromInline
package final class ContainerLease: EngineLease, @unchecked Sendable {
    /// The leases of the activities: threads that retain and release the same object wait for each other.
    @usableFromInline let shares: [EngineLease]

    /// How many there are.
    @usableFromInline static var shareCount: Int { 8 }

    init(_ engine: IndicatorEngine) {
        let closer = EngineCloser(engine: engine)
        shares = (0..<Self.shareCount).map { _ in EngineLease(closer) }
        super.init(closer)
    }

    /// The index of a share, which differs for most threads: their stacks follow each other, by default with 8 MiB.
    @inlinable @inline(__always)
    static func shareIndex() -> Int {
        let variable: UInt8 = 0
        return withUnsafePointer(to: variable) { Int(bitPattern: $0) >> 23 } & (shareCount - 1)
    }
}

/// Closes an engine when its last lease is released.
private final class EngineCloser: Sendable {
    let engine: IndicatorEngine

    init(engine: IndicatorEngine) {
        self.engine = engine
    }

    deinit { engine.close() }
}
