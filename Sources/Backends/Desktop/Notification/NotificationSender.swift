import BackendConfiguration
import IndicatorCore
import Foundation
import Logging

/// A notification in the form in which it is sent.
struct NotificationMessage: Sendable, Hashable {
    var applicationName: String
    var icon: String
    /// Not empty: libnotify refuses empty ones.
    var summary: String
    var body: String
    var urgency: DesktopNotificationSettings.Urgency
    /// The others than the urgency.
    var otherHints: [BusProperty]
    /// How long until it expires; -1 if the server decides.
    var milliseconds: Int32

    var hints: [BusProperty] { [BusProperty("urgency", .byte(urgency.level))] + otherHints }
}

/// One notification on the screen, or on its way there.
class NotificationCard {
    /// The server's identifier, 1 in the portal; 0 if it is not shown.
    var identifier: UInt32 = 0
    /// Whether a call that shows it waits for its reply.
    var isSending = false
    /// In the portal, where all processes of an app share the names.
    let name = "indicator-\(UInt64.random(in: 0 ... .max))"
}

/// The notification of what goes on. If the server closes it of its own accord, the next change shows it again.
final class LiveNotification: NotificationCard {
    /// The identifier before: a server gives a new one if an update was on its way when it was closed.
    var formerIdentifier: UInt32 = 0
    /// What was sent last, and when.
    var message: NotificationMessage
    var sentAt = SuspendingClock.now
    /// The time during which the indicator is shown.
    var period: Int
    /// What the user has seen in a banner of GNOME: since when the indicator is shown, and whether the app asks.
    var announced: (since: Date?, asks: Bool)?
    /// Whether the user, or the server after `timeout`, has closed it, or the server has refused it: it does not
    /// reappear until the indicator is shown again. An update that was on its way may show it once more.
    var isDismissed = false
    /// Whether it was hidden before the reply, which has the identifier to close.
    var isLeaving = false

    init(_ message: NotificationMessage, _ period: Int) {
        (self.message, self.period) = (message, period)
    }
}

/// How notifications are sent: through libnotify while it is healthy, otherwise over D-Bus; in a sandbox, to the
/// desktop portal.
///
/// libnotify shows with the server's identifiers, so D-Bus continues what it has begun, and closes it.
extension NotificationSession {
    enum Way { case libnotify, portal, dbus }

    static let path = "/org/freedesktop/Notifications"
    static let interface = "org.freedesktop.Notifications"
    static let portalName = "org.freedesktop.portal.Desktop"
    /// How long the server may take to answer a call, and libnotify to load and to connect.
    static let answerLimit = Duration.seconds(2)

    /// Whether the app runs in a sandbox that hides the server, as libnotify decides it.
    var isSandboxed: Bool {
        guard settings.through != .dbus, getenv("NOTIFY_IGNORE_PORTAL") == nil else { return false }
        return getenv("NOTIFY_FORCE_PORTAL") != nil || getenv("SNAP") != nil
            || FileManager.default.fileExists(atPath: "/.flatpak-info")
    }

    /// Connects libnotify to the bus. Returns why it cannot be used.
    func openLibNotify(on bus: BusConnection) async throws -> String? {
        if let objection = LibNotify.shared.objection(to: context.address) { return objection }
        var result: LibNotify.Outcome?
        LibNotify.shared.open(context.address, as: applicationName, completion: bus.completion { result = $0 })
        let deadline = SuspendingClock.now + settings.libraryLimit
        while result == nil, SuspendingClock.now < deadline { try await bus.turn(until: deadline) }
        switch result {
        case .success: way = .libnotify
        case .failure(let loss): return loss.reason
        case nil: return "it does not answer"
        }
        return nil
    }

    // MARK: - The notification

    /// Shows the notification, or updates it. Must not be called while an earlier call waits for its reply.
    func send(_ card: LiveNotification, on bus: BusConnection) {
        card.sentAt = .now
        send(card.message, as: card, on: bus) { [unowned self, unowned bus] outcome in
            if card.isLeaving { live = nil }
            switch outcome {
            case .success(let identifier):
                hasReportedRefusal = false
                if identifier != card.identifier { card.formerIdentifier = card.identifier }
                card.identifier = identifier
                if way == .portal { card.sentAt = .now }
                // What was closed then may be shown again.
                if card.isLeaving { close(card, on: bus) }
            case .failure(let loss):
                // If the server has ended, the next session shows it.
                if card.isLeaving || loss.reason == BusError.disconnected.text || server.fault != nil { return }
                card.isDismissed = true
                guard !exchange(&hasReportedRefusal, with: true) else { return }
                logger.warning("the server did not show the notification; it is asked the next time: \(loss.reason)")
            }
        }
    }

    func send(
        _ message: NotificationMessage,
        as card: NotificationCard,
        on bus: BusConnection,
        completion: @escaping (LibNotify.Outcome) -> Void
    ) {
        card.isSending = true
        let completion = { (outcome: LibNotify.Outcome) in
            card.isSending = false
            // Servers begin with 1.
            completion(outcome.flatMap { $0 == 0 ? LibNotify.loss("the answer is the identifier 0") : .success($0) })
        }
        let isLive = card === live
        // libnotify replaces only what it knows: that of the indicator.
        guard way == .libnotify, isLive || card.identifier == 0 else {
            return sendDirectly(message, as: card, on: bus, completion)
        }
        let onClosed = bus.handler { [weak self, weak bus] (closed: (identifier: UInt32, reason: UInt32)) in
            guard let self, let bus else { return }
            // dunst shows an update that was on its way again; the answer to it is handled before this.
            if let live, live.identifier == closed.identifier { close(live, on: bus) }
            wasClosed(closed.identifier, for: closed.reason)
        }
        let owner = isLive ? (ObjectIdentifier(self), onClosed) : nil
        let result = bus.completion { [unowned self, unowned bus] (outcome: LibNotify.Outcome) in
            if case .failure(let loss) = outcome, exchange(&way, with: .dbus) == .libnotify {
                logger.debug("notifications are now sent over D-Bus, without libnotify: \(loss.reason)")
            }
            guard case .failure(let loss) = outcome, !loss.wasSent, !isLive || live?.isLeaving == false else {
                return completion(outcome)
            }
            sendDirectly(message, as: card, on: bus, completion)
        }
        LibNotify.shared.show(message, replacing: card.identifier, for: owner, completion: result)
    }

    private func sendDirectly(
        _ message: NotificationMessage,
        as card: NotificationCard,
        on bus: BusConnection,
        _ completion: @escaping (LibNotify.Outcome) -> Void
    ) {
        let call = way == .portal ? add(message, card.name) : notify(message, replacing: card.identifier)
        // Without a time limit: even a late reply has the identifier to close.
        bus.call(call, within: nil) { [way] in
            switch $0.map(\.arguments.first) {
            case .success where way == .portal: completion(.success(1))
            case .success(.uint32(let identifier)?): completion(.success(identifier))
            // What another answer may have shown cannot be closed: each update would show another one.
            case .success: completion(LibNotify.loss("the answer is no identifier"))
            case .failure(let error): completion(LibNotify.loss(error.description))
            }
        }
    }

    /// Renews the expiry, without a reply, which would be another wake-up. Therefore always over D-Bus.
    func renew(_ message: NotificationMessage, on bus: BusConnection) {
        guard let live, live.identifier != 0 else { return }
        bus.send(notify(message, replacing: live.identifier))
    }

    /// Handles that the server has closed a notification. Servers report it to the connection that has shown it, or to
    /// all.
    func receive(_ signal: BusMessage) {
        guard (signal.member, signal.signature) == ("NotificationClosed", "uu"), signal.sender == server.owner,
            case .uint32(let closed)? = signal.arguments.first, case .uint32(let reason)? = signal.arguments.last
        else { return }
        wasClosed(closed, for: reason)
    }

    /// The earliest time at which the notification may be closed: xdg-desktop-portal-gtk loses an earlier removal, and
    /// SwayNotificationCenter an outcome that comes immediately after it.
    var mayHide: SuspendingClock.Instant {
        if way == .portal, let live { return (live.isSending ? .now : live.sentAt) + Self.updateInterval }
        return way == .libnotify && outcomes?.isSending == true ? .now + Self.updateInterval : .now
    }

    /// Closes the notification.
    func hide(on bus: BusConnection) {
        guard let card = live, !card.isLeaving else { return }
        card.isLeaving = card.isSending
        if !card.isSending { live = nil }
        close(card, on: bus)
    }

    func end(on bus: BusConnection) async {
        let limit = SuspendingClock.now + Self.updateInterval
        while live?.isLeaving == false, mayHide > .now, limit > .now {
            guard (try? await bus.turn(until: min(mayHide, limit))) != nil else { break }
        }
        hide(on: bus)
    }

    /// Never by the name of the server: its successor may have given the identifier to another app.
    func close(_ card: NotificationCard, on bus: BusConnection) {
        guard card.identifier != 0 || way == .portal && card.isSending else { return }
        let call =
            way == .portal
            ? portalCall("RemoveNotification", [.string(card.name)])
            : call("CloseNotification", [.uint32(card.identifier)])
        // With a reply, so that a process that ends waits for it.
        bus.call(call, within: Self.answerLimit) { _ in }
    }

    // MARK: - Calls

    /// A call of the server.
    func call(_ member: String, _ arguments: [BusValue] = []) -> BusMessage? {
        .call(server.owner, path: Self.path, interface: Self.interface, member: member, arguments)
    }

    private func notify(_ message: NotificationMessage, replacing identifier: UInt32) -> BusMessage? {
        call(
            "Notify",
            [
                .string(message.applicationName), .uint32(identifier), .string(message.icon), .string(message.summary),
                .string(message.body), .strings([]), .properties(message.hints), .int32(message.milliseconds),
            ]
        )
    }

    /// A call of the portal (`org.freedesktop.portal.Notification`), which replaces the notification of that name. The
    /// portal shows the icon of the app.
    private func add(_ message: NotificationMessage, _ name: String) -> BusMessage? {
        let priority = message.urgency == .critical ? "urgent" : message.urgency.rawValue
        let texts = [("title", message.summary), ("body", message.body), ("priority", priority)]
        return portalCall("AddNotification", [.string(name), .properties(texts.map { BusProperty($0, .string($1)) })])
    }

    private func portalCall(_ member: String, _ arguments: [BusValue]) -> BusMessage? {
        .call(
            Self.portalName,
            path: "/org/freedesktop/portal/desktop",
            interface: "org.freedesktop.portal.Notification",
            member: member,
            arguments
        )
    }
}
