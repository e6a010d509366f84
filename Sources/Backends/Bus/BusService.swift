#if DBus
import Foundation
import IndicatorCore
import IndicatorThreads

/// A backend's use of one connection to a bus. Only used on the thread of its ``BusService``.
protocol BusSession: AnyObject {
    /// Prepares a new connection. Returns a description for the user, such as the name of the server.
    func begin(on loop: BusLoop) throws -> String

    /// Whether ``begin(on:)`` could succeed now, after it has thrown; `nil` if this connection cannot detect that.
    var canBeginAgain: Bool? { get }

    /// Handles a signal.
    func receive(_ signal: BusMessage)

    /// Updates what is shown. Called after every event.
    ///
    /// Returns when to call it even without an event. Throws if the indicator can no longer be shown.
    func update(on loop: BusLoop) throws -> ContinuousClock.Instant?

    /// Removes what is shown. Messages that are sent here are delivered before the connection is closed.
    func end(on loop: BusLoop)
}

extension BusSession {
    var canBeginAgain: Bool? { nil }

    func receive(_ signal: BusMessage) {}

    func update(on loop: BusLoop) throws -> ContinuousClock.Instant? { nil }

    func end(on loop: BusLoop) {}
}

/// One connection to a bus and the thread that serves it, from ``start()`` to ``stop()`` or to the loss of the bus.
///
/// Shares nothing with the rest of the process: the connection is private, `SIGPIPE` is blocked on the thread, and the
/// only descriptors are the socket and the wake-up.
final class BusService: Sendable {
    /// Makes the session for a connection. `latest` returns the latest snapshot; finished activities are returned once.
    typealias SessionMaker = @Sendable (_ latest: @escaping @Sendable () -> IndicatorSnapshot) -> any BusSession

    /// How long the bus or a peer may delay ``stop()``.
    private static let stopLimit = Duration.milliseconds(700)

    private struct State: Sendable {
        var snapshot: IndicatorSnapshot
        var summary: String?
        /// Why the service has ended.
        var fault: (any Error)?
        var hasEnded = false
        var starter: CheckedContinuation<String, any Error>?
        var stoppers: [CheckedContinuation<Void, Never>] = []
    }

    private let name: String
    private let address: String
    private let control: IndicatorControl
    private let makeSession: SessionMaker
    private let wakeUp: WakeUp
    private let state: Locked<State>

    /// - Parameters:
    ///   - name: the name of the thread; Linux shows the first 15 bytes.
    ///   - address: the address of the bus, checked.
    ///   - snapshot: the latest snapshot until the first ``publish(_:)``.
    ///   - control: the handle for reports that the bus was lost or that something missing has appeared.
    ///   - makeSession: makes the session, on the thread.
    init(
        name: String,
        address: String,
        snapshot: IndicatorSnapshot = IndicatorSnapshot(),
        control: IndicatorControl = IndicatorControl(),
        makeSession: @escaping SessionMaker
    ) throws(DBusPropertyError) {
        self.name = name
        self.address = address
        self.control = control
        self.makeSession = makeSession
        guard let wakeUp = SpareDescriptors.makeWakeUp() else {
            throw .noResources(reason: SpareDescriptors.problem)
        }
        self.wakeUp = wakeUp
        state = Locked(State(snapshot: snapshot))
    }

    /// Checks whether a session can begin, and ends it immediately. Returns the result of ``start()``.
    static func probe(address: String, makeSession: @escaping SessionMaker) async throws -> String {
        let service = try BusService(name: "ind-probe", address: address, makeSession: makeSession)
        do {
            let summary = try await service.start()
            await service.stop()
            return summary
        } catch {
            await service.stop()
            throw error
        }
    }

    /// The result of ``start()`` while the service runs.
    var summary: String? { state.withLock { $0.hasEnded ? nil : $0.summary } }

    /// Connects and prepares the connection. Must be called once.
    ///
    /// If it throws because of something that may appear later, the service continues to run and calls
    /// ``IndicatorControl/retry()`` when it has appeared. It must still be stopped.
    @discardableResult
    func start() async throws -> String {
        try await withCheckedThrowingContinuation { continuation in
            state.withLock { $0.starter = continuation }
            guard ThreadStarter.start(named: name, { self.run() }) else {
                return end(DBusPropertyError.noResources(reason: "could not create a thread"))
            }
        }
    }

    /// Passes a snapshot to the session, without waiting for it. If the service has ended, throws the reason.
    func publish(_ snapshot: IndicatorSnapshot) throws {
        let fault = state.withLock { state in
            var snapshot = snapshot
            snapshot.takeOverFinished(of: state.snapshot)
            state.snapshot = snapshot
            return state.fault
        }
        if let fault { throw fault }
        wakeUp.wake()
    }

    /// Ends the session. Returns immediately.
    func cancel() { wakeUp.stop() }

    /// Has the session show the last snapshot, and ends it. Returns when its messages are delivered, or after 0.7 s.
    func stop() async {
        cancel()
        await withCheckedContinuation { continuation in
            let hasEnded = state.withLock { state in
                if !state.hasEnded { state.stoppers.append(continuation) }
                return state.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }

    // MARK: - On the thread

    private func run() {
        let session = makeSession { [self] in
            state.withLock { state in
                defer { state.snapshot = state.snapshot.withoutFinished }
                return state.snapshot
            }
        }
        let loop: BusLoop
        do throws(BusError) {
            loop = try BusLoop(address: address, wakeUp: wakeUp) { session.receive($0) }
        } catch {
            return end(DBusPropertyError.unreachable(address: address, reason: error.description))
        }
        do {
            started(.success(try session.begin(on: loop)))
        } catch {
            return end(fault { try wait(for: session, on: loop, after: error) })
        }
        let fault = fault {
            while !wakeUp.isStopped {
                let deadline = try session.update(on: loop)
                try loop.turn(until: deadline)
            }
            _ = try session.update(on: loop)
        }
        session.end(on: loop)
        loop.settle(within: Self.stopLimit)
        end(fault)
        // No caller waits any more. The answer of a slow peer is still handled.
        loop.settle(within: .seconds(60))
    }

    /// The error that `body` throws, in a form for the user.
    private func fault(_ body: () throws -> Void) -> (any Error)? {
        do {
            try body()
            return nil
        } catch let error as BusError {
            return DBusPropertyError.lost(address: address, reason: error.description)
        } catch {
            return error
        }
    }

    /// Waits until the session can begin again.
    private func wait(for session: any BusSession, on loop: BusLoop, after error: any Error) throws {
        guard session.canBeginAgain != nil else { throw error }
        started(.failure(error))
        while let canBegin = session.canBeginAgain, !wakeUp.isStopped {
            // Repeated after a second: the backend may not be marked unavailable yet at the first call.
            if canBegin { control.retry() }
            try loop.turn(until: canBegin ? .now + .seconds(1) : nil)
        }
    }

    private func started(_ result: Result<String, any Error>) {
        let starter = state.withLock { state in
            state.summary = try? result.get()
            return state.starter.take()
        }
        starter?.resume(with: result)
    }

    private func end(_ fault: (any Error)?) {
        let (starter, stoppers, wasRunning) = state.withLock { state in
            state.hasEnded = true
            state.fault = fault
            defer { state.stoppers = [] }
            return (state.starter.take(), state.stoppers, state.summary != nil)
        }
        for stopper in stoppers { stopper.resume() }
        if let starter {
            starter.resume(
                throwing: fault ?? DBusPropertyError.lost(address: address, reason: BusError.cancelled.text)
            )
        } else if let fault, wasRunning, !wakeUp.isStopped {
            control.surfaceWasLost("\(fault)")
        }
    }
}

/// The common part of all bus backends: the handle, the latest snapshot, and one ``BusService`` at a time.
final class BusSurface: Sendable {
    private struct State: Sendable {
        var control = IndicatorControl()
        /// The latest snapshot, for the next bus after one was lost.
        var snapshot = IndicatorSnapshot()
        var service: BusService?
    }

    private let state = Locked(State())

    deinit {
        state.withLock { $0.service }?.cancel()
    }

    var summary: String? { state.withLock { $0.service }?.summary }

    func attach(to control: IndicatorControl) {
        state.withLock { $0.control = control }
    }

    /// Connects again. `makeSession` also gets the handle.
    func start(
        name: String,
        address: String,
        makeSession:
            @escaping @Sendable (IndicatorControl, @escaping @Sendable () -> IndicatorSnapshot) -> any BusSession
    ) async throws {
        // After a failed attempt, the previous service still waits for what was missing.
        await stop()
        let (control, snapshot) = state.withLock { ($0.control, $0.snapshot) }
        let service = try BusService(name: name, address: address, snapshot: snapshot, control: control) {
            makeSession(control, $0)
        }
        state.withLock { $0.service = service }
        try await service.start()
    }

    func update(_ snapshot: IndicatorSnapshot) throws {
        let service = state.withLock { state in
            state.snapshot = snapshot
            state.snapshot = state.snapshot.withoutFinished
            return state.service
        }
        try service?.publish(snapshot)
    }

    func stop() async {
        let service = state.withLock { $0.service.take() }
        await service?.stop()
    }
}
#endif
