import Logging

extension IndicatorManager {
    // MARK: - Backends

    /// Adds a surface and starts it, without waiting for that. Its progress shows in ``backendStatuses``.
    ///
    /// - Returns: whether it was added. It is not, and an error is logged, when the manager has one of that name or was shut
    ///   down.
    @discardableResult
    public func addBackend(_ backend: any IndicatorBackend) -> Bool {
        let runner = BackendRunner(backend: backend, time: time, logger: logger)
        backend.attach(
            to: IndicatorControl(
                setEnabled: { [weak self] in self?.isEnabled = $0 },
                retry: { [weak runner] in runner?.retry() },
                surfaceWasLost: { [weak runner] in runner?.surfaceWasLost($0) }
            )
        )
        let refusal: String? = core.withLock { core in
            if core.isShutDown { return "the indicator was shut down" }
            if core.publisher.runners.contains(where: { $0.name == runner.name }) {
                return "there is one of that name already; give each backend a name of its own"
            }
            word.watch()
            core.publisher.add(runner, first: snapshot(of: core), at: time.now)
            core.publisher.watchCount(word)
            return nil
        }
        if let refusal {
            logger.error("The backend '\(backend.name)' was not added: \(refusal)")
            return false
        }
        runner.run()
        return true
    }

    /// Removes a surface: it is hidden and stopped.
    ///
    /// - Parameters:
    ///   - name: the backend's name; without effect when there is none of that name.
    ///   - timeLimit: how long to wait for a call to it that does not return, before it is left to itself. Default 2 seconds.
    public func removeBackend(named name: String, timeLimit: Duration = .seconds(2)) async {
        let runner: BackendRunner? = core.withLock { core in
            guard let runner = core.publisher.runners.first(where: { $0.name == name }) else { return nil }
            core.publisher.remove(runner)
            return runner
        }
        await runner?.finish(timeLimit: timeLimit)
    }

    /// How each backend is getting on, in the order in which they were added.
    public var backendStatuses: [BackendStatus] {
        core.withLock { $0.publisher.runners }.map(\.status)
    }

    // MARK: - Shutting down

    /// Hides the indicator for good and stops the backends: what they changed is restored, what they hold is flushed.
    ///
    /// Returns when all have stopped. A backend whose call does not return within the time limit is left to itself, so a surface
    /// that hangs costs the limit and no more. Activities may go on; they are counted and nothing else.
    ///
    /// - Parameter timeLimit: how long to wait for a call that does not return. Default 2 seconds. A backend that does return
    ///   and has much left to deliver is given 5 seconds in all.
    public func shutdown(timeLimit: Duration = .seconds(2)) async {
        let (runners, resources, observations, subscribers) = core.withLock { core in
            if !core.isShutDown {
                changeVisibility(&core) { core, now in
                    apply(core.machine.setEnabled(false, at: now), to: &core, at: now)
                    return true
                }
                refresh(&core, at: time.now)
                core.isShutDown = true
            }
            defer {
                core.resources = []
                core.observations = []
            }
            return (core.publisher.runners, core.resources, core.observations, core.publisher.removeSubscribers())
        }
        for observation in observations { observation.cancel() }
        for subscriber in subscribers { subscriber.finish() }
        await withTaskGroup { group in
            for runner in runners { group.addTask { await runner.finish(timeLimit: timeLimit) } }
            for resource in resources { group.addTask { await resource.managerWillShutDown() } }
        }
    }

    /// Keeps something until the manager is shut down or deallocated.
    package func keep(_ resource: some ManagerResource) {
        let isShutDown = core.withLock { core in
            if !core.isShutDown { core.resources.append(resource) }
            return core.isShutDown
        }
        if isShutDown { resource.managerIsGone() }
    }
}
