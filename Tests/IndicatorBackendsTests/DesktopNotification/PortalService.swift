#if DesktopNotification
import Foundation
import IndicatorThreads

@testable import IndicatorBackends

/// The notification portal of a sandbox (`org.freedesktop.portal.Notification`, version 1) on a private bus.
final class PortalService: Sendable {
    /// A call, with the time of its arrival.
    struct Call: Sendable {
        var member: String
        var identifier: String
        var notification: [BusProperty] = []
        var time = ContinuousClock.now

        func text(_ name: String) -> String? { notification.first { $0.name == name }?.value.unwrapped.text }
    }

    private final class Record: Sendable {
        let calls = Locked<[Call]>([])
    }

    private let peer: BusPeer
    private let recorded = Record()

    /// Starts it. It owns its name when this returns.
    init(address: String, version: BusValue = .uint32(1)) throws {
        peer = try BusPeer(
            name: "org.freedesktop.portal.Desktop",
            path: "/org/freedesktop/portal/desktop",
            address: address
        ) { [recorded] message in
            switch message.member {
            case "Get": message.reply([.variant(version)])
            case "GetAll": message.reply([.properties([BusProperty("version", version)])])
            default: Self.answer(message, recorded)
            }
        }
    }

    /// The calls so far.
    var calls: [Call] { recorded.calls.withLock { $0 } }

    /// The identifiers of the notifications that are shown.
    var shown: Set<String> {
        calls.reduce(into: []) { shown, call in
            if call.member == "AddNotification" { shown.insert(call.identifier) } else { shown.remove(call.identifier) }
        }
    }

    private static func answer(_ message: BusMessage, _ recorded: Record) -> BusMessage? {
        let arguments = message.arguments
        switch message.member {
        case "AddNotification":
            guard case .properties(let notification)? = arguments.last else { return nil }
            let identifier = arguments.first?.text ?? ""
            recorded.calls.withLock {
                $0.append(Call(member: "AddNotification", identifier: identifier, notification: notification))
            }
            return message.reply([])
        case "RemoveNotification":
            recorded.calls.withLock {
                $0.append(Call(member: "RemoveNotification", identifier: arguments[0].text ?? ""))
            }
            return message.reply([])
        default: return message.reply(BusError(name: "org.freedesktop.DBus.Error.UnknownMethod", text: ""))
        }
    }
}

/// A notification server whose identifiers are larger than 2³¹, on a private bus.
final class LargeIdentifiersServer: Sendable {
    private final class Record: Sendable {
        let replaced = Locked<[UInt32]>([])
        let closed = Locked<[UInt32]>([])
    }

    static let identifier: UInt32 = 3_000_000_000
    private let peer: BusPeer
    private let recorded = Record()

    /// Starts it. It owns its name when this returns.
    init(address: String) throws {
        peer = try BusPeer(
            name: "org.freedesktop.Notifications",
            path: "/org/freedesktop/Notifications",
            address: address
        ) { [recorded] message in
            switch message.member {
            case "GetServerInformation": return message.reply(["large", "tests", "1", "1.2"].map { .string($0) })
            case "GetCapabilities": return message.reply([.strings(["body"])])
            case "Notify":
                guard case .uint32(let replaced) = message.arguments[1] else { return nil }
                recorded.replaced.withLock { $0.append(replaced) }
                return message.reply([.uint32(Self.identifier)])
            case "CloseNotification":
                guard case .uint32(let closed)? = message.arguments.first else { return nil }
                recorded.closed.withLock { $0.append(closed) }
                return message.reply([])
            default: return message.reply(BusError(name: "org.freedesktop.DBus.Error.UnknownMethod", text: ""))
            }
        }
    }

    /// What each call of `Notify` replaces.
    var replaced: [UInt32] { recorded.replaced.withLock { $0 } }

    /// What is closed.
    var closed: [UInt32] { recorded.closed.withLock { $0 } }
}

/// A process on a bus that owns a name and answers calls, on a thread of its own.
private final class BusPeer: Sendable {
    private let wakeUp: WakeUp
    private let hasEnded = DispatchSemaphore(value: 0)

    /// Starts it. It owns the name when this returns.
    init(
        name: String,
        path: String,
        address: String,
        answer: @escaping @Sendable (BusMessage) -> BusMessage?
    ) throws {
        guard let wakeUp = WakeUp() else { throw BusError.disconnected }
        self.wakeUp = wakeUp
        let hasStarted = DispatchSemaphore(value: 0)
        let problem = Locked<BusError?>(nil)
        _ = ThreadStarter.start(named: "peer") { [hasEnded] in
            defer { hasEnded.signal() }
            do throws(BusError) {
                let loop = try BusLoop(address: address, wakeUp: wakeUp)
                loop.serve(path: path) { [unowned loop] message in
                    if let reply = answer(message) { loop.send(reply) }
                }
                try loop.callBus("RequestName", [.string(name), .uint32(0)])
                hasStarted.signal()
                while !wakeUp.isStopped { try loop.turn() }
            } catch {
                problem.withLock { $0 = error }
                hasStarted.signal()
            }
        }
        hasStarted.wait()
        if let problem = problem.withLock({ $0 }) { throw problem }
    }

    deinit {
        wakeUp.stop()
        hasEnded.wait()
    }
}
#endif
