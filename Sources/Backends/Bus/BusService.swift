#if DBus
import Foundation
import IndicatorCore
import IndicatorThreads

/// What a backend does on a bus, for as long as one connection lasts. Used on the thread of its ``BusService`` only.
protocol BusSession: AnyObject {
    /// Prepares a new connection. Returns what the user reads about it, such as the name of the server.
    func begin(on loop: BusLoop) throws -> String

    /// Whether ``begin(on:)`` can succeed now, after it has thrown; `nil` when this connection cannot tell.
    var canBeginAgain: Bool? { get }

    /// Handles a signal.
    func receive(_ signal: BusMessage)

    /// Brings what is shown up to date. Called whenever anything has happened.
    ///
    /// Returns when it is to be called even if nothing happens. Throws when the indicator cannot be shown any more.
    func update(on loop: BusLoop) throws -> ContinuousClock.Instant?

    /// Restores everything. What is sent here is delivered before the connection is closed.
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
/// Nothing here is shared with the rest of the process: the connection is private, `SIGPIPE` is blocked on the thread,
/// and the only descriptors are the socket and the wake-up.
final class BusService: Sendable {
    /// Makes the session of a connection. It reads the latest snapshot with the function that it is given; what has
    /// finished is read once.
    typealias SessionMaker = @Sendable (_ latest: @escaping @Sendable () -> IndicatorSnapshot) -> any BusSession

    /// How long a bus or a peer may delay ``stop()``.
    private static let farewellLimit = Duration.milliseconds(700)

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
    private let wakeUp: BusWakeUp
    private let state: Locked<State>

    /// - Parameters:
    ///   - name: the name of the thread; Linux shows the first 15 bytes.
    ///   - address: the address of the bus, checked.
    ///   - snapshot: the latest until the first ``publish(_:)``.
    ///   - control: where the loss of the bus, and that something missing has appeared, is reported.
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
        do throws(BusError) { wakeUp = try BusWakeUp() } catch { throw .noResources(reason: error.text) }
        state = Locked(State(snapshot: snapshot))
    }

    /// Finds out whether a session can begin, and ends it at once. Returns what ``start()`` returns.
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

    /// What ``start()`` returned; `nil` before and after.
    var summary: String? { state.withLock { $0.hasEnded ? nil : $0.summary } }

    /// Connects and prepares the connection. Called once.
    ///
    /// If it throws because of something that may appear later, the service goes on, calls ``IndicatorControl/retry()``
    /// when it has appeared, and is to be stopped all the same.
    @discardableResult
    func start() async throws -> String {
        try await withCheckedThrowingContinuation { continuation in
            state.withLock { $0.starter = continuation }
            guard ThreadStarter.start(named: name, { self.run() }) else {
                return end(DBusPropertyError.noResources(reason: "could not create a thread"))
            }
        }
    }

    /// Has the session show `snapshot`, soon. Throws why the service has ended, if it has.
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

    /// Has the session end. Returns at once.
    func cancel() { wakeUp.stop() }

    /// Has the session show what was published last, and end. Returns when what it has sent is delivered, or after 0.7
    /// s.
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
        loop.settle(within: Self.farewellLimit)
        end(fault)
        // Nobody waits any more. A peer that is slow may still answer, and what its answer calls for is done.
        loop.settle(within: .seconds(60))
    }

    /// The error that `body` throws, as the user reads it.
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

    /// Waits for what a session needs and has not found.
    private func wait(for session: any BusSession, on loop: BusLoop, after error: any Error) throws {
        guard session.canBeginAgain != nil else { throw error }
        started(.failure(error))
        while let canBegin = session.canBeginAgain, !wakeUp.isStopped {
            // Again after a second: the first call may come before the backend counts as unavailable.
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

/// What every backend on a bus has: its handle, the latest snapshot, and one ``BusService`` after the other.
final class BusSurface: Sendable {
    private struct State: Sendable {
        var control = IndicatorControl()
        /// The latest snapshot, for the bus that comes after the one that is lost.
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

    /// Connects anew. `makeSession` is given the handle too.
    func start(
        name: String,
        address: String,
        makeSession:
            @escaping @Sendable (IndicatorControl, @escaping @Sendable () -> IndicatorSnapshot) -> any BusSession
    ) async throws {
        // The service of an attempt that failed waits for what was missing.
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
