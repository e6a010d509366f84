import BackendConfiguration
import IndicatorCore
import Foundation
import Logging

/// How a server shows a notification that lasts. There is no capability for it.
private enum ServerStyle {
    /// On the screen until it is closed, or for a time that the server chooses. The hint `value` is ignored, or shown
    /// instead of the text (xfce4-notifyd).
    case text
    /// The same, with a bar for the hint `value` in addition to the text.
    case bar
    /// MATE: as `text`. Its button to close one reports that it has expired (mate-notification-daemon issue 129).
    case textWithButton
    /// GNOME: low urgency only in the list below the clock, from which the expiry does not remove it; others first as a
    /// banner for 4 s, with which a transient one is removed. Each change of one with normal urgency shows its banner
    /// again, and keeps those of other apps away. GNOME 48 loses one whose urgency changes. Only the connection that
    /// has shown one may change it. So the user gets a banner, which is not changed, and then another notification,
    /// with low urgency, in the list.
    case list
    /// Cinnamon: for 4 s after the last change. Then it closes a transient one, and reports that as the user's close.
    /// Its button to close one reports the reason 0 in version 5.6.
    case brief

    /// By the name and the vendor in the answer to `GetServerInformation`.
    init(serverName name: String, vendor: String) {
        switch (name, vendor) {
        case ("SwayNotificationCenter", _), ("dunst", _), ("fnott", _), ("mako", _): self = .bar
        case ("Notification Daemon", "MATE"): self = .textWithButton
        case ("gnome-shell", _): self = .list
        case ("cinnamon", _): self = .brief
        default: self = .text
        }
    }

    /// Whether the user has closed a notification that has not expired.
    ///
    /// - Parameters:
    ///   - reason: the reason of `NotificationClosed`, which is 2 for the user.
    ///   - time: the time since it was sent.
    ///   - isTransient: whether it was sent as a transient one.
    func wasDismissed(for reason: UInt32, after time: Duration, isTransient: Bool) -> Bool {
        switch (self, reason) {
        case (.textWithButton, 1), (.brief, 0): true
        case (.brief, 2): !isTransient || time < .seconds(4)
        default: reason == 2
        }
    }

    /// Why libnotify, which has a connection of its own, is not used.
    var objection: String? { self == .list ? "only the connection that shows a notification may close it" : nil }
}

/// One notification on one connection to a session bus (Desktop Notifications Specification 1.2).
///
/// The session finds the server, checks that it answers, watches it, and closes; how it sends is in another file. Calls
/// are asynchronous, so a server that hangs delays nothing. Only one at a time that shows the indicator waits for its
/// reply.
final class NotificationSession: BusSession {
    /// At most two updates a second: faster ones are unreadable, and notification servers draw slowly.
    static let updateInterval = Duration.milliseconds(500)

    /// Some portals show each update as a new notification.
    static let portalUpdateInterval = Duration.seconds(2)

    /// When a banner of GNOME is closed if GNOME has not done it: while the user is away, or wants no banners.
    private static let bannerLimit = Duration.seconds(5)

    static let notResponding = Unavailability(
        reason: "the notification server does not answer",
        help: "it is asked again from time to time"
    )
    /// How long the server may take to show a notification: the first one takes longer on a busy machine.
    private static let showLimit = Duration.seconds(5)
    /// How long what ends is added to the notification of what has ended before.
    private static let outcomeTime = Duration.seconds(5)

    let applicationName: String
    let settings: DesktopNotificationSettings
    let logger: Logger
    let context: BusBackend.Context
    private let icon: String
    /// The name of the app's desktop file, if it has one.
    private let desktopEntry: String?

    let server = BusService(NotificationSession.interface, help: "install or start one, e.g. dunst")
    private let portal = BusService(NotificationSession.portalName)
    private var style = ServerStyle.text
    private var readsMarkup = false
    var way = Way.dbus

    /// What is on the screen, or on its way there, of what goes on.
    var live: LiveNotification?
    /// What has ended in the last seconds.
    var outcomes: Outcomes?
    var hasReportedRefusal = false

    init(applicationName: String, settings: DesktopNotificationSettings, logger: Logger, context: BusBackend.Context) {
        let name = SafeText.singleLine(applicationName)
        self.applicationName = name.isEmpty ? "Indicator" : name
        (self.settings, self.logger, self.context) = (settings, logger, context)
        icon = settings.protocolIcon()
        desktopEntry = DesktopFile.name(of: applicationName, in: ProcessInfo.processInfo.environment)
    }

    // MARK: - The server

    /// Finds the server, checks that it answers, and chooses how to send. Returns both.
    func begin(on bus: BusConnection) async throws -> String {
        if isSandboxed {
            // Starts the portal, as its clients do.
            _ = try await ask(.busCall("StartServiceByName", [.string(Self.portalName), .uint32(0)]), on: bus)
            do {
                try await bus.find(portal)
                way = .portal
            } catch is Unavailability {}
        }
        let summary = way == .portal ? "the desktop portal" : try await findServer(on: bus)
        logger.debug("notifications are sent to \(summary)")
        return summary
    }

    private func findServer(on bus: BusConnection) async throws -> String {
        try await bus.addMatch(
            "type='signal',sender='\(Self.interface)',member='NotificationClosed',path='\(Self.path)'"
        )
        // Only queries the owner of the name: no server is started.
        try await bus.find(server)
        let information = try await ask(call("GetServerInformation"), on: bus)
        if case .strings(let capabilities)? = try await ask(call("GetCapabilities"), on: bus).first {
            readsMarkup = capabilities.contains("body-markup")
        }
        if let fault = server.fault { throw fault }
        let texts = information.compactMap(\.text).map { SafeText.singleLine($0, limit: 40) }
        // The name, vendor, version and version of the specification.
        let isComplete = information.count == 4 && texts.count == 4
        style = isComplete ? ServerStyle(serverName: texts[0], vendor: texts[1]) : .text
        let name = isComplete ? "\(texts[0]) \(texts[2])" : server.owner
        var problem =
            isComplete ? style.objection : "its answer to GetServerInformation, which libnotify needs, is wrong"
        if settings.through == .dbus { problem = "as configured" }
        // libnotify would use the portal.
        if isSandboxed { problem = "there is no desktop portal" }
        if problem == nil { problem = try await openLibNotify(on: bus) }
        return name + " " + (problem.map { "over D-Bus, without libnotify: \($0)" } ?? "through libnotify")
    }

    /// The answer to a call; empty after an error.
    private func ask(_ message: BusMessage?, on bus: BusConnection) async throws -> [BusValue] {
        do throws(BusError) {
            return try await bus.call(message, timeLimit: Self.answerLimit)
        } catch {
            if error == .noReply { throw Self.notResponding }
            // The server does not have this method; an end of the connection is noticed anyway.
            return []
        }
    }

    /// The user, or the server, has closed a notification.
    func wasClosed(_ identifier: UInt32, for reason: UInt32) {
        if outcomes?.identifier == identifier { outcomes = nil }
        // Through libnotify, whose connection is another one, the answer to the update may arrive before this.
        guard let live, identifier != 0, [live.identifier, live.formerIdentifier].contains(identifier) else { return }
        if identifier == live.identifier { live.identifier = 0 }
        let time = live.sentAt.duration(to: .now)
        let wasDismissed = style.wasDismissed(for: reason, after: time, isTransient: settings.isTransient)
        if settings.timeout != nil || wasDismissed { live.isDismissed = true }
    }

    // MARK: - The notification

    func show(_ update: IndicatorUpdate, on bus: BusConnection) throws -> SuspendingClock.Instant? {
        let snapshot = update.snapshot
        // Before outcomes are announced: those of an update that throws are delivered again.
        let due = live.flatMap { $0.isSending ? $0.sentAt + Self.showLimit : nil }
        if let due, snapshot.isVisible, settings.isLive, due <= .now { throw Self.notResponding }
        let finished = update.finished.filter { settings.shownOutcomes.covers($0, after: settings.after) }
        let omitted = update.omittedFinished
        if let notice = OutcomeNotice(finished, omitted: omitted, applicationName: applicationName) {
            announce(notice, on: bus)
        }
        guard snapshot.isVisible, settings.isLive else {
            if live?.isLeaving == false, mayHide > .now { return mayHide }
            hide(on: bus)
            return nil
        }
        if let due { return due }
        if let card = live, card.isDismissed {
            // An update was on its way when it was closed, and has shown it again.
            close(card, on: bus)
            card.identifier = 0
            if card.period == snapshot.period { return nil }
            // The hidden snapshot in between was skipped.
            live = nil
        }
        let shown = live?.message
        live?.period = snapshot.period
        // During the completion delay, the last content stays.
        let message = snapshot.activityCount == 0 ? shown ?? message(for: snapshot) : message(for: snapshot)
        if style == .list, let card = live, card.message.urgency != message.urgency {
            let due = card.sentAt + (card.message.urgency == .low ? Self.updateInterval : Self.bannerLimit)
            guard due <= .now || card.identifier == 0 else { return due }
            hide(on: bus)
        }
        guard let card = live, message == card.message else {
            let interval = way == .portal ? Self.portalUpdateInterval : Self.updateInterval
            if let due = live.map({ $0.sentAt + interval }), due > .now { return due }
            let card = live ?? LiveNotification(message, snapshot.period)
            (card.message, card.announced) = (message, (snapshot.since, snapshot.attention != nil))
            live = card
            send(card, on: bus)
            return card.sentAt + Self.showLimit
        }
        let tick = formats.contains(where: \.showsTime) ? SuspendingClock.now + .seconds(1) : nil
        guard settings.timeout == nil, way != .portal, style != .list else { return tick }
        if card.sentAt + settings.renewal <= .now {
            renew(message, on: bus)
            card.sentAt = .now
        }
        return tick ?? card.sentAt + settings.renewal
    }

    /// One ordinary notification of the outcomes of the last seconds, which stays.
    final class Outcomes: NotificationCard {
        fileprivate var notice: OutcomeNotice
        /// When what ends gets another notification.
        fileprivate var until = SuspendingClock.now
        /// Whether more has ended since it was sent.
        fileprivate var isOutdated = false

        fileprivate init(_ notice: OutcomeNotice) { self.notice = notice }
    }

    /// Shows outcomes: in the notification of those of the last seconds, if there is one.
    private func announce(_ notice: OutcomeNotice, on bus: BusConnection) {
        let outcomes: Outcomes
        if let last = self.outcomes, last.until > .now {
            outcomes = last
            outcomes.notice.add(notice)
        } else {
            outcomes = Outcomes(notice)
        }
        self.outcomes = outcomes
        outcomes.until = .now + Self.outcomeTime
        if outcomes.isSending { outcomes.isOutdated = true } else { send(outcomes, on: bus) }
    }

    private func send(_ outcomes: Outcomes, on bus: BusConnection) {
        let message = message(outcomes.notice.title, outcomes.notice.body, urgency: .normal, milliseconds: -1)
        outcomes.isOutdated = false
        send(message, as: outcomes, on: bus) { [self, unowned bus] outcome in
            switch outcome {
            case .success(let identifier):
                outcomes.identifier = identifier
                if outcomes.isOutdated { send(outcomes, on: bus) }
            case .failure(let loss):
                let text = "\(outcomes.notice.title): \(outcomes.notice.body)"
                let name = context.name
                logger.warning("'\(name)' did not report '\(text)': \(loss.reason)", metadata: ["backend": "\(name)"])
            }
        }
    }

    private func message(for snapshot: IndicatorSnapshot) -> NotificationMessage {
        func text(_ format: SnapshotFormat?) -> String {
            format?.text(for: snapshot, applicationName: applicationName, valueLimit: SafeText.limit) ?? ""
        }
        let summary = text(settings.summary)
        var body = text(settings.body)
        let urgency = urgency(for: snapshot)
        var hints: [BusProperty] = [
            BusProperty("transient", .boolean(style == .list ? urgency == .normal : settings.isTransient)),
            BusProperty("suppress-sound", .boolean(true)),
        ]
        if let progress = Percentage(snapshot.progress) {
            if style == .bar {
                hints.append(BusProperty("value", .int32(Int32(progress.value))))
            } else if !formats.contains(where: { $0.placeholders.contains(.progress) }) {
                body += (body.isEmpty ? "" : " ") + progress.text()
            }
        }
        return message(
            summary.isEmpty ? applicationName : summary,
            body,
            urgency: urgency,
            hints: hints,
            // At least 1: 0 means that it never expires, and makes notify-osd show a dialog.
            milliseconds: max(1, Int32(clamping: (settings.timeout ?? settings.expiry).wholeMilliseconds))
        )
    }

    private func message(
        _ summary: String,
        _ body: String,
        urgency: DesktopNotificationSettings.Urgency,
        hints: [BusProperty] = [],
        milliseconds: Int32
    ) -> NotificationMessage {
        var hints = hints
        if !settings.category.isEmpty { hints.append(BusProperty("category", .string(settings.category))) }
        if let desktopEntry { hints.append(BusProperty("desktop-entry", .string(desktopEntry))) }
        return NotificationMessage(
            applicationName: applicationName,
            icon: icon,
            summary: summary,
            body: readsMarkup ? SafeText.markup(body) : body,
            urgency: urgency,
            otherHints: hints,
            milliseconds: milliseconds
        )
    }

    private func urgency(for snapshot: IndicatorSnapshot) -> DesktopNotificationSettings.Urgency {
        let asks = snapshot.attention != nil
        switch (settings.urgency, style) {
        case (.critical, _): return .critical
        case (_, .list):
            guard let announced = live?.announced, announced.since == snapshot.since else { return .normal }
            return asks && !announced.asks ? .normal : .low
        case (let urgency, _): return asks ? .normal : urgency
        }
    }

    private var formats: [SnapshotFormat] { [settings.summary, settings.body].compactMap(\.self) }
}
