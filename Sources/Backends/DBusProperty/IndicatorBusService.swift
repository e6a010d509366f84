#if DBus
import Foundation
import IndicatorCore

/// An indicator on a bus, for as long as one connection lasts: a thread that connects, owns a name, answers and announces.
final class IndicatorBusService: Sendable {
    private struct State: Sendable {
        /// What is true now; calls are answered from it.
        var snapshot: IndicatorSnapshot
        /// The bus name that is owned.
        var name: String?
        /// Why the service has come to its end.
        var fault: DBusPropertyError?
        var hasEnded = false
        var starter: CheckedContinuation<Void, any Error>?
        var stoppers: [CheckedContinuation<Void, Never>] = []
    }

    private let address: String
    private let names: [String]
    private let object: IndicatorObject
    private let control: IndicatorControl
    private let wakeUp: BusWakeUp
    private let state: Locked<State>

    /// - Parameters:
    ///   - address: the address of the bus.
    ///   - names: the bus names to try, best first.
    ///   - object: what is put on the bus.
    ///   - snapshot: what is true until the first ``publish(_:)``.
    ///   - control: where a panel's switch and the loss of the bus are reported.
    init(
        address: String,
        names: [String],
        object: IndicatorObject,
        snapshot: IndicatorSnapshot,
        control: IndicatorControl
    ) throws(DBusPropertyError) {
        self.address = address
        self.names = names
        self.object = object
        self.control = control
        do throws(BusError) { wakeUp = try BusWakeUp() } catch { throw .noResources(reason: error.text) }
        state = Locked(State(snapshot: snapshot))
    }

    /// The bus name that is owned; `nil` before and after.
    var name: String? { state.withLock { $0.hasEnded ? nil : $0.name } }

    /// Connects and owns the name. Called once.
    func start() async throws {
        try await withCheckedThrowingContinuation { continuation in
            state.withLock { $0.starter = continuation }
            guard OwnThread.start(named: "ind-dbus", { self.run() }) else {
                return end(.noResources(reason: "no thread is to be had"))
            }
        }
    }

    /// Says what is true now. What has changed is announced by the service's own thread.
    ///
    /// Throws when the service has come to its end.
    func publish(_ snapshot: IndicatorSnapshot) throws(DBusPropertyError) {
        let fault = state.withLock { state in
            state.snapshot = snapshot
            return state.fault
        }
        if let fault { throw fault }
        wakeUp.wake()
    }

    /// Announces what was published last, gives the name back and disconnects. Returns when that is done.
    func stop() async {
        wakeUp.stop()
        await withCheckedContinuation { continuation in
            let hasEnded = state.withLock { state in
                if !state.hasEnded { state.stoppers.append(continuation) }
                return state.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }

    // MARK: - On the service's own thread

    private func run() {
        do throws(DBusPropertyError) {
            try serve()
            end(nil)
        } catch {
            end(error)
        }
    }

    private func end(_ fault: DBusPropertyError?) {
        let (starter, stoppers) = state.withLock { state in
            state.hasEnded = true
            state.fault = fault
            defer {
                state.starter = nil
                state.stoppers = []
            }
            return (state.starter, state.stoppers)
        }
        for stopper in stoppers { stopper.resume() }
        if let starter {
            starter.resume(throwing: fault ?? .lost(address: address, reason: BusError.cancelled.text))
        } else if let fault, !wakeUp.isStopped {
            control.surfaceWasLost(fault.description)
        }
    }

    private func serve() throws(DBusPropertyError) {
        let session = IndicatorBusSession(object: object, control: control) { [self] in state.withLock { $0.snapshot } }
        let loop: BusLoop
        do throws(BusError) {
            loop = try BusLoop(address: address, wakeUp: wakeUp) { session.handle(signal: $0) }
        } catch {
            throw .unreachable(address: address, reason: error.description)
        }
        session.begin(on: loop)
        defer { session.end() }
        let name = try own(names, on: loop)
        session.name = name
        let starter = state.withLock { state in
            state.name = name
            return state.starter.take()
        }
        starter?.resume()
        do throws(BusError) {
            while !wakeUp.isStopped {
                try session.announce(on: loop)
                try loop.turn(until: session.deadline)
            }
            try session.announce(on: loop)
        } catch {
            throw .lost(address: address, reason: error.description)
        }
        // A panel should learn that the indicator was hidden before its name goes; a bus that hangs is not waited for.
        loop.flush(within: .milliseconds(500))
    }

    private func own(_ names: [String], on loop: BusLoop) throws(DBusPropertyError) -> String {
        // DBUS_NAME_FLAG_DO_NOT_QUEUE: when the name is taken, another one is owned instead.
        let flags: UInt32 = 4
        for name in names {
            do throws(BusError) {
                let reply = try loop.callBus("RequestName", [.string(name), .uint32(flags)])
                // 1: the primary owner; 4: it is owned already. 3: somebody else has it.
                if reply == [.uint32(1)] || reply == [.uint32(4)] { return name }
            } catch {
                if error.name == "org.freedesktop.DBus.Error.AccessDenied" {
                    throw .nameRefused(name, reason: error.description)
                }
                throw .unreachable(address: address, reason: error.description)
            }
        }
        throw .nameRefused(names[0], reason: "it is taken, and so are all that come after it")
    }
}

/// What the thread of a service has to remember between one turn and the next.
private final class IndicatorBusSession {
    /// A call of `Set` that is answered when the indicator has obeyed, so that who reads next reads the new value.
    private struct PendingSet {
        var call: BusMessage
        var isEnabled: Bool
        var deadline: ContinuousClock.Instant
    }

    /// How much may wait to be sent before changes wait too, to be announced as one.
    private static let outgoingLimit = 256 << 10

    /// The bus name that is owned.
    var name: String?

    private let object: IndicatorObject
    private let control: IndicatorControl
    private let current: () -> IndicatorSnapshot
    private var announced: IndicatorSnapshot
    private var pendingSets: [PendingSet] = []
    private var hasLostName = false
    private weak var loop: BusLoop?

    init(object: IndicatorObject, control: IndicatorControl, current: @escaping () -> IndicatorSnapshot) {
        self.object = object
        self.control = control
        self.current = current
        announced = current()
    }

    /// When ``announce(on:)`` is due although nothing has happened.
    var deadline: ContinuousClock.Instant? { pendingSets.first?.deadline }

    func begin(on loop: BusLoop) {
        self.loop = loop
        announced = current()
        loop.serve(path: IndicatorObject.path) { [unowned self] in handle(call: $0) }
    }

    func end() { loop = nil }

    func handle(signal: BusMessage) {
        guard signal.member == "NameLost", signal.sender == "org.freedesktop.DBus" else { return }
        if let name, signal.arguments == [.string(name)] { hasLostName = true }
    }

    /// Announces what has changed since the last time, and answers who waits for it.
    func announce(on loop: BusLoop) throws(BusError) {
        if hasLostName { throw BusError(name: "org.freedesktop.DBus.Error.Failed", text: "the bus took the name back") }
        let snapshot = current()
        if loop.outgoingBytes < Self.outgoingLimit {
            let changes = object.changes(from: announced, to: snapshot)
            announced = snapshot
            if !changes.isEmpty { loop.send(.propertiesChanged(changes)) }
        }
        let now = ContinuousClock.now
        pendingSets.removeAll { pending in
            guard snapshot.isEnabled == pending.isEnabled || pending.deadline <= now else { return false }
            if let reply = pending.call.reply([]) { loop.send(reply) }
            return true
        }
    }

    private func handle(call: BusMessage) {
        guard let loop else { return }
        let reply: BusMessage?
        switch object.answer(to: call, snapshot: current()) {
        case .values(let values): reply = call.reply(values)
        case .failure(let error): reply = call.reply(error)
        case .setEnabled(let isEnabled):
            control.setEnabled(isEnabled)
            pendingSets.append(
                PendingSet(call: call, isEnabled: isEnabled, deadline: ContinuousClock.now + .milliseconds(250))
            )
            return
        }
        if let reply { loop.send(reply) }
    }
}

extension BusMessage {
    fileprivate static func propertiesChanged(_ changes: [BusProperty]) -> BusMessage {
        .signal(
            path: IndicatorObject.path,
            interface: IndicatorObject.propertiesInterface,
            member: "PropertiesChanged",
            [.string(IndicatorObject.interface), .properties(changes), .strings([])]
        )
    }
}
#endif
