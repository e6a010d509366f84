import BackendConfiguration
public import IndicatorCore
import Foundation

/// What a ``BusBackend`` does on its connection to a bus. Only used on the thread of the bus, where it must not block.
public protocol BusSession: AnyObject {
    /// Prepares the connection: finds the services that are needed (``BusConnection/find(_:)``), subscribes to signals,
    /// serves an object.
    ///
    /// - Returns: a description for the user, such as the name of the server.
    /// - Throws: why the backend is unavailable.
    func begin(on bus: BusConnection) async throws -> String

    /// Handles a signal. By default, does nothing.
    func receive(_ signal: BusMessage)

    /// Updates what is shown. Called with each update, and with its snapshot again after every event, such as a reply.
    ///
    /// - Returns: when to call it even without an event; `nil` for never.
    /// - Throws: if the indicator can no longer be shown.
    func show(_ update: IndicatorUpdate, on bus: BusConnection) throws -> SuspendingClock.Instant?

    /// Removes what is shown. Messages that are sent here are delivered. By default, does nothing.
    func end(on bus: BusConnection) async
}

extension BusSession {
    /// Does nothing.
    public func receive(_ signal: BusMessage) {}

    /// Does nothing.
    public func end(on bus: BusConnection) async {}
}

/// The connection of a session to a bus.
///
/// Only used on the thread of the bus. When it is lost, or a service that was found is, the backend is unavailable, and
/// gets another connection and another session.
public final class BusConnection: @unchecked Sendable {
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

    /// The limit of unsent bytes. Beyond it, what changes is held back until the bus reads, and then shown together.
    private static let outgoingLimit = 256 << 10
    /// How long the bus or a peer may delay ``end()``.
    private static let stopLimit = Duration.milliseconds(700)
    /// How long the answer of a slow peer is handled after ``end()``.
    private static let lingerLimit = Duration.seconds(60)

    private let session: any BusSession
    private let address: String
    private let thread: ServiceThread
    private var connection: LibDBusConnection?
    /// Whether the bus has accepted the connection.
    private var isReady = false
    private let onEvent: () -> Void
    private var phase = Phase.beginning
    private var turnWaiters: [(end: SuspendingClock.Instant, resume: @Sendable (()) -> Void)] = []
    private var foreignWorkCount = 0
    /// The services that the session has looked for: it is lost with a fault of one. After a failed
    /// ``BusSession/begin(on:)``, it waits until one appears.
    private var services: [BusService] = []

    /// - Parameters:
    ///   - address: the resolved address of the bus.
    ///   - thread: the thread of the bus, on which this is called.
    ///   - session: the session.
    ///   - onEvent: called after every event while it is used.
    package init(
        to address: String,
        thread: ServiceThread,
        session: any BusSession,
        onEvent: @escaping () -> Void = {}
    ) {
        self.address = address
        self.thread = thread
        self.session = session
        self.onEvent = onEvent
    }

    /// Whether the session has not ended.
    private var isActive: Bool {
        switch phase {
        case .beginning, .running, .waiting: true
        case .ending, .ended, .left: false
        }
    }

    /// Why a service that was found can no longer be used.
    private var fault: Unavailability? { services.lazy.compactMap(\.fault).first }

    private var deadline: SuspendingClock.Instant? {
        var deadlines = turnWaiters.map(\.end)
        if case .ended(let until) = phase { deadlines.append(until) }
        return deadlines.min()
    }

    /// Connects and prepares the session.
    ///
    /// If it throws because of something that may appear later, it waits for that. It must still be ended.
    package func begin() async throws -> String {
        do {
            let connection = try connect()
            guard case .string(let name)? = try await callBus("Hello").first else { throw BusError.disconnected }
            try connection.setUniqueName(name)
            isReady = true
            let summary = try await session.begin(on: self)
            // Also one that has ended meanwhile: nothing else would report it.
            if let fault { throw fault }
            guard isActive, connection.isConnected else { throw BusError.disconnected }
            phase = .running
            return summary
        } catch {
            let error = readable(error)
            // Also for one that hangs: it may be replaced.
            if isActive, !services.isEmpty, connection?.isConnected == true {
                phase = .waiting
            } else {
                leave()
            }
            throw error
        }
    }

    private func connect() throws -> LibDBusConnection {
        let noResources = Unavailability(
            reason: "there are no resources for a connection to the bus: \(SpareDescriptors.problem)",
            help: "see ulimit -n and ulimit -u"
        )
        guard SpareDescriptors.exist() else { throw noResources }
        if let problem = LibDBus.problem {
            let help = "install it (apt-get install libdbus-1-3)"
            throw Unavailability(reason: "libdbus cannot be loaded: \(problem)", help: help)
        }
        // Strong: this lives until it leaves.
        let connection = try LibDBusConnection(address: address) { [self] signal in
            guard isActive else { return }
            for service in services { service.receive(signal) }
            session.receive(signal)
        }
        guard thread.add(connection) else { throw noResources }
        connection.onTurn = { [self] in refresh() }
        connection.nextDeadline = { [self] in deadline }
        self.connection = connection
        return connection
    }

    /// The error in a form for the user.
    package func readable(_ error: any Error) -> any Error {
        guard let error = error as? BusError else { return error }
        return Unavailability(
            reason: "the bus at '\(address)' \(isReady ? "was lost" : "cannot be reached"): \(error)",
            help: "check that the bus runs and that this user may connect to it"
        )
    }

    /// Has the session show the updates. Throws if it can no longer be used.
    func show(_ updates: IndicatorUpdates) async throws {
        var latest: IndicatorUpdate?
        var due: SuspendingClock.Instant?
        while let event = await updates.next(until: due) {
            if case .update(let update) = event { latest = update }
            do {
                // What follows is merged until the bus reads. At the end, the last state is sent in any case.
                while let connection, connection.outgoingBytes >= Self.outgoingLimit, await updates.wait() != nil {}
                guard let connection, connection.isConnected else { throw BusError.disconnected }
                if let fault { throw fault }
                guard let update = latest else { continue }
                latest = IndicatorUpdate(update.snapshot)
                due = try session.show(update, on: self)
            } catch {
                throw readable(error)
            }
        }
    }

    /// Waits until a service has appeared that was missing in ``begin()``. Returns `false` if another attempt is due
    /// without that, or could not help.
    func waitForServices(_ updates: IndicatorUpdates, because error: any Error) async -> Bool {
        guard case .waiting = phase else { return false }
        let limit = SuspendingClock.now + updates.reportUnavailable(error)
        while connection?.isConnected == true, .now < limit {
            if services.contains(where: \.hasAppeared) { return true }
            guard await updates.wait(until: limit) != nil else { return false }
        }
        return false
    }

    /// Ends the session. Returns when its messages are delivered, or after 0.7 s.
    package func end() async {
        guard isActive else { return }
        let isRunning = if case .running = phase { true } else { false }
        phase = .ending
        if isRunning {
            await session.end(on: self)
            await settle(within: Self.stopLimit)
        }
        phase = .ended(until: .now + Self.lingerLimit)
        if !isWorking { leave() }
    }

    /// Called after every event.
    private func refresh() {
        for waiter in exchange(&turnWaiters, with: []) { waiter.resume(()) }
        guard let connection else { return }
        switch phase {
        case .beginning, .ending, .left: return
        case .running, .waiting:
            // Otherwise the thread would not sleep until the session is ended.
            if !connection.isConnected { leave() }
            onEvent()
        case .ended(let until):
            if !isWorking || until <= .now || !connection.isConnected { leave() }
        }
    }

    private func leave() {
        phase = .left
        for waiter in exchange(&turnWaiters, with: []) { waiter.resume(()) }
        if let connection = connection.take() { thread.remove(connection) }
    }

    // MARK: - For the session

    /// Whether calls wait for a reply, or work on other threads has not ended.
    private var isWorking: Bool { foreignWorkCount > 0 || connection?.hasCalls == true }

    /// Finds a service, without starting it. The connection counts as lost when the service ends or is replaced; while
    /// it is missing, the backend is unavailable until it appears.
    ///
    /// - Throws: `Unavailability` if there is none, and ``BusError``.
    public func find(_ service: BusService) async throws {
        services.append(service)
        try await service.find(on: self)
    }

    /// Puts an object on the bus.
    public func serve(_ object: BusObject) {
        object.bus = self
        connection?.serve(path: object.path) { object.answer($0) }
    }

    /// Calls a method of the bus itself, such as `GetNameOwner`. See the D-Bus specification, "Message Bus Messages".
    @discardableResult
    public func callBus(_ member: String, _ arguments: [BusValue] = []) async throws(BusError) -> [BusValue] {
        try await call(.busCall(member, arguments))
    }

    /// Receives the signals that match a rule (D-Bus specification, "Match Rules"), in ``BusSession/receive(_:)``.
    public func addMatch(_ rule: String) async throws(BusError) {
        try await callBus("AddMatch", [.string(rule)])
    }

    /// Calls a method and suspends until the reply.
    ///
    /// - Parameters:
    ///   - message: the call; `nil` for one with an invalid name, which fails.
    ///   - timeLimit: how long the peer may take to answer. Default: 3 seconds.
    /// - Returns: the arguments of the reply.
    public func call(
        _ message: BusMessage?,
        timeLimit: Duration = .seconds(3)
    ) async throws(BusError) -> [BusValue] {
        let result = await withCheckedContinuation { continuation in
            call(message, within: timeLimit) { continuation.resume(returning: $0.map(\.arguments)) }
        }
        return try result.get()
    }

    /// Calls a method. The reply arrives later, on the thread of the bus, before the next
    /// ``BusSession/show(_:on:)``.
    ///
    /// - Parameters:
    ///   - message: the call; `nil` for one with an invalid name, which fails.
    ///   - timeLimit: how long the peer may take to answer; `nil` for no limit.
    ///   - completion: handles the reply.
    public func call(
        _ message: BusMessage?,
        within timeLimit: Duration?,
        completion: @escaping (Result<BusMessage, BusError>) -> Void
    ) {
        guard let connection else { return completion(.failure(.disconnected)) }
        connection.call(message, within: timeLimit, completion: completion)
    }

    /// Queues a message in memory until the bus accepts it. Nobody replies to it. `nil`, for one with an invalid name,
    /// is dropped.
    public func send(_ message: BusMessage?) { connection?.send(message) }

    /// A closure that work on another thread calls once, at its end. Its value is passed to `body` on the thread of the
    /// bus. The end of the session waits for it. Further calls do nothing.
    public func completion<Value: Sendable>(_ body: @escaping (Value) -> Void) -> @Sendable (Value) -> Void {
        foreignWorkCount += 1
        var isOver = false
        return passing { [self] value in
            guard !exchange(&isOver, with: true) else { return }
            foreignWorkCount -= 1
            body(value)
        }
    }

    /// A closure that passes values to `body` on the thread of the bus, from any thread, while the session runs.
    public func handler<Value: Sendable>(_ body: @escaping (Value) -> Void) -> @Sendable (Value) -> Void {
        passing { [weak self] value in
            guard let self, isActive else { return }
            body(value)
        }
    }

    private func passing<Value: Sendable>(_ body: @escaping (Value) -> Void) -> @Sendable (Value) -> Void {
        let work = ForeignWork(body: body)
        return { [weak self, thread] value in
            thread.call(at: .min) { [weak self] in
                work.body(value)
                self?.refresh()
            }
        }
    }

    private struct ForeignWork<Value>: @unchecked Sendable {
        // `@unchecked`: only called on the thread of the bus.
        var body: (Value) -> Void
    }

    /// Suspends until the next event, until `deadline`, or until the task is cancelled. Throws if the connection has
    /// ended.
    public func turn(until deadline: SuspendingClock.Instant) async throws(BusError) {
        guard let connection, connection.isConnected else { throw .disconnected }
        await thread.wait(orCancelled: ()) { turnWaiters.append((deadline, $0)) }
        guard connection.isConnected else { throw .disconnected }
    }

    /// Sends all queued messages, and waits for the replies to all calls and for work on other threads, for at most
    /// `limit`.
    private func settle(within limit: Duration) async {
        let deadline = SuspendingClock.now + limit
        while isWorking || connection?.hasOutgoing == true, .now < deadline {
            guard (try? await turn(until: deadline)) != nil else { return }
        }
    }
}
