import DisplayText
import BackendConfiguration
import Foundation
import IndicatorCore
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
/// `stop()` returns when the server has closed the notification. If the app crashes, the server removes it within a
/// minute, except GNOME's: it expires after 55 seconds, and is renewed every 35 seconds.
///
/// Notifications are sent through libnotify while it is healthy, otherwise over D-Bus: see the article "Desktop
/// notifications". The backend is unavailable while there is no server or the server does not answer.
public final class DesktopNotificationBackend: BusBackend, @unchecked Sendable {
    // `@unchecked`: as its superclass.

    /// Makes a backend. Does not connect before `start()`.
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
        ) { context in
            NotificationSession(
                applicationName: applicationName,
                settings: settings,
                address: context.address,
                logger: logger,
                latest: context.latest
            )
        }
    }
}
