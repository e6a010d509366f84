#if DesktopNotification
import Foundation
import IndicatorCore
import IndicatorThreads

/// The content of a notification.
struct NotificationContent: Sendable, Hashable {
    var summary: String
    var body: String
    /// The percentage for the server's bar; `nil` if it is unknown or the server shows no bar.
    var progress: Int?
    /// Whether the app waits for the user.
    var asks = false
}

/// One notification on one connection to a session bus (Desktop Notifications Specification 1.2).
///
/// Calls are asynchronous, so a server that hangs delays nothing. Only one `Notify` at a time waits for its reply.
final class NotificationSession: BusSession {
    /// At most two updates a second: faster ones are unreadable, and notification servers draw slowly.
    static let updateInterval = Duration.milliseconds(500)

    private static let path = "/org/freedesktop/Notifications"
    private static let interface = "org.freedesktop.Notifications"
    /// How long the server may take to answer a call.
    private static let answerLimit = Duration.seconds(2)
    /// How long the server may take to show a notification: the first one takes longer on a busy machine.
    private static let showLimit = Duration.seconds(5)
    /// The longest label or app name, in Unicode scalars.
    private static let valueLimit = 300

    /// The servers that draw a bar for the hint `value` in addition to the text. There is no capability for it:
    /// xfce4-notifyd shows the bar instead of the text, and most others ignore the hint.
    private static let serversWithBars: Set<String> = ["dunst", "fnott", "mako"]

    private let applicationName: String
    private let settings: DesktopNotificationSettings
    private let latest: @Sendable () -> IndicatorSnapshot

    /// The unique name of the server.
    private var owner = ""
    private var showsBars = false
    private var readsMarkup = false
    /// Why the server can no longer be used.
    private var fault: DesktopNotificationError?
    private(set) var canBeginAgain: Bool?

    /// The content that was sent last.
    private var shown: NotificationContent?
    private var sentAt = ContinuousClock.now
    /// The server's identifier of the notification; 0 if unknown or there is none.
    private var identifier: UInt32 = 0
    /// Whether a `Notify` waits for its reply.
    private var isSending = false
    /// Counts how often the notification was hidden.
    private var showing = 0
    /// The time since which the indicator was shown when ``shown`` was sent.
    private var shownSince: Date?
    /// The same for a notification that the user, or the server after `timeout`, has closed: it does not reappear until
    /// the indicator is shown again.
    private var dismissed: Date?

    /// - Parameters:
    ///   - applicationName: the name of the app; not empty.
    ///   - settings: the content and behaviour of the notification.
    ///   - latest: the latest snapshot.
    init(
        applicationName: String,
        settings: DesktopNotificationSettings,
        latest: @escaping @Sendable () -> IndicatorSnapshot
    ) {
        let name = DisplayText.singleLine(applicationName, limit: Self.valueLimit)
        self.applicationName = name.isEmpty ? "Indicator" : name
        self.settings = settings
        self.latest = latest
    }

    // MARK: - The server

    /// Finds the server and checks that it answers. Returns its name and version.
    func begin(on loop: BusLoop) throws -> String {
        for rule in [
            "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='\(Self.interface)'",
            "type='signal',sender='\(Self.interface)',member='NotificationClosed',path='\(Self.path)'",
        ] {
            try loop.callBus("AddMatch", [.string(rule)])
        }
        // Only queries the owner of the name: no server is started.
        do throws(BusError) {
            owner = try loop.callBus("GetNameOwner", [.string(Self.interface)]).first?.text ?? ""
        } catch {
            guard error.name == "org.freedesktop.DBus.Error.NameHasNoOwner" else { throw error }
            throw waiting(after: .noServer)
        }
        let information = try ask("GetServerInformation", on: loop)
        if case .strings(let capabilities)? = try ask("GetCapabilities", on: loop).first {
            readsMarkup = capabilities.contains("body-markup")
        }
        if let fault { throw waiting(after: fault) }
        let texts = information.compactMap(\.text).map { DisplayText.singleLine($0, limit: 40) }
        showsBars = texts.first.map(Self.serversWithBars.contains) ?? false
        // The name, vendor, version and version of the specification.
        return texts.count == 4 ? "\(texts[0]) \(texts[2])" : owner
    }

    private func ask(_ member: String, on loop: BusLoop) throws -> [BusValue] {
        do throws(BusError) {
            return try loop.call(call(member), timeLimit: Self.answerLimit)
        } catch .noReply {
            // The reply to this call arrives when the server continues.
            loop.call(call(member), within: nil) { [unowned self] _ in canBeginAgain = true }
            throw waiting(after: .notResponding)
        } catch .disconnected {
            throw BusError.disconnected
        } catch .cancelled {
            throw BusError.cancelled
        } catch {
            // The server does not have this method.
            return []
        }
    }

    private func waiting(after error: DesktopNotificationError) -> DesktopNotificationError {
        canBeginAgain = error == .replaced
        return error
    }

    private func call(_ member: String, _ arguments: [BusValue] = [], expectsReply: Bool = true) -> BusMessage {
        .call(
            owner,
            path: Self.path,
            interface: Self.interface,
            member: member,
            arguments,
            expectsReply: expectsReply
        )
    }

    func receive(_ signal: BusMessage) {
        switch (signal.member, signal.signature) {
        case ("NameOwnerChanged", "sss") where signal.sender == "org.freedesktop.DBus":
            guard signal.arguments.first?.text == Self.interface, let new = signal.arguments.last?.text else { return }
            fault = new.isEmpty ? .noServer : .replaced
            if canBeginAgain != nil { canBeginAgain = !new.isEmpty }
        case ("NotificationClosed", "uu") where signal.sender == owner:
            guard case .uint32(let closed)? = signal.arguments.first, closed == identifier, closed != 0 else { return }
            identifier = 0
            // After the system was suspended, it may have expired before the app could renew it.
            let hasExpired = settings.timeout == nil && sentAt.duration(to: .now) >= settings.expiry
            if hasExpired { shown = nil } else { dismissed = shownSince }
        default:
            return
        }
    }

    // MARK: - The notification

    func update(on loop: BusLoop) throws -> ContinuousClock.Instant? {
        if let fault { throw fault }
        let snapshot = latest()
        announce(snapshot.finished.filter { settings.whenDone.covers($0, after: settings.after) }, on: loop)
        guard snapshot.isVisible, settings.showsIndicator else {
            hide(on: loop)
            return nil
        }
        if isSending {
            let due = sentAt + Self.showLimit
            guard due > .now else { throw DesktopNotificationError.notResponding }
            return due
        }
        if let dismissed {
            guard dismissed != snapshot.since else { return nil }
            // The hidden snapshot in between was skipped.
            hide(on: loop)
        }
        shownSince = snapshot.since
        let content = content(for: snapshot)
        if content != shown {
            let due = sentAt + Self.updateInterval
            guard shown == nil || due <= .now else { return due }
            show(content, on: loop)
            return sentAt + Self.showLimit
        }
        let tick = formats.contains(where: \.showsTime) ? ContinuousClock.now + .seconds(1) : nil
        guard settings.timeout == nil else { return tick }
        if sentAt + settings.renewal <= .now {
            // Without a reply, which would be another wake-up.
            loop.send(call("Notify", arguments(for: content), expectsReply: false))
            sentAt = .now
        }
        return tick ?? sentAt + settings.renewal
    }

    func end(on loop: BusLoop) { hide(on: loop) }

    private func show(_ content: NotificationContent, on loop: BusLoop) {
        let showing = showing
        let replaced = identifier
        shown = content
        sentAt = .now
        isSending = true
        // Without a time limit: even a late reply has the identifier to close.
        loop.call(call("Notify", arguments(for: content)), within: nil) { [unowned self, unowned loop] in
            isSending = false
            switch $0.map(\.arguments) {
            case .success(let values):
                guard case .uint32(let new)? = values.first else { return }
                if showing == self.showing {
                    identifier = new
                } else if new != replaced {
                    // The indicator was hidden meanwhile.
                    close(new, on: loop)
                }
            case .failure(let error): fault = .refused(reason: error.description)
            }
        }
    }

    private func hide(on loop: BusLoop) {
        if identifier != 0 { close(identifier, on: loop) }
        identifier = 0
        shown = nil
        dismissed = nil
        showing += 1
    }

    /// With a reply, so that a process that ends waits for it.
    private func close(_ identifier: UInt32, on loop: BusLoop) {
        loop.call(call("CloseNotification", [.uint32(identifier)]), within: Self.answerLimit) { _ in }
    }

    /// Shows one ordinary notification of these outcomes.
    private func announce(_ finished: [FinishedActivity], on loop: BusLoop) {
        guard let notice = OutcomeNotice(finished, applicationName: applicationName) else { return }
        var hints = [BusProperty("urgency", .byte(DesktopNotificationSettings.Urgency.normal.level))]
        let category = notice.isFailure ? "transfer.error" : "transfer.complete"
        if !settings.category.isEmpty { hints.append(BusProperty("category", .string(category))) }
        let message = call(
            "Notify",
            [
                .string(applicationName), .uint32(0), .string(settings.protocolIcon), .string(notice.title),
                .string(readsMarkup ? Self.escaped(notice.body) : notice.body), .strings([]), .properties(hints),
                .int32(-1),
            ]
        )
        // With a reply, as in `close`.
        loop.call(message, within: Self.answerLimit) { _ in }
    }

    private func arguments(for content: NotificationContent) -> [BusValue] {
        let urgency = max(settings.urgency.level, content.asks ? DesktopNotificationSettings.Urgency.normal.level : 0)
        var hints: [BusProperty] = [
            BusProperty("urgency", .byte(urgency)),
            BusProperty("transient", .boolean(settings.isTransient)),
            BusProperty("suppress-sound", .boolean(true)),
        ]
        if !settings.category.isEmpty { hints.append(BusProperty("category", .string(settings.category))) }
        if let progress = content.progress { hints.append(BusProperty("value", .int32(Int32(progress)))) }
        let body = readsMarkup ? Self.escaped(content.body) : content.body
        return [
            .string(applicationName), .uint32(identifier), .string(settings.protocolIcon), .string(content.summary),
            .string(body), .strings([]), .properties(hints),
            .int32(Self.milliseconds(settings.timeout ?? settings.expiry)),
        ]
    }

    private func content(for snapshot: IndicatorSnapshot) -> NotificationContent {
        func text(_ format: SnapshotFormat?) -> String {
            format?.text(for: snapshot, applicationName: applicationName, valueLimit: Self.valueLimit) ?? ""
        }
        let summary = text(settings.summary)
        var body = text(settings.body)
        let progress = Percentage(snapshot.progress)?.value
        if let progress, !showsBars, !formats.contains(where: { $0.placeholders.contains(.progress) }) {
            body += body.isEmpty ? "\(progress)%" : " \(progress)%"
        }
        return NotificationContent(
            summary: summary.isEmpty ? applicationName : summary,
            body: body,
            progress: showsBars ? progress : nil,
            asks: snapshot.attention != nil
        )
    }

    private var formats: [SnapshotFormat] { [settings.summary, settings.body].compactMap(\.self) }

    /// Escapes `&`, `<` and `>` for a server that supports markup (section "Markup").
    package static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }

    /// At least 1: 0 means that it never expires, and makes notify-osd show a dialog.
    private static func milliseconds(_ duration: Duration) -> Int32 {
        max(1, Int32(clamping: duration.wholeMilliseconds))
    }
}
#endif
