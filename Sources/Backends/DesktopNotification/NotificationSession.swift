#if DesktopNotification
import Foundation
import IndicatorCore

/// What a notification says at one moment.
struct NotificationContent: Sendable, Hashable {
    var summary: String
    var body: String
    /// In percent; `nil` when it is not known.
    var progress: Int?
}

/// The one notification of a backend, from the first `start()` to the end of the backend.
///
/// Shows a change at once when the last one is half a second ago, and otherwise when it is.
final class NotificationSession: @unchecked Sendable {
    // `@unchecked`: everything but the constants is used on the notification thread only.

    /// At most two updates a second: faster ones cannot be read, and notification servers draw slowly.
    static let updateInterval = Duration.milliseconds(500)

    let applicationName: String
    let settings: DesktopNotificationSettings
    let control: IndicatorControl

    /// The notification that is on the screen.
    private var notification: LibNotification?
    /// What it shows.
    private var shown: NotificationContent?
    private var shownAt: ContinuousClock.Instant?
    /// What is to be shown; `nil` when nothing is.
    private var wanted: NotificationContent?
    /// Whether the user, or the server after `timeout`, took it away: it does not come back before the indicator was hidden.
    private var isDismissed = false
    /// Shows what came too early.
    private var timer: AnyObject?

    init(applicationName: String, settings: DesktopNotificationSettings, control: IndicatorControl) {
        self.applicationName = applicationName
        self.settings = settings
        self.control = control
    }

    /// Shows `content`, now or soon.
    func show(_ content: NotificationContent, on hub: NotificationHub) throws(DesktopNotificationError) {
        wanted = content
        guard !isDismissed, content != shown, timer == nil else { return }
        if notification != nil, let shownAt {
            let wait = Self.updateInterval - shownAt.duration(to: .now)
            if wait > .zero {
                timer = hub.timer(after: wait) { [weak self, weak hub] in
                    guard let self, let hub else { return }
                    timer = nil
                    showWanted(on: hub)
                }
                return
            }
        }
        try present(content, on: hub)
    }

    /// Takes the notification away.
    func hide(on hub: NotificationHub) {
        wanted = nil
        isDismissed = false
        timer = nil
        shown = nil
        if let notification { hub.close(notification) }
        notification = nil
    }

    /// The server was replaced, answers again, or appeared.
    func serverIsThere() {
        control.retry()
        guard wanted != nil else { return }
        // The new server knows nothing of the notification of the old one.
        NotificationThread.shared.enqueue { [weak self] hub in
            guard let self, wanted != nil else { return }
            notification = nil
            shown = nil
            showWanted(on: hub)
        }
    }

    /// There is nobody any more who could show anything.
    func lost(_ error: DesktopNotificationError) {
        forget()
        control.surfaceWasLost(error.description)
    }

    /// Lets go of a notification that no server knows any more.
    func forget() {
        notification = nil
        shown = nil
        timer = nil
    }

    /// The server has taken a notification away.
    func wasClosed(_ identifier: UInt32) {
        guard let notification, notification.identifier == identifier || notification.identifier == 0 else { return }
        isDismissed = true
        timer = nil
    }

    private func showWanted(on hub: NotificationHub) {
        guard let wanted, wanted != shown, !isDismissed else { return }
        do throws(DesktopNotificationError) {
            try present(wanted, on: hub)
        } catch {
            control.surfaceWasLost(error.description)
        }
    }

    private func present(_ content: NotificationContent, on hub: NotificationHub) throws(DesktopNotificationError) {
        let body = hub.readsMarkup ? NotificationText.escaped(content.body) : content.body
        let notification = notification ?? makeNotification(content, on: hub)
        notification.setTexts(summary: content.summary, body: body, icon: settings.protocolIcon)
        notification.setHint("value", content.progress.map { .int32(Int32($0)) })
        try hub.show(notification)
        self.notification = notification
        shown = content
        shownAt = .now
    }

    private func makeNotification(_ content: NotificationContent, on hub: NotificationHub) -> LibNotification {
        let notification = hub.makeNotification(
            applicationName: applicationName,
            summary: content.summary,
            body: content.body,
            icon: settings.protocolIcon
        )
        notification.setUrgency(settings.urgency.level)
        notification.setCategory(settings.category)
        notification.setTimeout(settings.timeout.map(Self.milliseconds) ?? 0)
        notification.setHint("transient", .boolean(settings.isTransient))
        notification.setHint("suppress-sound", .boolean(true))
        return notification
    }

    /// At least one: 0 would be for ever.
    private static func milliseconds(_ duration: Duration) -> Int32 {
        let (seconds, attoseconds) = duration.components
        return max(1, Int32(clamping: seconds &* 1000 + attoseconds / 1_000_000_000_000_000))
    }
}
#endif
