public import BackendConfiguration
import IndicatorCore
import Foundation
public import Logging

/// The indicator as a notification on the user's desktop (Desktop Notifications Specification).
///
/// A single notification appears when the indicator is shown, is updated in place when its text or progress changes, at
/// most twice a second, and is closed when the indicator is hidden. It makes no sound. If the user closes it, it stays
/// closed until the indicator is shown again. If the server does so of its own accord, the next change shows it again.
/// What each desktop shows of it is in the article "Desktops".
///
/// With ``DesktopNotificationSettings/whenDone``, a long activity leaves a persistent notification of its outcome, with
/// normal urgency.
///
/// The backend ends when the server has closed the notification. If the app crashes, the server removes it within a
/// minute, except GNOME's: it expires after 55 seconds, and is renewed every 35 seconds.
///
/// Notifications are sent through libnotify while it is healthy, otherwise over D-Bus: see the article "Desktop
/// notifications". The backend is unavailable while there is no server or the server does not answer.
public final class DesktopNotificationBackend: BusBackend, @unchecked Sendable {
    // `@unchecked`: as its superclass.

    /// Makes a backend. Does not connect.
    ///
    /// - Parameters:
    ///   - name: the name that the config file and the diagnostics use.
    ///   - applicationName: the name of the app.
    ///   - settings: the content and behaviour of the notification.
    ///   - logger: where it is logged how notifications are sent, and why.
    public init(
        name: String = "desktopNotification",
        applicationName: String,
        settings: DesktopNotificationSettings = DesktopNotificationSettings(),
        logger: Logger = Logger(label: "IndicatorBackends.DesktopNotification")
    ) {
        super.init(
            name: name,
            on: .session,
            // Activities whose outcomes are reported may end while the indicator is hidden.
            delivery: BackendDelivery(includesHidden: settings.shownOutcomes != .never)
        ) {
            NotificationSession(applicationName: applicationName, settings: settings, logger: logger, context: $0)
        }
    }
}

extension BackendKind {
    /// A notification on the user's desktop.
    public static var desktopNotification: BackendKind {
        BackendKind(
            name: "desktopNotification",
            summary: "a notification on the desktop",
            settings: DesktopNotificationSettings.init(_:),
            bus: { _ in .session },
            automatic: { context, _ in
                let desktop = DesktopSituation(context.environment)
                return AutomaticFit(desktop.isPresent, desktop.reason)
            },
            make: {
                let (name, app) = ($0.name, $0.applicationName)
                return DesktopNotificationBackend(name: name, applicationName: app, settings: $1, logger: $0.logger)
            }
        )
    }
}

extension DesktopNotificationSettings {
    init(_ values: inout SettingsReader) {
        self.init()
        values.read(
            "summary",
            &summary,
            .format,
            summary: "the first line; may contain {app}, {label}, {count}, {progress}, {done}, {total}, {rate}, "
                + "{elapsed} and {remaining}"
        )
        values.read(
            "body",
            &body,
            .formatOrNone,
            summary: "the text below it, with the same placeholders; empty for none"
        )
        values.read("icon", &icon, .text, summary: "the name of an icon in the theme, or the path of an image")
        values.read("urgency", &urgency, .choice, summary: "the urgency level")
        let history = "asks servers to keep no history of it; GNOME, dunst and mako do"
        values.read("transient", &isTransient, .boolean, summary: history)
        values.read(
            "timeout",
            &timeout,
            .time,
            example: .seconds(30),
            summary: "how long until the server closes it; by default until the indicator is hidden"
        )
        values.read("category", &category, .text, summary: "the category of the notification")
        values.read(
            "live",
            &isLive,
            .boolean,
            summary: "whether to show what goes on; false: only how it ended, as whenDone: always"
        )
        values.read(whenDone: &whenDone)
        values.read(after: &after)
        values.read(
            "through",
            &through,
            .choice,
            summary: "how notifications are sent; auto: through libnotify while it is healthy"
        )
    }
}
