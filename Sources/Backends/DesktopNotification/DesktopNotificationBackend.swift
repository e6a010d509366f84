#if DesktopNotification
import Foundation
public import IndicatorCore

/// The indicator as a notification on the user's desktop, by the Desktop Notifications Specification.
///
/// One notification: it appears when the indicator is shown, is updated in place at most twice a second and only when
/// its text or its progress has changed, and is closed when the indicator is hidden. It makes no sound. After the user
/// has closed it, it stays closed until the indicator is shown the next time.
///
/// With ``DesktopNotificationSettings/whenDone``, an activity that has lasted leaves an ordinary notification of its
/// outcome, of normal urgency, which stays.
///
/// ``stop()`` returns when the server has closed it. If the app crashes, the server removes it within a minute: it
/// expires after 55 seconds, which begin anew every 35 seconds.
///
/// No server is ever started for it. Without one, or while it does not answer, the backend is unavailable; it is
/// available again as soon as the server is. The backend has a private connection to the session bus and a thread of
/// its own, and shares nothing with other users of D-Bus, GLib or libnotify in the process.
public final class DesktopNotificationBackend: IndicatorBackend {
    /// The name that the config file and the diagnostics use.
    public let name: String

    private let applicationName: String
    private let settings: DesktopNotificationSettings
    private let surface = BusSurface()

    /// Makes a backend. It touches no bus before ``start()``.
    ///
    /// - Parameters:
    ///   - name: its name among the backends of an indicator.
    ///   - applicationName: the name of the app.
    ///   - settings: what it shows, and how.
    public init(
        name: String = "desktopNotification",
        applicationName: String,
        settings: DesktopNotificationSettings = DesktopNotificationSettings()
    ) {
        self.name = name
        self.applicationName = applicationName
        self.settings = settings
    }

    /// Hidden changes too, if outcomes are wanted: an activity may end while the indicator is hidden.
    public var delivery: BackendDelivery { BackendDelivery(includesHidden: settings.whenDone != .never) }

    /// Keeps the handle, for servers that appear and vanish.
    public func attach(to control: IndicatorControl) {
        surface.attach(to: control)
    }

    /// Looks for a notification server. Throws ``DesktopNotificationError``, or ``DBusPropertyError`` when there is no
    /// bus.
    public func start() async throws {
        let address = try DBusAddress.session.resolved(in: ProcessInfo.processInfo.environment)
        let (name, settings) = (applicationName, settings)
        try await surface.start(name: "ind-notify", address: address) { _, latest in
            NotificationSession(applicationName: name, settings: settings, latest: latest)
        }
    }

    /// Shows the snapshot. Throws when that is not possible now.
    public func update(_ snapshot: IndicatorSnapshot) async throws {
        try surface.update(snapshot)
    }

    /// Closes the notification. Waits at most 0.7 s for a server that hangs.
    public func stop() async {
        await surface.stop()
    }
}

/// Why no notification server shows the indicator. What is wrong with the bus itself is a ``DBusPropertyError``.
public enum DesktopNotificationError: Error, Sendable, Hashable, CustomStringConvertible {
    /// No process shows notifications on this bus.
    case noServer
    /// Another notification server has taken the place of the one that was used.
    case replaced
    /// The notification server does not answer.
    case notResponding
    /// The notification server answered with an error.
    case refused(reason: String)

    /// What was wrong.
    public var reason: String {
        switch self {
        case .noServer: "no notification server owns org.freedesktop.Notifications on this bus"
        case .replaced: "the notification server was replaced by another one"
        case .notResponding: "the notification server does not answer"
        case .refused(let reason): "the notification server refused: \(reason)"
        }
    }

    /// What to do about it; `nil` when nothing of the user's would help.
    public var help: String? {
        switch self {
        case .noServer: "install or start one, e.g. dunst"
        case .replaced, .notResponding: "it is used again as soon as it answers"
        case .refused: nil
        }
    }

    /// What was wrong, and what to do about it.
    public var description: String { help.map { "\(reason); \($0)" } ?? reason }
}
#endif
