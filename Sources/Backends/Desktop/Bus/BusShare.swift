import BackendConfiguration
import DisplayText
import Foundation
import IndicatorCore
import IndicatorThreads

/// A backend's use of a connection to a bus. Only used on the thread of the bus.
package protocol BusSession: AnyObject {
    /// Prepares the connection. Returns a description for the user, such as the name of the server.
    func begin(on bus: BusShare) async throws -> String

    /// Whether ``begin(on:)`` could succeed now, after it has thrown; `nil` if this connection cannot detect that.
    var canBeginAgain: Bool? { get }

    /// Handles a signal, which may be for another session.
    func receive(_ signal: BusMessage)

    /// Updates what is shown. Called after every event.
    ///
    /// Returns when to call it even without an event. Throws if the indicator can no longer be shown.
    func update(on bus: BusShare) throws -> SuspendingClock.Instant?

    /// Removes what is shown, and releases names. Messages that are sent here are delivered.
    func end(on bus: BusShare) async
}

extension BusSession {
    package var canBeginAgain: Bool? { nil }

    package func receive(_ signal: BusMessage) {}

    package func update(on bus: BusShare) throws -> SuspendingClock.Instant? { nil }

    package func end(on bus: BusShare) async {}
}

/// One session's part of a connection to a bus.
package final class BusShare: @unchecked Sendable {
    // `@unchecked`: only used on the thread of the bus.

    private enum Phase {
        case beginning
        case running
        /// ``BusSession/begin(on:)`` has thrown because of something that may appear later.
        case waiting
        /// ``end()`` has begun.
        case ending
        /// The replies to calls are still handled until this time.
        case ended(until: SuspendingClock.Instant)
        case left
    }

    /// How long the bus or a peer may delay ``end()``.
    private static let stopLimit = Duration.milliseconds(700)
    /// How long the answer of a slow peer is handled after ``end()``.
    private static let lingerLimit = Duration.seconds(60)

    let session: any BusSession
    let isExclusive: Bool
    private let bus: MessageBus
    private var connection: MessageBus.Connection?
    private let onLoss: (any Error) -> Void
    private let onAppearance: () -> Void
    private var phase = Phase.beginning
    /// Why the session can no longer be used.
    private var fault: (any Error)?
    /// When the next update, or attempt, is due.
    private var due: SuspendingClock.Instant?
    private var turnWaiters: [(end: SuspendingClock.Instant, continuation: CheckedContinuation<Void, Never>)] = []
    private var foreignWorkCount = 0
    private var rules: [String] = []
    private var servedPath: String?

    /// - Parameters:
    ///   - bus: the bus, on whose thread this is called.
    ///   - session: the session.
    ///   - isExclusive: whether it has a connection of its own.
    ///   - onLoss: called when it can no longer be used, outside of calls.
    ///   - onAppearance: called when what was missing has appeared.
    package init(
        on bus: MessageBus,
        session: any BusSession,
        isExclusive: Bool = false,
        onLoss: @escaping (any Error) -> Void = { _ in },
        onAppearance: @escaping () -> Void = {}
    ) {
        self.bus = bus
        self.session = session
        self.isExclusive = isExclusive
        self.onLoss = onLoss
        self.onAppearance = onAppearance
    }

    var sessionType: ObjectIdentifier { ObjectIdentifier(type(of: session)) }

    /// Whether the session has not ended.
    var isActive: Bool {
        switch phase {
        case .beginning, .running, .waiting: true
        case .ending, .ended, .left: false
        }
    }

    var deadline: SuspendingClock.Instant? {
        var deadlines = turnWaiters.map(\.end)
        if case .ended(let until) = phase { deadlines.append(until) } else if let due { deadlines.append(due) }
        return deadlines.min()
    }

    /// Connects and prepares the session.
    ///
    /// If it throws because of something that may appear later, it waits for that. It must still be ended.
    package func begin(at address: String) async throws -> String {
        let connection = try bus.join(self, address: address, isExclusive: isExclusive)
        self.connection = connection
        do {
            try await greet(connection)
            let summary = try await session.begin(on: self)
            guard isActive, connection.loop.isConnected else { throw BusError.disconnected }
            phase = .running
            return summary
        } catch {
            let error = readable(error)
            if isActive, session.canBeginAgain != nil, connection.loop.isConnected {
                phase = .waiting
                due = .now
            } else {
                leave()
            }
            throw error
        }
    }

    /// Waits until the bus has accepted the connection.
    private func greet(_ connection: MessageBus.Connection) async throws(BusError) {
        guard !connection.isReady else { return }
        // The bus answers in order, also after the `Hello` of another session.
        let isFirst = !connection.isGreeted
        connection.isGreeted = true
        let reply = try await callBus(isFirst ? "Hello" : "GetId")
        guard case .string(let name)? = reply.first else { throw .disconnected }
        if isFirst { try connection.loop.setUniqueName(name) }
        connection.isReady = true
    }

    /// The error in a form for the user.
    private func readable(_ error: any Error) -> any Error {
        guard let error = error as? BusError, let connection else { return error }
        let (address, reason) = (connection.loop.address, error.description)
        return connection.isReady
            ? MessageBusError.lost(address: address, reason: reason)
            : MessageBusError.unreachable(address: address, reason: reason)
    }

    /// Updates what is shown. Throws if the session can no longer be used.
    package func update() throws {
        if let fault { throw fault }
        guard case .running = phase else { return }
        do {
            due = try session.update(on: self)
        } catch {
            let error = readable(error)
            fault = error
            throw error
        }
    }

    /// Has the session show the last snapshot, and ends it. Returns when its messages are delivered, or after 0.7 s.
    package func end() async {
        guard isActive else { return }
        let isRunning = if case .running = phase { true } else { false }
        if isRunning, fault == nil { try? update() }
        (phase, due) = (.ending, nil)
        if isRunning {
            await session.end(on: self)
            await settle(within: Self.stopLimit)
        }
        phase = .ended(until: .now + Self.lingerLimit)
        if !isWorking { leave() }
    }

    func receive(_ signal: BusMessage) {
        if isActive { session.receive(signal) }
    }

    /// Called after every event.
    func refresh() {
        for waiter in exchange(&turnWaiters, with: []) { waiter.continuation.resume() }
        guard let connection else { return }
        switch phase {
        case .beginning, .ending, .left: return
        case .running:
            guard fault == nil else {
                // Otherwise the thread would not sleep until the session is ended.
                if !connection.loop.isConnected { leave() }
                return
            }
            do {
                guard connection.loop.isConnected else { throw BusError.disconnected }
                due = try session.update(on: self)
            } catch {
                let error = readable(error)
                (fault, due) = (error, nil)
                if !connection.loop.isConnected { leave() }
                onLoss(error)
            }
        case .waiting:
            guard connection.loop.isConnected else { return leave() }
            // Repeated after a second: the backend may not be marked unavailable yet at the first call.
            due = session.canBeginAgain == true ? .now + .seconds(1) : nil
            if due != nil { onAppearance() }
        case .ended(let until):
            if !isWorking || until <= .now || !connection.loop.isConnected { leave() }
        }
    }

    private func leave() {
        phase = .left
        due = nil
        for waiter in exchange(&turnWaiters, with: []) { waiter.continuation.resume() }
        guard let connection = connection.take() else { return }
        connection.loop.cancelCalls(of: self)
        if let servedPath { connection.loop.serve(path: servedPath, nil) }
        for rule in rules { connection.loop.send(BusLoop.busCall("RemoveMatch", [.string(rule)], expectsReply: false)) }
        bus.leave(self, connection)
    }

    // MARK: - For the session

    /// Whether calls wait for a reply, or work on other threads has not ended.
    private var isWorking: Bool { foreignWorkCount > 0 || connection?.loop.hasCalls(of: self) == true }

    /// Calls a method of the bus itself.
    @discardableResult
    package func callBus(_ member: String, _ arguments: [BusValue] = []) async throws(BusError) -> [BusValue] {
        try await call(BusLoop.busCall(member, arguments))
    }

    /// Receives the signals that match a rule, until the session ends.
    package func addMatch(_ rule: String) async throws(BusError) {
        rules.append(rule)
        try await callBus("AddMatch", [.string(rule)])
    }

    /// Calls a method and suspends until the reply.
    package func call(_ message: BusMessage?, timeLimit: Duration = .seconds(3)) async throws(BusError) -> [BusValue] {
        let result = await withCheckedContinuation { continuation in
            call(message, within: timeLimit) { continuation.resume(returning: $0.map(\.arguments)) }
        }
        return try result.get()
    }

    /// Calls a method. The reply arrives later.
    package func call(
        _ message: BusMessage?,
        within timeLimit: Duration?,
        completion: @escaping (Result<BusMessage, BusError>) -> Void
    ) {
        guard let loop = connection?.loop else { return completion(.failure(.disconnected)) }
        loop.call(message, by: self, within: timeLimit, completion: completion)
    }

    /// Queues a message in memory until the bus accepts it.
    func send(_ message: BusMessage?) { connection?.loop.send(message) }

    /// The number of unsent bytes.
    var outgoingBytes: Int { connection?.loop.outgoingBytes ?? 0 }

    /// Serves the object at `path` until the session ends.
    func serve(path: String, _ handler: @escaping (BusMessage) -> Void) {
        servedPath = path
        connection?.loop.serve(path: path, handler)
    }

    /// A closure that work on another thread calls once, at its end. Its value is passed to `body` on the thread of the
    /// bus. The end of the session waits for it.
    func completion<Value: Sendable>(_ body: @escaping (Value) -> Void) -> @Sendable (Value) -> Void {
        foreignWorkCount += 1
        let work = ForeignWork(body: body)
        return { [self] value in
            bus.thread.call(at: .min) { [self] in
                foreignWorkCount -= 1
                work.body(value)
                refresh()
            }
        }
    }

    private struct ForeignWork<Value>: @unchecked Sendable {
        // `@unchecked`: only called on the thread of the bus.
        var body: (Value) -> Void
    }

    /// Has the session updated, from any thread.
    var wake: @Sendable () -> Void {
        { [weak self, thread = bus.thread] in thread.call(at: .min) { [weak self] in self?.refresh() } }
    }

    /// Suspends until the next event, or `deadline`. Throws if the connection has ended.
    func turn(until deadline: SuspendingClock.Instant) async throws(BusError) {
        guard let loop = connection?.loop else { throw .disconnected }
        await withCheckedContinuation { turnWaiters.append((deadline, $0)) }
        guard loop.isConnected else { throw .disconnected }
    }

    /// Sends all queued messages, and waits for the replies to all calls and for work on other threads, for at most
    /// `limit`.
    private func settle(within limit: Duration) async {
        let deadline = SuspendingClock.now + limit
        while isWorking || connection?.loop.hasOutgoing == true, .now < deadline {
            guard (try? await turn(until: deadline)) != nil else { return }
        }
    }
}
