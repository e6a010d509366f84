import BackendConfiguration
import DisplayText
import Foundation
import IndicatorCore
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

/// Shows notifications, and closes them: through libnotify while it is healthy, otherwise over D-Bus; in a sandbox,
/// through the desktop portal.
///
/// libnotify shows with the server's identifiers, so D-Bus continues what it has begun, and closes it.
///
/// Only used on the thread of the session.
final class NotificationSender {
    /// How notifications are sent.
    enum Way: Sendable, Hashable {
        case libnotify
        case portal
        case dbus
    }

    static let path = "/org/freedesktop/Notifications"
    static let interface = "org.freedesktop.Notifications"
    static let portal = "org.freedesktop.portal.Desktop"
    /// How long the server may take to answer a call, and libnotify to load and to connect.
    static let answerLimit = Duration.seconds(2)
    /// xdg-desktop-portal-gtk loses a removal that arrives sooner after the notification.
    private static let portalCloseDelay = Duration.milliseconds(500)

    /// One notification on the screen.
    private final class Shown {
        /// The server's identifier, 1 in the portal; 0 if it is not shown.
        var identifier: UInt32 = 0
        /// The one before: a server gives a new one if an update was on its way when it was closed.
        var formerIdentifier: UInt32 = 0
        /// libnotify's object, if libnotify sends.
        var object: LibNotify.Notification?
        var isHidden = false
        /// In the portal.
        let name: String

        init(_ name: String) { self.name = name }
    }

    private let through: DesktopNotificationSettings.Through
    private let applicationName: String
    private let address: String
    private let logger: Logger

    var way = Way.dbus
    /// Why notifications can no longer be sent.
    private(set) var fault: Unavailability?
    /// Whether a call that shows something waits for its reply. Then ``show(_:on:)`` must not be called.
    private(set) var isSending = false
    /// The unique name of the server.
    var server = ""
    /// Called when the user or the server has closed the notification, with the reason of `NotificationClosed`.
    var onClosed: (UInt32) -> Void = { _ in }

    /// Called when the server has not shown the notification: it must not be sent again before the next time.
    var onRefused: () -> Void = {}
    private var hasReportedRefusal = false

    private var current: Shown?
    private var shownAt = SuspendingClock.now
    /// In the portal, all processes of an app share the identifiers.
    private let portalName = "indicator-\(UInt64.random(in: 0 ... .max))"
    private var announcementCount = 0

    init(through: DesktopNotificationSettings.Through, applicationName: String, address: String, logger: Logger) {
        self.through = through
        self.applicationName = applicationName
        self.address = address
        self.logger = logger
    }

    // MARK: - The way

    /// Whether the app runs in a sandbox that hides the server, as libnotify decides it.
    static var isSandboxed: Bool {
        guard getenv("NOTIFY_IGNORE_PORTAL") == nil else { return false }
        return getenv("NOTIFY_FORCE_PORTAL") != nil || getenv("SNAP") != nil
            || FileManager.default.fileExists(atPath: "/.flatpak-info")
    }

    /// Chooses between libnotify and D-Bus. Returns a description for the user.
    ///
    /// - Parameter problem: why libnotify must not be asked.
    func choose(on bus: BusLink, problem: String?) async throws -> String {
        if through == .dbus { return "over D-Bus, without libnotify: as configured" }
        let objection = if let problem { problem } else { try await openLibNotify(on: bus) }
        guard let objection else {
            way = .libnotify
            return "through libnotify"
        }
        if through == .libnotify { throw Self.withoutLibNotify(objection) }
        return "over D-Bus, without libnotify: \(objection)"
    }

    private static func withoutLibNotify(_ reason: String) -> Unavailability {
        Unavailability(reason: "libnotify cannot be used: \(reason)", help: "'through: auto' sends over D-Bus then")
    }

    /// Connects libnotify to the bus. Returns why it cannot be used.
    private func openLibNotify(on bus: BusLink) async throws -> String? {
        if let objection = LibNotify.shared.objection(to: address) { return objection }
        var result: LibNotify.Outcome?
        LibNotify.shared.open(address, as: applicationName, completion: bus.completion { result = $0 })
        let deadline = SuspendingClock.now + Self.answerLimit
        while result == nil, SuspendingClock.now < deadline { try await bus.turn(until: deadline) }
        return switch result {
        case .success: nil
        case .failure(let loss): loss.reason
        case nil: "it does not answer"
        }
    }

    // MARK: - The notification

    /// The server's answer.
    private enum Answer {
        case shown(UInt32)
        /// Why it is not shown; `nil` if that is not worth a message.
        case refused(String?)
    }

    /// Shows the notification, or updates it.
    func show(_ message: NotificationMessage, on bus: BusLink) {
        let shown = current ?? Shown(portalName)
        current = shown
        isSending = true
        send(message, as: shown, on: bus) { [unowned self, unowned bus] answer in
            isSending = false
            switch answer {
            case .shown(let identifier):
                hasReportedRefusal = false
                if identifier != shown.identifier { shown.formerIdentifier = shown.identifier }
                shown.identifier = identifier
                shownAt = .now
                // The indicator was hidden meanwhile; what was closed then may be shown again.
                if shown.isHidden { close(shown, on: bus) }
            case .refused(let reason):
                if let reason, !hasReportedRefusal {
                    hasReportedRefusal = true
                    logger.warning("the server did not show the notification; it is asked the next time: \(reason)")
                }
                if !shown.isHidden { onRefused() }
            }
        }
    }

    /// Shows a separate notification, which stays.
    func announce(_ message: NotificationMessage, on bus: BusLink) {
        announcementCount += 1
        let shown = Shown("\(portalName)-\(announcementCount)")
        send(message, as: shown, on: bus) { [logger] answer in
            if let object = shown.object.take() { LibNotify.shared.forget(object) }
            guard case .refused(let reason) = answer else { return }
            logger.warning("the server did not show the notification of an outcome: \(reason ?? "it was lost")")
        }
    }

    private func send(
        _ message: NotificationMessage,
        as shown: Shown,
        on bus: BusLink,
        completion: @escaping (Answer) -> Void
    ) {
        guard way == .libnotify else { return sendDirectly(message, as: shown, on: bus, completion) }
        let onClosed: @Sendable (UInt32) -> Void = bus.handler { [weak self, weak shown] reason in
            if let self, let shown { wasClosed(shown, for: reason) }
        }
        let object = shown.object ?? LibNotify.Notification(onClosed: onClosed)
        shown.object = object
        let result = bus.completion { [unowned self, unowned bus] (outcome: LibNotify.Outcome) in
            switch outcome {
            case .success(let identifier): completion(.shown(identifier))
            case .failure(let loss):
                wasLost(loss)
                let isLost = loss.wasSent || fault != nil || shown.isHidden
                if isLost { return completion(.refused(shown.isHidden ? nil : loss.reason)) }
                sendDirectly(message, as: shown, on: bus, completion)
            }
        }
        LibNotify.shared.show(message, as: object, completion: result)
    }

    private func wasLost(_ loss: LibNotify.Loss) {
        if through == .libnotify {
            fault = Self.withoutLibNotify(loss.reason)
        } else if way == .libnotify {
            way = .dbus
            logger.debug("notifications are now sent over D-Bus, without libnotify: \(loss.reason)")
        }
    }

    private func sendDirectly(
        _ message: NotificationMessage,
        as shown: Shown,
        on bus: BusLink,
        _ completion: @escaping (Answer) -> Void
    ) {
        let call = way == .portal ? add(message, shown.name) : notify(message, replacing: shown.identifier)
        // Without a time limit: even a late reply has the identifier to close.
        bus.call(call, within: nil) { [way] in
            switch $0.map(\.arguments.first) {
            case .success where way == .portal: completion(.shown(1))
            case .success(.uint32(let identifier)?): completion(.shown(identifier))
            // What another answer may have shown cannot be closed: each update would show another one.
            case .success: completion(.refused("the answer is no identifier"))
            case .failure(let error): completion(.refused(error == .disconnected ? nil : error.description))
            }
        }
    }

    /// Renews the expiry, without a reply, which would be another wake-up. Therefore always over D-Bus.
    func renew(_ message: NotificationMessage, on bus: BusLink) {
        guard let current, current.identifier != 0 else { return }
        bus.send(notify(message, replacing: current.identifier, expectsReply: false))
    }

    /// Handles that the server has closed the notification with this identifier. Servers report it to the connection
    /// that has shown it, or to all.
    func wasClosed(_ identifier: UInt32, for reason: UInt32) {
        guard let current, identifier != 0 else { return }
        if identifier == current.identifier { wasClosed(current, for: reason) }
        // Through libnotify, whose connection is another one, the answer to the update may arrive before this.
        if identifier == current.formerIdentifier { onClosed(reason) }
    }

    private func wasClosed(_ shown: Shown, for reason: UInt32) {
        guard shown === current, shown.identifier != 0 else { return }
        shown.identifier = 0
        onClosed(reason)
    }

    /// Whether the notification is on the screen, as far as the server has reported.
    var isShown: Bool { current.map { $0.identifier != 0 } ?? false }

    /// The earliest time at which ``hide(on:)`` may be called.
    var mayHide: SuspendingClock.Instant {
        way == .portal ? (isSending ? .now : shownAt) + Self.portalCloseDelay : shownAt
    }

    /// Closes the notification.
    func hide(on bus: BusLink) {
        guard let shown = current.take() else { return }
        shown.isHidden = true
        if let object = shown.object.take() { LibNotify.shared.forget(object) }
        close(shown, on: bus)
    }

    /// Closes everything at the end of the session.
    func end(on bus: BusLink) async {
        // The portal may hang.
        let limit = SuspendingClock.now + Self.portalCloseDelay
        while current != nil, mayHide > .now, limit > .now {
            guard (try? await bus.turn(until: min(mayHide, limit))) != nil else { break }
        }
        hide(on: bus)
    }

    /// Never by the name of the server: its successor may have given the identifier to another app.
    private func close(_ shown: Shown, on bus: BusLink) {
        guard shown.identifier != 0 || (way == .portal && isSending) else { return }
        let call =
            way == .portal
            ? portalCall("RemoveNotification", [.string(shown.name)])
            : call("CloseNotification", [.uint32(shown.identifier)])
        // With a reply, so that a process that ends waits for it.
        bus.call(call, within: Self.answerLimit) { _ in }
    }

    // MARK: - Calls

    /// A call of the server.
    func call(_ member: String, _ arguments: [BusValue] = [], expectsReply: Bool = true) -> BusMessage? {
        .call(
            server,
            path: Self.path,
            interface: Self.interface,
            member: member,
            arguments,
            expectsReply: expectsReply
        )
    }

    private func notify(
        _ message: NotificationMessage,
        replacing identifier: UInt32,
        expectsReply: Bool = true
    ) -> BusMessage? {
        call(
            "Notify",
            [
                .string(message.applicationName), .uint32(identifier), .string(message.icon), .string(message.summary),
                .string(message.body), .strings([]), .properties(message.hints), .int32(message.milliseconds),
            ],
            expectsReply: expectsReply
        )
    }

    /// A call of the portal (`org.freedesktop.portal.Notification`), which replaces the notification of that name. The
    /// portal shows the icon of the app.
    private func add(_ message: NotificationMessage, _ name: String) -> BusMessage? {
        let priority = message.urgency == .critical ? "urgent" : message.urgency.rawValue
        let texts = [("title", message.summary), ("body", message.body), ("priority", priority)]
        return portalCall(
            "AddNotification",
            [.string(name), .properties(texts.map { BusProperty($0, .string($1)) })]
        )
    }

    private func portalCall(_ member: String, _ arguments: [BusValue]) -> BusMessage? {
        .call(
            Self.portal,
            path: "/org/freedesktop/portal/desktop",
            interface: "org.freedesktop.portal.Notification",
            member: member,
            arguments
        )
    }
}
