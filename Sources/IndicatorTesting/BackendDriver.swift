public import IndicatorCore

/// Gives a backend its updates one at a time, without an indicator, for the tests of that backend.
///
/// ```swift
/// let led = BackendDriver(LED(path: path))
/// try await led.start()
/// try await led.update(IndicatorSnapshot(state: .active, activityCount: 1))
/// #expect(try String(contentsOfFile: path) == "1")
/// await led.stop()
/// ```
///
/// Unlike an indicator, it does not repeat what fails, and each update is delivered as it is.
/// ``BackendCompatibility`` tests a backend with an indicator.
public final class BackendDriver<Backend: IndicatorBackend>: Sendable {
    /// The backend.
    public let backend: Backend
    private let source: DriverSource

    /// Makes a driver. Calls nothing.
    ///
    /// - Parameters:
    ///   - backend: the backend.
    ///   - indicator: the indicator whose control the backend gets; `nil` for one that does nothing.
    public init(_ backend: Backend, indicator: IndicatorManager? = nil) {
        self.backend = backend
        let thread = backend.delivery.thread?.thread ?? ServiceThread(name: "ind-driver", idleTime: .zero)
        source = DriverSource(control: IndicatorControl(indicator?.engine), thread: thread)
    }

    /// Calls the backend's function, and returns when it asks for the first update. If it runs already, waits for that.
    ///
    /// - Throws: what the function throws, also later than here.
    public func start() async throws {
        if isRunning { return try await source.settle() }
        let attempt = source.begin()
        Task.detached(executorPreference: source.thread) { [backend, source] in
            let result: Result<Void, any Error>
            do { result = .success(try await backend.show(IndicatorUpdates(from: source, attempt: attempt))) } catch {
                result = .failure(error)
            }
            source.change { $0.result = result }
        }
        try await source.settle()
    }

    /// Whether the function has been called and has not returned.
    public var isRunning: Bool { source.isRunning }

    /// Gives it an update, and returns when it asks for the next one. Starts it if it does not run.
    ///
    /// - Throws: what the function throws.
    public func update(_ update: IndicatorUpdate) async throws {
        if isRunning { try await source.settle() } else { try await start() }
        source.change { state in
            // Periods are counted as by an indicator.
            if update.snapshot.isVisible == state.period.isMultiple(of: 2) { state.period += 1 }
            state.next = update
            if update.snapshot.period == 0 { state.next?.snapshot.period = state.period }
        }
        try await source.settle()
    }

    /// Gives it an update that consists of a snapshot.
    public func update(_ snapshot: IndicatorSnapshot) async throws { try await update(IndicatorUpdate(snapshot)) }

    /// Announces the end; see `IndicatorUpdates.isEnding`.
    public func announceEnd() { source.change { $0.isEnding = true } }

    /// Ends the updates, and returns when the function has returned.
    public func stop() async {
        source.change { state in (state.isEnding, state.isOver) = (true, true) }
        try? await source.settle(untilReturned: true)
    }
}

/// The updates of a driver. As in a runner, what waits for it is resumed without the lock.
private final class DriverSource: UpdateSource {
    struct State: Sendable {
        /// How the last call of the function has ended; `nil` while it runs.
        var result: Result<Void, any Error>? = .success(())
        var attempt = 0
        /// The update to deliver.
        var next: IndicatorUpdate?
        var period = 0
        var isEnding = false
        var isOver = false
        var isWoken = false
        var waiter: (continuation: CheckedContinuation<IndicatorEvent?, Never>, asks: Bool)?
        var settlers: [(continuation: CheckedContinuation<Void, Never>, untilReturned: Bool)] = []

        /// What the backend gets that waits.
        mutating func takeEvent() -> (continuation: CheckedContinuation<IndicatorEvent?, Never>, IndicatorEvent?)? {
            guard let waiter else { return nil }
            if exchange(&isWoken, with: false) { return (waiter.continuation, .due) }
            if waiter.asks, let update = next.take() { return (waiter.continuation, .update(update)) }
            if waiter.asks ? isOver : isEnding { return (waiter.continuation, nil) }
            return nil
        }
    }

    let control: IndicatorControl
    let thread: ServiceThread
    private let state = Locked(State())

    init(control: IndicatorControl, thread: ServiceThread) { (self.control, self.thread) = (control, thread) }

    var isRunning: Bool { state.withLock { $0.result == nil } }

    func begin() -> Int {
        state.withLock { state in
            (state.result, state.next, state.isEnding, state.isOver, state.isWoken) = (nil, nil, false, false, false)
            state.attempt += 1
            return state.attempt
        }
    }

    func change(_ body: (inout State) -> Void) {
        let (event, settlers) = state.withLock { state in
            body(&state)
            let event = state.takeEvent()
            if event != nil { state.waiter = nil }
            let (isDone, isIdle) = (state.result != nil, state.waiter?.asks == true && state.next == nil)
            let settlers = state.settlers.filter { isDone || isIdle && !$0.untilReturned }
            if !settlers.isEmpty { state.settlers.removeAll { isDone || isIdle && !$0.untilReturned } }
            return (event, settlers)
        }
        if let (waiter, event) = event { thread.call(at: .min) { waiter.resume(returning: event) } }
        for settler in settlers { settler.continuation.resume() }
    }

    /// Returns when the backend waits for an update, or throws the error of the function that has returned.
    func settle(untilReturned: Bool = false) async throws {
        await withCheckedContinuation { continuation in
            change { $0.settlers.append((continuation, untilReturned)) }
        }
        try state.withLock { $0.result }?.get()
    }

    func wait(_ attempt: Int, asks: Bool) async -> IndicatorEvent? {
        guard state.withLock({ $0.attempt == attempt }) else { return nil }
        return await withCheckedContinuation { continuation in change { $0.waiter = (continuation, asks) } }
    }

    func wake(_ attempt: Int) { change { if $0.attempt == attempt { $0.isWoken = true } } }

    func consume(_ attempt: Int) {}

    func isEnding(_ attempt: Int) -> Bool { state.withLock { $0.isEnding || $0.attempt != attempt } }

    /// Ends the waiting, so that the function throws.
    func reportUnavailable(_ reason: String, _ attempt: Int) -> Duration {
        change { $0.isEnding = true }
        return .zero
    }
}
