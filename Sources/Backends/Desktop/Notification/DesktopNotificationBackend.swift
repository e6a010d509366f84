import DisplayText
import BackendConfiguration
import Foundation
public import IndicatorCore
package import IndicatorThreads
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
/// ``stop()`` returns when the server has closed the notification. If the app crashes, the server removes it within a
/// minute, except GNOME's: it expires after 55 seconds, and is renewed every 35 seconds.
///
/// Notifications are sent through libnotify where it is installed and safe, otherwise over D-Bus: see
/// the article "Desktop notifications". The backend is unavailable while there is no server or the server does not
/// answer. It shares its connection to the session bus, and the thread, with the other backends of the process that use
/// it.
public final class DesktopNotificationBackend: ConnectedBackend {
    /// The name that the config file and the diagnostics use.
    public let name: String

    private let applicationName: String
    private let settings: DesktopNotificationSettings
    private let logger: Logger
    private let surface = BusSurface(on: .session)

    /// Makes a backend. Does not connect before ``start()``.
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
        self.name = name
        self.applicationName = applicationName
        self.settings = settings
        self.logger = logger
    }

    /// Includes changes while the indicator is hidden if outcomes are reported: activities may end then.
    public var delivery: BackendDelivery { BackendDelivery(includesHidden: settings.whenDone != .never) }

    package var thread: ServiceThread { surface.thread }

    /// Keeps the handle, to report when the server appears or vanishes.
    public func attach(to control: IndicatorControl) {
        surface.attach(to: control)
    }

    /// Looks for a notification server. Throws if there is none, or no bus.
    public func start() async throws {
        let address = try DBusAddress.session.resolved(in: ProcessInfo.processInfo.environment)
        let (name, settings, logger) = (applicationName, settings, logger)
        try await surface.start(at: address) { _, latest in
            NotificationSession(
                applicationName: name,
                settings: settings,
                address: address,
                logger: logger,
                latest: latest
            )
        }
    }

    /// Shows the snapshot. Throws if that is not possible now.
    public func update(_ snapshot: IndicatorSnapshot) async throws {
        try await surface.update(snapshot)
    }

    /// Closes the notification. Waits for a server that hangs for at most 0.7 s, for a portal 1.2 s.
    public func stop() async {
        await surface.stop()
    }
}

/// Why no notification server shows the indicator. Errors of the bus itself are a `MessageBusError`.
package enum DesktopNotificationError: BackendProblem, Sendable, Hashable {
    /// There is no notification server on this bus.
    case noServer
    /// Another notification server has replaced the one in use.
    case replaced
    /// The notification server does not answer.
    case notResponding
    /// The notification server answered with an error.
    case refused(reason: String)
    /// libnotify cannot be used, and there is no other way: as configured, or in a sandbox.
    case withoutLibNotify(reason: String)

    /// The problem.
    package var reason: String {
        switch self {
        case .noServer: "no notification server owns org.freedesktop.Notifications on this bus"
        case .replaced: "the notification server was replaced by another one"
        case .notResponding: "the notification server does not answer"
        case .refused(let reason): "the notification server rejected the notification: \(reason)"
        case .withoutLibNotify(let reason): "libnotify cannot be used: \(reason)"
        }
    }

    /// What to do, if the user can do anything.
    package var help: String? {
        switch self {
        case .noServer: "install or start one, e.g. dunst"
        case .replaced, .notResponding: "it is used again as soon as it answers"
        case .refused: nil
        case .withoutLibNotify: "outside a sandbox, 'through: auto' sends over D-Bus then"
        }
    }
}
