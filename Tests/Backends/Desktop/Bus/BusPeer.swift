#if DBus
import TestSupport

@testable import DesktopBackends

/// A process on a bus that owns a name and answers calls, on a thread of its own.
final class BusPeer: Sendable {
    private let wakeUp: WakeUp
    private let hasEnded = DispatchSemaphore(value: 0)
    private let mustEnd = DispatchSemaphore(value: 0)

    /// Starts it. It owns the name when this returns.
    ///
    /// - Parameter more: further paths to serve.
    init(
        name: String,
        path: String,
        more: [String] = [],
        address: String,
        answer: @escaping @Sendable (BusMessage) -> [BusMessage?]
    ) throws {
        guard let wakeUp = WakeUp() else { throw BusError.disconnected }
        self.wakeUp = wakeUp
        let hasStarted = DispatchSemaphore(value: 0)
        let problem = Locked<BusError?>(nil)
        _ = ThreadStarter.start(named: "peer") { [hasEnded, mustEnd] in
            defer { hasEnded.signal() }
            do throws(BusError) {
                let loop = try BlockingBus(address: address, wakeUp: wakeUp)
                for path in [path] + more {
                    loop.serve(path: path) { [unowned loop] message in
                        for message in answer(message) { if let message { loop.send(message) } }
                    }
                }
                try loop.callBus("RequestName", [.string(name), .uint32(0)])
                hasStarted.signal()
                while mustEnd.wait(timeout: .now()) == .timedOut { try loop.turn() }
            } catch {
                problem.withLock { $0 = error }
                hasStarted.signal()
            }
        }
        hasStarted.wait()
        if let problem = problem.withLock({ $0 }) { throw problem }
    }

    deinit {
        mustEnd.signal()
        wakeUp.wake()
        hasEnded.wait()
    }
}

extension BusPeer {
    /// A notification server that never answers.
    static func hangingServer(on bus: PrivateBus) throws -> BusPeer {
        let (name, path) = (NotificationSession.interface, NotificationSession.path)
        return try BusPeer(name: name, path: path, address: bus.address) { _ in [] }
    }

    /// A login manager with these answers.
    static func login(on bus: PrivateBus, _ answer: @escaping @Sendable (BusMessage) -> [BusMessage?]) throws -> BusPeer
    {
        let (name, path) = ("org.freedesktop.login1", "/org/freedesktop/login1")
        return try BusPeer(name: name, path: path, address: bus.address, answer: answer)
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
