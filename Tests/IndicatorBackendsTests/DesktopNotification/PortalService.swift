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

    private static let name = "org.freedesktop.portal.Desktop"
    private let recorded = Record()
    private let wakeUp: WakeUp
    private let hasEnded = DispatchSemaphore(value: 0)

    /// Starts it. It owns its name when this returns.
    init(address: String) throws {
        guard let wakeUp = WakeUp() else { throw BusError.disconnected }
        self.wakeUp = wakeUp
        let hasStarted = DispatchSemaphore(value: 0)
        let problem = Locked<BusError?>(nil)
        _ = ThreadStarter.start(named: "portal") { [recorded, hasEnded] in
            defer { hasEnded.signal() }
            do throws(BusError) {
                let loop = try BusLoop(address: address, wakeUp: wakeUp)
                loop.serve(path: "/org/freedesktop/portal/desktop") { [unowned loop] message in
                    if let reply = Self.answer(message, recorded) { loop.send(reply) }
                }
                try loop.callBus("RequestName", [.string(Self.name), .uint32(0)])
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
        case "GetAll": return message.reply([.properties([BusProperty("version", .uint32(1))])])
        default: return message.reply(BusError(name: "org.freedesktop.DBus.Error.UnknownMethod", text: ""))
        }
    }
}
#endif
