import Synchronization
import TestSupport

/// Foreign code that runs during a call: cancellation handlers, `deinit`s, executors, backends that call back.
///
/// Each of these has caused a deadlock or a crash. The time limit ends a test that hangs.
@Suite(.timeLimit(.minutes(15))) struct ReentrancyTests {
    @Test func `Cancellation handlers call the indicator`() async throws {
        let managers = [IndicatorManager(delays: .zero), IndicatorManager(delays: .zero)]
        for round in 0..<300 {
            let tasks = (0..<2).map { index in
                Task {
                    await withTaskCancellationHandler {
                        // Follows the indicator that the other task's handler changes.
                        for await _ in managers[index].snapshots {}
                    } onCancel: {
                        managers[1 - index].start(round, label: "cancelled")
                        managers[1 - index].stop(round)
                    }
                }
            }
            await Task.yield()
            let threads = tasks.map { task in JoinableThread { task.cancel() } }
            for thread in threads { await thread.join() }
            for task in tasks { await task.value }
        }
        #expect(managers.allSatisfy { $0.activityCount == 0 })
    }

    /// An identity whose last reference the indicator holds.
    private final class Reference: Sendable, Hashable {
        private let number: Int
        private let onDeinit: @Sendable () -> Void

        init(_ number: Int, onDeinit: @escaping @Sendable () -> Void) {
            self.number = number
            self.onDeinit = onDeinit
        }

        static func == (left: Reference, right: Reference) -> Bool { left.number == right.number }
        func hash(into hasher: inout Hasher) { hasher.combine(number) }
        deinit { onDeinit() }
    }

    /// In the first table, and in others. A table that replaced the key would release it under the lock.
    @Test(arguments: [0, 2000]) func `An identity that is started again is kept`(others: Int) {
        let manager = IndicatorManager()
        for number in 0..<others { manager.start(Reference(number + 2) {}) }
        let released = Locked<[Int]>([])
        for number in [1, 2] {
            manager.start(
                Reference(1) { [weak manager] in
                    manager?.incrementActivityCount()
                    manager?.decrementActivityCount()
                    released.withLock { $0.append(number) }
                }
            )
        }
        #expect(released.withLock { $0 } == [2])
        #expect(manager.activityCount == others + 1)
        manager.stop(Reference(1) {})
        #expect(released.withLock { $0 } == [2, 1])
    }

    /// The queue of actions waited for it: with it all deliveries, and the end.
    @Test func `A deinit that blocks delays neither other threads nor the shutdown`() async throws {
        let backend = InMemoryBackend()
        let manager = IndicatorManager(delays: .zero)
        #expect(manager.addBackend(backend))
        let isReleasing = Atomic(false)
        let semaphore = DispatchSemaphore(value: 0)
        manager.start(
            Reference(1) {
                isReleasing.store(true, ordering: .relaxed)
                semaphore.wait()
            }
        )
        let thread = JoinableThread { manager.stop(Reference(1) {}) }
        #expect(await eventually { isReleasing.load(ordering: .relaxed) && !backend.isVisible })
        let count = backend.snapshots.count
        manager.start("work")
        #expect(await eventually { backend.snapshots.count > count })
        await manager.shutdown()
        #expect(backend.stopCount == 1)
        semaphore.signal()
        await thread.join()
    }

    /// A `deinit` that the closure of an observation releases.
    @Test func `An observation that blocks when it is released does not delay the shutdown`() async throws {
        let manager = IndicatorManager(delays: .zero)
        let semaphore = DispatchSemaphore(value: 0)
        func observe() {
            let reference = Reference(1) { semaphore.wait() }
            let notifications = TaskNotifications(
                starts: [.indicatorTaskDidResume],
                stops: [.indicatorTaskDidComplete],
                label: { _ in "\(ObjectIdentifier(reference))" }
            )
            manager.observe(notifications, in: NotificationCenter())
        }
        observe()
        await manager.shutdown(timeLimit: .seconds(2))
        semaphore.signal()
    }

    /// It stopped all timers of the process, and later those of the indicator that had observed it.
    @Test func `An object that blocks in its deinit delays no timer`() async throws {
        let delays = try IndicatorDelays(startDelay: .milliseconds(1), completionDelay: .zero)
        let manager = IndicatorManager(delays: delays)
        let other = IndicatorManager(delays: try IndicatorDelays(startDelay: .milliseconds(1)))
        let center = NotificationCenter()
        manager.observe(.indicator, in: center)
        manager.lifetimeCheckInterval = .milliseconds(1)
        let isReleasing = Atomic(false)
        let semaphore = DispatchSemaphore(value: 0)
        // On a thread of its own, which releases the task if several tests observe: see `ActivityObject.Role`.
        let thread = JoinableThread {
            let task = Reference(1) {
                isReleasing.store(true, ordering: .relaxed)
                semaphore.wait()
            }
            center.post(name: .indicatorTaskDidResume, object: task)
        }
        #expect(await eventually { isReleasing.load(ordering: .relaxed) })
        for manager in [manager, other] {
            manager.start("work")
            #expect(await eventually { manager.isVisible })
        }
        await manager.shutdown()
        semaphore.signal()
        await thread.join()
    }

    /// They were called with the lock held: a snapshot that one read never came, or ended the process.
    @Test func `Closures that change details use the indicator`() throws {
        let manager = IndicatorManager(delays: .zero)
        let center = NotificationCenter()
        manager.observe(
            TaskNotifications(
                starts: [.indicatorTaskDidResume],
                stops: [.indicatorTaskDidComplete],
                updates: [.indicatorTaskDidProgress],
                update: { $1.label = "observed \(manager.snapshot.activityCount)" }
            ),
            in: center
        )
        let activity = manager.begin("work")
        activity.update { $0.label = "\($0.label ?? "") \(manager.snapshot.activityCount)" }
        #expect(activity.label == "work 1")
        let bare = ManagedActivity(in: manager)
        bare.labelWithCount = manager
        #expect(bare.label == "2 activities")
        manager.start("id")
        manager.update("id") { details in
            details.label = "\(manager.activityCount)"
            manager.stop("id")
            manager.start("id", label: "its successor")
        }
        #expect(manager.snapshot.activities.map(\.label) == ["work 1", "2 activities", "its successor"])
        let task = NSObject()
        center.post(name: .indicatorTaskDidResume, object: task)
        center.post(name: .indicatorTaskDidProgress, object: task)
        #expect(manager.snapshot.activities.last?.label == "observed 4")
    }

    /// The closure changes a copy.
    @Test func `What a closure does not change is kept`() throws {
        let manager = IndicatorManager(delays: .zero)
        let activity = ManagedActivity("work", total: 10, in: manager)
        activity.update { details in
            details.completed += 1
            details.attention = "Passphrase?"
            details.unit = .bytes
            details.failsWithMembers = true
            activity.update {
                $0.label = "changed meanwhile"
                $0.completed += 2
            }
            activity.progress = 0.5
            activity.total = 20
            activity.advance(by: 4)
        }
        #expect(activity.label == "changed meanwhile" && activity.attention == "Passphrase?")
        #expect((activity.completed, activity.progress, activity.total, activity.unit) == (7, 0.5, 20, .bytes))
        #expect(activity.failsWithMembers)
    }

    @Test func `An executor uses the indicator when a continuation is resumed`() async throws {
        let manager = IndicatorManager(delays: .zero)
        let executor = ObservedExecutor {
            manager.start("executor", label: "enqueued")
            manager.stop("executor")
        }
        let consumer = Task(executorPreference: executor) {
            var count = 0
            for await _ in manager.snapshots {
                count += 1
                if count == 100 { break }
            }
            return count
        }
        await whileRepeating({ _ in manager.begin("work").end() }) { #expect(await consumer.value == 100) }
    }

    @Test func `A backend calls the indicator from every method`() async throws {
        let manager = IndicatorManager(delays: .zero)
        let calls = Atomic(0)
        @Sendable func call() {
            // Each call is an update, to which the backend responds with another one.
            guard calls.wrappingAdd(1, ordering: .relaxed).newValue < 1000 else { return }
            manager.start("backend")
            _ = (manager.snapshot, manager.backendStatuses)
            manager.stop("backend")
        }
        let backend = ScriptedBackend(onStart: { _ in call() }, onUpdate: { _ in call() }, onStop: { call() })
        #expect(manager.addBackend(backend))
        let work = manager.begin("work")
        #expect(await eventually { backend.updates.count > 0 })
        work.end()
        await manager.removeBackend(named: backend.name)
        #expect(backend.stopCount == 1 && manager.activityCount == 0)
    }

    /// Objects and identities also call back when they are released.
    @Test func `Backends are added and removed while the indicator changes`() async throws {
        let manager = IndicatorManager(delays: .zero)
        await whileRepeating(on: 2) { number in
            manager.start(number, label: "work")
            manager.track(Reference(number) { [weak manager] in manager?.begin("released").end() })
            manager.start(Reference(number) { [weak manager] in manager?.begin("released").end() })
            manager.stop(Reference(number) { [weak manager] in manager?.begin("released").end() })
            manager.stop(number)
        } _: {
            for round in 0..<50 {
                let backend = InMemoryBackend(name: "\(round % 3)")
                #expect(manager.addBackend(backend))
                #expect(await eventually { backend.startCount == 1 })
                await manager.removeBackend(named: backend.name)
                #expect(backend.stopCount == 1 && !backend.isVisible)
            }
        }
        await manager.shutdown()
        #expect(manager.backendStatuses.isEmpty)
    }

    /// The indicator works until the last activity has ended, and then closes once.
    @Test func `The manager is released while activities end on many threads`() async throws {
        for _ in 0..<200 {
            let backend = InMemoryBackend(delivery: BackendDelivery())
            weak var weakManager: IndicatorManager?
            let threads: [JoinableThread]
            do {
                let manager = IndicatorManager(delays: .noStart, backends: [backend])
                weakManager = manager
                threads = (0..<3).map { number in
                    let activity = ManagedActivity(number == 0 ? "work" : nil, in: manager)
                    return JoinableThread {
                        activity.label = "late"
                        activity.end()
                        activity.label = "too late"
                        activity.end(.cancelled)
                    }
                }
            }
            for thread in threads { await thread.join() }
            #expect(weakManager == nil)
            #expect(await eventually { (backend.stopCount == 1 || backend.startCount == 0) && !backend.isVisible })
        }
    }
}

extension ActivityDetails {
    /// A custom property that uses the indicator.
    fileprivate var labelWithCount: IndicatorManager? {
        get { nil }
        set { label = newValue.map { "\($0.snapshot.activityCount) activities" } }
    }
}
