#if DBus
import TestSupport

@testable import DesktopBackends

/// The notification portal of a sandbox (`org.freedesktop.portal.Notification`, version 1) on a private bus.
final class PortalService: NotificationScreen {
    /// A call that shows or removes a notification, and when it was answered.
    struct Call: Sendable {
        var member: String
        var name: String?
        var texts: [String: String] = [:]
        var time = ContinuousClock.now
    }

    private final class Record: Sendable {
        let calls = Locked<[Call]>([])
    }

    private let record = Record()
    private let peer: BusPeer

    /// Starts it. It owns its name when this returns.
    ///
    /// - Parameter delay: how long it takes to show a notification.
    init(on bus: PrivateBus, delay: Duration = .zero) throws {
        let (name, path) = ("org.freedesktop.portal.Desktop", "/org/freedesktop/portal/desktop")
        peer = try BusPeer(name: name, path: path, address: bus.address) { [record] message in
            guard let member = message.member, member.hasSuffix("Notification") else { return nil }
            var call = Call(member: member, name: message.arguments.first?.text)
            if case .properties(let texts)? = message.arguments.last {
                Thread.sleep(forTimeInterval: delay / .seconds(1))
                for text in texts { call.texts[text.name] = text.value.unwrapped.text }
            }
            call.time = .now
            record.calls.withLock { [call] in $0.append(call) }
            return [message.reply([])]
        }
    }

    var calls: [Call] { record.calls.withLock { $0 } }

    /// The notifications that are shown, in the order of the calls.
    var shown: [Call] {
        calls.reduce(into: []) { shown, call in
            shown.removeAll { $0.name == call.name }
            if !call.texts.isEmpty { shown.append(call) }
        }
    }

    var displayedCount: Int { shown.count }
    var texts: [String]? { shown.map { $0.texts["body"] ?? "" } }
}
#endif
