import Foundation
import HTTPTypes
import IndicatorCore

/// A request in progress, returned by ``NetworkClient/start(_:onProgress:)``.
///
/// The task is the `object` of the indicator's notifications, also for requests by other functions of the client. It
/// posts each of them once and in order: its beginning, and those of ``suspend()`` and ``resume()``, in the Swift task
/// that makes the call, its end in the one that waits or reads a stream, where observers must not block; progress on
/// threads for that purpose. What an observer is too slow for is left out, except the latest. A task is thread-safe.
public final class NetworkTask: Sendable {
    private enum Phase {
        /// Not started.
        case waiting
        /// What was announced last.
        case running, suspended, completed
    }

    private struct State {
        var phase = Phase.waiting
        var label: String
        var progress = TransferProgress()
        /// How many bytes were announced last.
        var announced: Int64 = 0
        /// Whether the event of progress that waits includes a notification; `nil` while there is none.
        var unseen: Bool?
        /// Whether it was announced that the request waits before a retry.
        var isWaiting = false
        var isCancelled = false
        var transfer: Transfer?
        /// The work that ``NetworkTask/start(_:)`` has begun.
        var response: Task<NetworkResponse, any Error>?
        /// Cancels the function of the app that the request waits for.
        var cancelCall: (@Sendable () -> Void)?
    }

    let request: Endpoint
    let url: Result<URL, any Error>
    private let observers: RequestObservers
    /// Contains this task until it ends.
    private let tasks: LiveTasks
    private let label: String
    private let state: Locked<State>
    /// Events are added with the lock of the state held, which keeps their order.
    private let events = EventQueue()

    init(
        _ route: some RequestRoute,
        in container: ActivityContainer? = nil,
        of client: NetworkClient,
        _ onProgress: (@Sendable (TransferProgress) -> Void)?
    ) {
        let request = route.request
        url = Result { try request.url(relativeTo: route.baseURL) }
        let path = (try? url.get().path(percentEncoded: false)) ?? request.path.encoded
        label = (request.label ?? "\(request.method.rawValue) \(path.isEmpty ? "/" : path)").withoutControls
        self.request = request
        observers = RequestObservers(container: container, center: client.center, onProgress: onProgress)
        tasks = client.tasks
        state = Locked(State(label: label))
        tasks.all.withLock { $0[ObjectIdentifier(self)] = self }
    }

    /// The method of the last exchange, which a redirect may have changed.
    var lastMethod: HTTPRequest.Method? { state.withLock { $0.transfer?.request.method } }

    /// The progress of the request.
    public var progress: TransferProgress { state.withLock { $0.progress } }

    /// Waits for the response of a request that ``NetworkClient/start(_:onProgress:)`` has begun. Cancelling the Swift
    /// task that waits does not cancel the request.
    ///
    /// - Throws: as ``NetworkClient/send(_:in:onProgress:)``, and `CancellationError` for other requests.
    public var response: NetworkResponse {
        get async throws {
            guard let work = state.withLock({ $0.response }) else { throw CancellationError() }
            return try await work.value
        }
    }

    /// Pauses the request: no more of its body and the response's is transferred. No effect after its end.
    public func suspend() {
        announce(here: true) { state in
            guard state.phase == .running else { return nil }
            state.phase = .suspended
            return { [self] in observers.suspend(self) }
        }
        passOnPause()
    }

    /// Resumes a paused request.
    public func resume() {
        announce(here: true, begin)
        passOnPause()
    }

    /// Cancels the request: what waits for it throws a `CancellationError`. No effect after its end.
    public func cancel() {
        let (cancelCall, transfer) = state.withLock { state in
            if state.phase != .completed { state.isCancelled = true }
            return (state.cancelCall, state.transfer)
        }
        cancelCall?()
        transfer?.cancel()
    }

    // MARK: - The client

    /// Starts the request.
    func start(_ send: @escaping @Sendable () async throws -> NetworkResponse) {
        // Announces the start before a caller can pause or cancel the task.
        announce(here: true, begin)
        let work = Task { try await run(send) }
        state.withLock { $0.response = work }
    }

    /// Makes the request, and waits. Unless `isEnd`, it continues after the return.
    func run<Value>(isEnd: Bool = true, _ send: () async throws -> Value) async throws -> Value {
        let isNew = state.withLock { $0.phase == .waiting }
        if Task.isCancelled { cancel() } else if isNew { announce(here: true, begin) }
        do {
            return try await withTaskCancellationHandler {
                try checkCancellation()
                let value = try await send()
                if isEnd { await end(.succeeded) }
                return value
            } onCancel: {
                cancel()
            }
        } catch {
            await end(ActivityOutcome(error))
            throw error
        }
    }

    /// Calls functions of the app, in a Swift task that ends early when the request is cancelled.
    func call<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let work = Task { try await body() }
        let isCancelled = state.withLock { state in
            state.cancelCall = { work.cancel() }
            return state.isCancelled
        }
        defer { _ = state.withLock { $0.cancelCall.take() } }
        if isCancelled { work.cancel() }
        return try await work.value
    }

    /// Announces the end in the current Swift task, and waits until the observers of all events have returned.
    func end(_ outcome: ActivityOutcome) async {
        await withCheckedContinuation { complete(outcome, $0) }
    }

    /// Announces the end; without a waiter, on another thread.
    func complete(_ outcome: ActivityOutcome, _ waiter: CheckedContinuation<Void, Never>? = nil) {
        announce(here: waiter != nil) { state in
            if state.phase != .completed {
                (state.phase, state.transfer) = (.completed, nil)
                events.add { [self] in
                    let (progress, announced) = self.state.withLock { ($0.progress, $0.announced) }
                    let (count, total) = progress.shown
                    if count == total, count != announced { observers.show(self, progress) }
                    observers.end(self, outcome)
                }
            }
            guard let waiter else { return nil }
            return { waiter.resume() }
        }
        _ = tasks.all.withLock { $0.removeValue(forKey: ObjectIdentifier(self)) }
    }

    /// Writes to the app's log, if there is one.
    func write(to log: ExchangeLog?, _ text: String = "", _ headers: HTTPFields = [:]) {
        if let log { announce { _ in { log.write(text, headers) } } }
    }

    /// Throws when the request or the current Swift task was cancelled.
    func checkCancellation() throws {
        if Task.isCancelled || state.withLock({ $0.isCancelled }) { throw CancellationError() }
    }

    /// Sets the current transfer, and starts it unless the task is suspended.
    func attach(_ transfer: Transfer) {
        state.withLock { $0.transfer = transfer }
        // An interceptor need not look.
        if (try? checkCancellation()) == nil { transfer.cancel() } else { passOnPause() }
    }

    /// Starts or pauses the transfer. Repeats this if the state has changed meanwhile.
    private func passOnPause() {
        var last: Bool?
        while true {
            let (transfer, isSuspended) = state.withLock { ($0.transfer, $0.phase == .suspended) }
            guard let transfer, isSuspended != last else { return }
            transfer.setSuspended(isSuspended)
            last = isSuspended
        }
    }

    /// Resets the progress, also before a retry.
    func willRepeat(retry: (number: Int, count: Int)? = nil) {
        announce { state in
            if let retry { state.label = "\(label), retry \(retry.number) of \(retry.count)" }
            state.progress = TransferProgress(bytesToSend: state.progress.bytesToSend)
            state.announced = 0
            return change(&state, isWaiting: retry != nil)
        }
    }

    func progressed(_ update: (inout TransferProgress) -> Void) {
        announce { state in
            update(&state.progress)
            if state.isWaiting { return change(&state, isWaiting: false) }
            let (count, total) = state.progress.shown
            let step = total.map { max(1, $0 / 100) } ?? 1 << 18
            // The last bytes of a response are announced with the end, which follows, and so is a body that was sent
            // at once: nobody knows how much of it has arrived.
            let isLast = count == total && (state.progress.bytesToSend == 0 || state.announced == 0)
            let isNew = count >= state.announced + step || (count == total && count != state.announced)
            let isPosted = state.phase == .running && isNew && !isLast
            if isPosted { state.announced = count }
            guard isPosted || observers.onProgress != nil else { return nil }
            defer { state.unseen = isPosted || state.unseen == true }
            guard state.unseen == nil else { return nil }
            return { [self] in
                let (progress, isPosted) = self.state.withLock { ($0.progress, $0.unseen.take() == true) }
                if isPosted { observers.show(self, progress) }
                observers.onProgress?(progress)
            }
        }
    }

    private func begin(_ state: inout State) -> EventQueue.Event? {
        guard state.phase == .waiting || state.phase == .suspended else { return nil }
        state.phase = .running
        return { [self, label = state.label] in observers.begin(self, label) }
    }

    /// The event of a change, which includes the progress.
    private func change(_ state: inout State, isWaiting: Bool) -> EventQueue.Event? {
        state.isWaiting = isWaiting
        guard state.phase == .running else { return nil }
        state.announced = state.progress.shown.count
        return { [self, label = state.label] in
            let progress = progress
            observers.show(self, progress, label, isWaiting)
            observers.onProgress?(progress)
        }
    }

    /// Changes the state, and posts the event on another thread, or on this one.
    private func announce(here isHere: Bool = false, _ change: (inout State) -> EventQueue.Event?) {
        state.withLock { state in
            if let event = change(&state) { events.add(event) }
        }
        events.post(here: isHere)
    }
}

/// The requests of a client that have not ended.
final class LiveTasks: Sendable {
    let all = Locked<[ObjectIdentifier: NetworkTask]>([:])
}
