import TestSupport

@Suite struct ConcurrencyTests {
    /// How often each thread does something. The stress target of the benchmarks does it much more often.
    private static let rounds = 1000

    private final class Object: Sendable {}

    /// The limit passed through the threads on which the app's code blocked.
    @Test func `An app whose code blocks everywhere delays neither a shutdown nor another indicator`() async throws {
        let gate = DispatchSemaphore(value: 0)
        let count = 24
        for _ in 0..<count { ServiceThread.foreignCode.call(at: .min) { gate.wait() } }
        defer { for _ in 0..<count { gate.signal() } }
        let surface = InMemoryBackend()
        let indicator = IndicatorManager(
            delays: try IndicatorDelays(startDelay: .milliseconds(1), completionDelay: .milliseconds(1)),
            backends: [surface]
        )
        let object = Object()
        indicator.track(object)
        #expect(await eventually { surface.snapshots.last?.isVisible == true })
        // It never ends by itself.
        indicator.engine.keep(StuckResource())
        await indicator.removeBackend(named: surface.name)
        await indicator.shutdown(timeLimit: .milliseconds(50))
        withExtendedLifetime(object) {}
    }

    private final class StuckResource: ManagerResource {
        func managerHasEnded() async { try? await Task.sleep(for: .seconds(3600)) }
    }

    @Test func `Many threads start and stop while others change the settings`() async throws {
        let surface = InMemoryBackend(
            delivery: BackendDelivery(includesHidden: true, animationInterval: .milliseconds(5))
        )
        let manager = IndicatorManager(
            delays: try IndicatorDelays(startDelay: .milliseconds(1), completionDelay: .milliseconds(1)),
            backends: [surface]
        )
        let center = NotificationCenter()
        manager.observe(.indicator, in: center)
        manager.lifetimeCheckInterval = .milliseconds(3)
        let workers = (0..<8).map { number in
            JoinableThread {
                for round in 0..<Self.rounds {
                    Self.work(manager, center, name: "\(number)-\(round % 5)", round: round)
                }
            }
        }
        let switcher = JoinableThread {
            for _ in 0..<Self.rounds { manager.isEnabled.toggle() }
            manager.isEnabled = true
        }
        let setter = JoinableThread {
            for round in 0..<Self.rounds {
                let microseconds = round * 100 % 2000
                manager.delays.startDelay = .microseconds(microseconds)
                manager.delays.completionDelay = .microseconds(2000 - microseconds)
                manager.delays.minimumVisibleTime = .microseconds(microseconds / 2)
            }
        }
        let reader = Task {
            var count = 0
            for await snapshot in manager.snapshots where snapshot.activityCount >= 0 { count += 1 }
            return count
        }
        for thread in workers + [switcher, setter] { await thread.join() }
        #expect(await eventually { manager.activityCount == 0 })
        #expect(await eventually { manager.state == .inactive })
        #expect(await eventually { surface.snapshots.last?.state == .inactive })
        #expect(manager.snapshot.label == nil)
        #expect(manager.snapshot.progress == nil)
        await manager.shutdown()
        #expect(await reader.value > 0)
    }

    private static func work(_ manager: IndicatorManager, _ center: NotificationCenter, name: String, round: Int) {
        switch round % 8 {
        case 0: manager.begin().end()
        case 1:
            let activity = manager.begin(name, progress: 0.5)
            activity.update { $0.progress = 0.75 }
        case 2:
            manager.start(name, label: name)
            manager.update(name) { $0.progress = 0.1 }
            manager.stop(name)
        case 3:
            manager.incrementActivityCount()
            manager.decrementActivityCount()
        case 4:
            let object = Object()
            center.post(name: .indicatorTaskDidResume, object: object)
            center.post(name: .indicatorTaskDidComplete, object: object)
        case 5: manager.track(Object(), label: name)
        case 6:
            let activity = ManagedActivity(in: manager)
            activity.update { $0.label = name }
            activity.end()
        default:
            _ = (manager.state, manager.isVisible, manager.activityCount, manager.snapshot, manager.backendStatuses)
        }
    }
}
