#if DBus
import TestSupport

@testable import DesktopBackends

/// A connection to a bus on the thread that creates it, whose calls block.
final class BlockingBus {
    private let loop: LibDBusConnection
    private let wakeUp: WakeUp

    init(address: String, wakeUp: WakeUp? = WakeUp()) throws(BusError) {
        guard let wakeUp else { throw .disconnected }
        self.wakeUp = wakeUp
        loop = try LibDBusConnection(address: address)
        guard case .string(let name)? = try callBus("Hello").first else { throw .disconnected }
        try loop.setUniqueName(name)
    }

    @discardableResult
    func callBus(_ member: String, _ arguments: [BusValue] = []) throws(BusError) -> [BusValue] {
        try call(BusMessage.busCall(member, arguments))
    }

    func call(_ message: BusMessage?, timeLimit: Duration = .seconds(60)) throws(BusError) -> [BusValue] {
        var result: Result<BusMessage, BusError>?
        loop.call(message, within: timeLimit) { result = $0 }
        while result == nil { try turn() }
        return try result?.get().arguments ?? []
    }

    func send(_ message: BusMessage?) { loop.send(message) }

    func serve(path: String, _ handler: @escaping (BusMessage) -> Void) { loop.serve(path: path, handler) }

    /// Sleeps until a message arrives or the wake-up ends it, and handles what has arrived.
    func turn() throws(BusError) {
        guard loop.isConnected else { throw .disconnected }
        var (descriptors, deadline) = loop.interest()
        descriptors.append(pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0))
        poll(&descriptors, nfds_t(descriptors.count), WakeUp.milliseconds(until: deadline))
        if descriptors.removeLast().revents != 0 { wakeUp.clear() }
        loop.turn(descriptors)
    }
}

/// A process on a bus that owns a name and answers calls, on a thread of its own.
final class BusPeer: Sendable {
    private final class Shared: Sendable {
        let hasEnded = DispatchSemaphore(value: 0)
        let mustEnd = DispatchSemaphore(value: 0)
        let calls = Locked<[String]>([])
    }

    private let wakeUp: WakeUp
    private let shared = Shared()

    /// The methods that were called so far.
    var calls: [String] { shared.calls.withLock { $0 } }

    /// Starts it. It owns the name when this returns.
    ///
    /// - Parameters:
    ///   - more: further paths to serve.
    ///   - answer: what is sent on a call; `nil` for the error that there is no such method.
    init(
        name: String,
        path: String,
        more: [String] = [],
        address: String,
        answer: @escaping @Sendable (BusMessage) -> [BusMessage?]?
    ) throws {
        guard let wakeUp = WakeUp() else { throw BusError.disconnected }
        self.wakeUp = wakeUp
        let hasStarted = DispatchSemaphore(value: 0)
        let problem = Locked<BusError?>(nil)
        _ = ThreadStarter.start(named: "peer") { [shared] in
            defer { shared.hasEnded.signal() }
            do throws(BusError) {
                let loop = try BlockingBus(address: address, wakeUp: wakeUp)
                for path in [path] + more {
                    loop.serve(path: path) { [unowned loop] call in
                        shared.calls.withLock { $0.append(call.member ?? "") }
                        let unknown = call.reply(.standard("UnknownMethod", ""))
                        for message in answer(call) ?? [unknown] { loop.send(message) }
                    }
                }
                try loop.callBus("RequestName", [.string(name), .uint32(0)])
                hasStarted.signal()
                while shared.mustEnd.wait(timeout: .now()) == .timedOut { try loop.turn() }
            } catch {
                problem.withLock { $0 = error }
                hasStarted.signal()
            }
        }
        hasStarted.wait()
        if let problem = problem.withLock({ $0 }) { throw problem }
    }

    deinit {
        shared.mustEnd.signal()
        wakeUp.wake()
        shared.hasEnded.wait()
    }
}

extension BusPeer {
    /// How a service answers that does not work.
    enum WrongAnswer: CaseIterable {
        case error, wrongType, nothing

        func replies(to call: BusMessage) -> [BusMessage?] {
            switch self {
            case .error: [call.reply(.standard("AccessDenied", "no"))]
            case .wrongType: [call.reply([.uint32(7)])]
            case .nothing: []
            }
        }
    }

    /// A service that does not work, whose path follows from its name.
    static func broken(_ name: String, on bus: PrivateBus, _ answer: WrongAnswer = .nothing) throws -> BusPeer {
        let path = "/" + name.replacing(".", with: "/")
        return try BusPeer(name: name, path: path, address: bus.address) { answer.replies(to: $0) }
    }

    /// A notification server that never answers.
    static func hangingServer(on bus: PrivateBus) throws -> BusPeer {
        try broken(NotificationSession.interface, on: bus)
    }
}

extension BusBackend {
    /// A backend on a private bus, without an app, with one of the sessions below.
    static func probe(on bus: PrivateBus, _ session: @escaping SessionMaker) -> BusBackend {
        BusBackend(name: "probe", on: .address(bus.address), makeSession: session)
    }

    private static let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    static func property(_ application: String) -> SessionMaker {
        let object = DBusPropertyObject(application: application, processID: 1)
        return { DBusPropertySession(names: [IndicatorBusName.prefix + application], object: object, context: $0) }
    }

    static let dock: SessionMaker = { _ in LauncherEntrySession(desktopFile: "org.example.probe.desktop") }

    static let job: SessionMaker = {
        DesktopJobSession(applicationName: "probe", settings: .init(), logger: quiet, context: $0)
    }

    static let notification: SessionMaker = {
        let settings = DesktopNotificationSettings(through: .dbus)
        return NotificationSession(applicationName: "probe", settings: settings, logger: quiet, context: $0)
    }

    static let lock: SessionMaker = { _ in
        SleepInhibitorSession(applicationName: "probe", settings: .init(), logger: quiet)
    }
}
#endif
