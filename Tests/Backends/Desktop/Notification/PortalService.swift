#if DBus
import TestSupport

@testable import DesktopBackends

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

    private let bus: PrivateBus
    private let peer: BusPeer
    private let recorded = Record()

    /// Starts it. It owns its name when this returns.
    ///
    /// - Parameter delay: how long it takes to show a notification.
    init(on bus: PrivateBus, delay: Duration = .zero) throws {
        self.bus = bus
        let (name, path) = ("org.freedesktop.portal.Desktop", "/org/freedesktop/portal/desktop")
        peer = try BusPeer(name: name, path: path, address: bus.address) { [recorded] message in
            if message.member == "AddNotification" { Thread.sleep(forTimeInterval: delay / .seconds(1)) }
            return [Self.answer(message, recorded)]
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

/// A notification server on a private bus that behaves like those that Debian cannot run without a screen.
final class ScriptedServer: Sendable {
    private struct State: Sendable {
        var lastIdentifier: UInt32 = 0
        /// The notifications that are shown, each with the unique name of the connection that has shown it.
        var owners: [UInt32: String] = [:]
        var refusedCount = 0
        var notifyCount = 0
    }

    private final class Record: Sendable {
        let state = Locked(State())
    }

    private let address: String
    private let peer: BusPeer
    private let recorded = Record()

    /// Starts it. It owns its name when this returns.
    ///
    /// - Parameters:
    ///   - name: the name of its program. `gnome-shell` refuses changes by other connections than the first one, as
    ///     GNOME does since version 42.
    ///   - version: what it says of the specification; `nil` if it says less than the specification demands.
    ///   - identifier: the identifier of the first notification.
    ///   - others: the identifiers of other apps' notifications that it shows.
    ///   - wrongAnswer: how it answers `Notify`, if that is not the identifier; an empty answer is an error.
    ///   - isSilent: whether it never answers `Notify`.
    ///   - closesUpdated: whether its user closes a notification just before each update.
    ///   - reportsClosed: whether it reports that a notification was closed.
    init(
        address: String,
        name: String = "tests",
        version: String? = "1.2",
        identifier: UInt32 = 1,
        others: [UInt32] = [],
        wrongAnswer: [BusValue]? = nil,
        isSilent: Bool = false,
        closesUpdated: Bool = false,
        reportsClosed: Bool = true
    ) throws {
        recorded.state.withLock { state in
            state.lastIdentifier = identifier - 1
            for other in others { state.owners[other] = "" }
        }
        self.address = address
        let (own, path) = (NotificationSession.interface, NotificationSession.path)
        peer = try BusPeer(name: own, path: path, address: address) { [recorded] message in
            let sender = message.sender ?? ""
            let arguments = message.arguments
            func isRefused(_ identifier: UInt32) -> Bool {
                recorded.state.withLock { state in
                    let isForeign = name == "gnome-shell" && state.owners[identifier].map { $0 != sender } ?? false
                    if isForeign { state.refusedCount += 1 }
                    return isForeign
                }
            }
            let refusal = BusError(name: "org.freedesktop.DBus.Error.InvalidArgs", text: "Invalid notification ID")
            switch (message.member, arguments.count) {
            case ("GetServerInformation", _):
                return [message.reply([name, "tests", "1", version].compactMap { $0.map { .string($0) } })]
            case ("GetCapabilities", _): return [message.reply([.strings(["body"])])]
            case ("Notify", 8):
                guard case .uint32(let replaced) = arguments[1] else { return [] }
                recorded.state.withLock { $0.notifyCount += 1 }
                if isSilent { return [] }
                if isRefused(replaced) || wrongAnswer == [] { return [message.reply(refusal)] }
                if let wrongAnswer { return [message.reply(wrongAnswer)] }
                let closed = closesUpdated && replaced != 0 ? Self.close(replaced, for: 2, in: recorded) : nil
                let identifier = recorded.state.withLock { state in
                    if state.owners[replaced] == nil { state.lastIdentifier += 1 }
                    let identifier = state.owners[replaced] == nil ? state.lastIdentifier : replaced
                    state.owners[identifier] = sender
                    return identifier
                }
                return [closed, message.reply([.uint32(identifier)])].compactMap(\.self)
            case ("CloseNotification", 1):
                guard case .uint32(let identifier)? = arguments.first else { return [] }
                if isRefused(identifier) { return [message.reply(refusal)] }
                let report = Self.close(identifier, for: 3, in: recorded)
                return [reportsClosed ? report : nil, message.reply([])]
            case ("Dismiss", 1):
                guard case .uint32(let reason)? = arguments.first else { return [] }
                let shown = recorded.state.withLock { $0.owners.keys.sorted() }
                return shown.map { Self.close($0, for: reason, in: recorded) } + [message.reply([])]
            default: return [message.reply(BusError(name: "org.freedesktop.DBus.Error.UnknownMethod", text: ""))]
            }
        }
    }

    /// Closes all notifications, and reports this reason.
    func closeAll(for reason: Int) async throws {
        let (name, path) = (NotificationSession.interface, NotificationSession.path)
        let words = ["--address=\(address)", "call", name, path, name, "Dismiss", "u", "\(reason)"]
        let result = try await Command.run("busctl", words, package: "systemd")
        #expect(result.status == 0, "\(result.error)")
    }

    private static func close(_ identifier: UInt32, for reason: UInt32, in recorded: Record) -> BusMessage? {
        recorded.state.withLock { $0.owners[identifier] = nil }
        return .signal(
            path: NotificationSession.path,
            interface: NotificationSession.interface,
            member: "NotificationClosed",
            [.uint32(identifier), .uint32(reason)]
        )
    }

    /// The identifiers of the notifications that are shown.
    var shown: Set<UInt32> { recorded.state.withLock { Set($0.owners.keys) } }

    /// The identifier that was given last.
    var lastIdentifier: UInt32 { recorded.state.withLock { $0.lastIdentifier } }

    /// How many calls of `Notify` it has received.
    var notifyCount: Int { recorded.state.withLock { $0.notifyCount } }

    /// How many calls of other connections it has refused.
    var refusedCount: Int { recorded.state.withLock { $0.refusedCount } }
}
#endif
