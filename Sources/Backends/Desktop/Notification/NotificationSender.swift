import BackendConfiguration
import DisplayText
import Foundation
import IndicatorCore
import Logging

/// A notification in the form in which it is sent.
struct NotificationMessage: Sendable {
    var applicationName: String
    var icon: String
    /// Not empty: libnotify refuses empty ones.
    var summary: String
    var body: String
    var hints: [BusProperty]
    /// How long until it expires; -1 if the server decides.
    var milliseconds: Int32
}

/// Shows and closes notifications: through libnotify where it is installed and safe, otherwise over D-Bus.
///
/// Both use the server's identifier, so either can continue what the other has begun: what libnotify cannot do for lack
/// of descriptors is done over D-Bus, and at the end the connection of the session closes what is shown. In a sandbox,
/// libnotify sends to the desktop portal, and there is no other way.
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
    /// How long the server may take to answer a call, and libnotify to load and to connect.
    static let answerLimit = Duration.seconds(2)
    /// xdg-desktop-portal-gtk loses a removal that arrives sooner after the notification.
    private static let portalCloseDelay = Duration.milliseconds(500)

    /// One notification on the screen.
    private final class Shown {
        /// The server's identifier; 0 if unknown.
        var identifier: UInt32 = 0
        /// libnotify's object, if libnotify sends.
        var object: LibNotify.Notification?
        var isHidden = false
        /// Whether another server than ``NotificationSender/server`` has probably given the identifier.
        var isOfSuccessor = false
    }

    private let through: DesktopNotificationSettings.Through
    private let applicationName: String
    private let address: String
    private let logger: Logger

    private(set) var way = Way.dbus
    /// Why libnotify, which should send, cannot.
    private(set) var objection: String?
    /// Why notifications can no longer be sent.
    private(set) var fault: DesktopNotificationError?
    /// Whether a call that shows something waits for its reply. Then ``show(_:on:)`` must not be called.
    private(set) var isSending = false
    /// Whether the last notification was not shown, for lack of descriptors in a sandbox.
    private(set) var wasSkipped = false
    /// The unique name of the server.
    var server = ""
    /// Whether the name of the server has passed to another one.
    var serverHasChanged = false

    private var current: Shown?
    /// Those that libnotify is closing.
    private var closing: [Shown] = []
    private var shownAt = SuspendingClock.now

    init(through: DesktopNotificationSettings.Through, applicationName: String, address: String, logger: Logger) {
        self.through = through
        self.applicationName = applicationName
        self.address = address
        self.logger = logger
    }

    // MARK: - The way

    /// Whether libnotify probably uses the desktop portal, where there is one.
    static var isSandboxed: Bool {
        guard getenv("NOTIFY_IGNORE_PORTAL") == nil else { return false }
        return getenv("NOTIFY_FORCE_PORTAL") != nil || getenv("SNAP") != nil
            || FileManager.default.fileExists(atPath: "/.flatpak-info")
    }

    /// Chooses the way. Returns a description of it for the user.
    ///
    /// - Parameter problem: why libnotify must not be asked.
    func choose(on bus: BusShare, problem: String? = nil) async throws -> String {
        if through == .dbus { return "over D-Bus, without libnotify: as configured" }
        objection = if let problem { problem } else { try await openLibNotify(on: bus) }
        guard let objection else {
            // Known once libnotify is connected.
            way = LibNotify.shared.usesPortal ? .portal : .libnotify
            return way == .portal ? "the desktop portal, through libnotify" : "through libnotify"
        }
        if through == .libnotify { throw DesktopNotificationError.withoutLibNotify(reason: objection) }
        return "over D-Bus, without libnotify: \(objection)"
    }

    /// Connects libnotify to the bus. Returns why it cannot be used.
    private func openLibNotify(on bus: BusShare) async throws -> String? {
        if let objection = LibNotify.shared.objection(to: address) { return objection }
        var result: LibNotify.Outcome?
        // In the portal, all processes of an app share the identifiers.
        let name = Self.isSandboxed ? "indicator-\(UInt64.random(in: 0 ... .max))" : applicationName
        LibNotify.shared.open(address, name: name, completion: bus.completion { result = $0 })
        let deadline = SuspendingClock.now + Self.answerLimit
        while result == nil, SuspendingClock.now < deadline {
            try await bus.turn(until: deadline)
        }
        return switch result {
        case .done: nil
        case .skipped: "the process has too few descriptors left"
        case .failed(let reason), .lost(let reason): reason
        case nil: "it does not answer"
        }
    }

    /// Whether to do over D-Bus what libnotify has not done.
    private func mayContinue(after outcome: LibNotify.Outcome) -> Bool {
        switch outcome {
        case .done: return false
        case .skipped: return way != .portal
        case .failed(let reason): fault = fault ?? .refused(reason: reason)
        case .lost(let reason):
            if way == .portal || through == .libnotify {
                fault = .withoutLibNotify(reason: reason)
            } else if way == .libnotify {
                way = .dbus
                logger.warning("notifications are now sent over D-Bus, without libnotify: \(reason)")
            }
        }
        return fault == nil
    }

    // MARK: - The notification

    /// Shows the notification, or updates it.
    func show(_ message: NotificationMessage, on bus: BusShare) {
        let shown = current ?? Shown()
        current = shown
        isSending = true
        wasSkipped = false
        guard way != .dbus else { return showDirectly(message, as: shown, on: bus) }
        let object = shown.object ?? LibNotify.Notification(onClosed: bus.wake)
        shown.object = object
        let completion = bus.completion { [unowned self, unowned bus] (outcome: LibNotify.Outcome) in
            if case .done(let identifier) = outcome { return finish(shown, identifier) }
            // In the portal, only libnotify can close what an earlier call has shown.
            if way != .portal {
                LibNotify.shared.forget(object)
                shown.object = nil
            }
            if mayContinue(after: outcome), !shown.isHidden {
                showDirectly(message, as: shown, on: bus)
            } else {
                isSending = false
                wasSkipped = outcome == .skipped && !shown.isHidden
                if wasSkipped { logger.debug("the notification is shown when there are descriptors") }
            }
        }
        LibNotify.shared.show(message, as: object, replacing: shown.identifier, completion: completion)
    }

    private func showDirectly(_ message: NotificationMessage, as shown: Shown, on bus: BusShare) {
        // Without a time limit: even a late reply has the identifier to close.
        bus.call(notify(message, replacing: shown.identifier), within: nil) { [unowned self, unowned bus] in
            switch $0.map(\.arguments) {
            case .success(let values):
                guard case .uint32(let identifier)? = values.first else {
                    // What it may have shown cannot be closed: each update would show another one.
                    isSending = false
                    fault = .refused(reason: "the answer to Notify is no identifier")
                    return
                }
                let isNew = identifier != shown.identifier
                finish(shown, identifier)
                // The indicator was hidden meanwhile.
                if shown.isHidden, isNew { closeDirectly(shown, on: bus) }
            case .failure(let error):
                isSending = false
                fault = .refused(reason: error.description)
            }
        }
    }

    private func finish(_ shown: Shown, _ identifier: UInt32) {
        isSending = false
        shown.identifier = identifier
        shown.isOfSuccessor = serverHasChanged
        shownAt = .now
    }

    /// Renews the expiry, without a reply, which would be another wake-up. Therefore always over D-Bus.
    func renew(_ message: NotificationMessage, on bus: BusShare) {
        guard let current, current.identifier != 0 else { return }
        bus.send(notify(message, replacing: current.identifier, expectsReply: false))
    }

    /// Whether the notification that the user or the server has closed is the current one. Reports that once.
    func consumeClosed(_ identifier: UInt32) -> Bool {
        guard let current, identifier != 0, identifier == current.identifier else { return false }
        current.identifier = 0
        if let object = current.object.take() { LibNotify.shared.forget(object) }
        return true
    }

    /// Why the notification was closed, if libnotify knows that it was: the reason of `NotificationClosed`. Reports
    /// that once.
    func consumeClosed() -> UInt32? {
        guard let current, let object = current.object, let reason = object.closedReason else { return nil }
        current.identifier = 0
        current.object = nil
        LibNotify.shared.forget(object)
        return reason
    }

    /// Shows a separate notification, which stays.
    func announce(_ message: NotificationMessage, on bus: BusShare) {
        // With a reply, so that a process that ends waits for it.
        func announceDirectly() {
            bus.call(notify(message, replacing: 0), within: Self.answerLimit) { [logger] result in
                guard case .failure(let error) = result else { return }
                logger.warning("the server did not show the notification of an outcome: \(error)")
            }
        }
        guard way != .dbus else { return announceDirectly() }
        let completion = bus.completion { [unowned self] (outcome: LibNotify.Outcome) in
            if mayContinue(after: outcome) { announceDirectly() }
        }
        LibNotify.shared.announce(message, completion: completion)
    }

    /// Whether the notification is on the screen, as far as the server has reported.
    var isShown: Bool { current.map { $0.identifier != 0 } ?? false }

    /// The earliest time at which ``hide(on:)`` may be called.
    var mayHide: SuspendingClock.Instant {
        way == .portal ? (isSending ? .now : shownAt) + Self.portalCloseDelay : shownAt
    }

    /// Closes the notification.
    func hide(on bus: BusShare) {
        wasSkipped = false
        guard let shown = current.take() else { return }
        shown.isHidden = true
        guard let object = shown.object else { return closeDirectly(shown, on: bus) }
        closing.append(shown)
        let completion = bus.completion { [unowned self, unowned bus] (outcome: LibNotify.Outcome) in
            closing.removeAll { $0 === shown }
            if case .done = outcome { return }
            if case .lost = outcome { _ = mayContinue(after: outcome) }
            closeDirectly(shown, on: bus)
        }
        // After a call that is being made: also what is shown only now is closed.
        LibNotify.shared.close(object, completion: completion)
    }

    /// Closes everything at the end of the session, over D-Bus where that is possible: libnotify may wait for a server
    /// that hangs, and sends to whichever owns the name, where the identifier may be that of another app's notification.
    func end(on bus: BusShare) async {
        // The portal may hang.
        let limit = SuspendingClock.now + Self.portalCloseDelay
        while current != nil, mayHide > .now, limit > .now {
            guard (try? await bus.turn(until: min(mayHide, limit))) != nil else { break }
        }
        if let current, let object = current.object, way == .libnotify, !isSending, !current.isOfSuccessor {
            LibNotify.shared.forget(object)
            current.object = nil
        }
        hide(on: bus)
        for shown in closing { closeDirectly(shown, on: bus) }
    }

    private func closeDirectly(_ shown: Shown, on bus: BusShare) {
        guard shown.identifier != 0, way != .portal else { return }
        // With a reply, so that a process that ends waits for it.
        bus.call(
            call("CloseNotification", [.uint32(shown.identifier)]),
            within: Self.answerLimit
        ) { _ in }
    }

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
}
