#if DesktopNotification
import Foundation
public import IndicatorCore

/// The indicator as a notification on the user's desktop, by libnotify.
///
/// One notification: it comes up when the indicator is shown, is updated in place at most twice a second and only when its text
/// or its progress changed, and is closed when the indicator is hidden. It makes no sound. When the user takes it away, it stays
/// away until the indicator is shown the next time.
///
/// A server is never started for it. Without one, or while it does not answer, the backend is unavailable and says so; it is there
/// again as soon as the server is. All of it happens on one thread of the process that is made for it, so a server that hangs
/// holds up nobody, and an app that uses libnotify itself finds it as it left it. What the app cannot have from libnotify: a second
/// thread that uses it at the very same moment, because libnotify has no lock.
///
/// A session bus that goes away does not end the process: GLib is told so (`g_dbus_connection_set_exit_on_close`). When it is back,
/// so is the notification, unless another part of the app holds on to GLib's old connection, which GLib cannot renew.
public final class DesktopNotificationBackend: IndicatorBackend {
    private struct State: Sendable {
        var control = IndicatorControl()
        var session: NotificationSession?
        /// Whether something was shown that was not hidden yet.
        var isShowing = false
    }

    /// The name that the config file and the diagnostics use.
    public let name: String

    private let applicationName: String
    private let settings: DesktopNotificationSettings
    private let state = Locked(State())

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

    deinit {
        guard let session = state.withLock({ $0.session }) else { return }
        NotificationThread.shared.enqueue { hub in
            session.hide(on: hub)
            hub.close(session)
        }
    }

    /// Keeps the handle, for servers that come and go.
    public func attach(to control: IndicatorControl) {
        state.withLock { $0.control = control }
    }

    /// Looks for a notification server. Throws ``DesktopNotificationError``.
    public func start() async throws {
        let (session, control) = state.withLock { state in
            let session =
                state.session
                ?? NotificationSession(applicationName: title, settings: settings, control: state.control)
            // It stays when there is no server yet: it hears of one that comes.
            state.session = session
            return (session, state.control)
        }
        try await NotificationThread.shared.perform(within: .seconds(3), late: { control.retry() }) {
            hub throws(DesktopNotificationError) in
            try hub.open(session)
        }
    }

    /// Shows the snapshot. Throws ``DesktopNotificationError`` when that is not possible now.
    public func update(_ snapshot: IndicatorSnapshot) async throws {
        let content = snapshot.isVisible ? content(for: snapshot) : nil
        let (session, control, wasShowing) = state.withLock { state in
            defer { state.isShowing = content != nil }
            return (state.session, state.control, state.isShowing)
        }
        guard let session, content != nil || wasShowing else { return }
        try await NotificationThread.shared.perform(within: .seconds(2), late: { control.retry() }) {
            hub throws(DesktopNotificationError) in
            if let content {
                try session.show(content, on: hub)
            } else {
                session.hide(on: hub)
            }
        }
    }

    /// Closes the notification. Does not wait for a server that hangs.
    public func stop() async {
        guard let session = state.withLock({ $0.session }) else { return }
        try? await NotificationThread.shared.perform(within: .seconds(1)) { hub in session.hide(on: hub) }
    }

    /// What libnotify is told; it takes no empty name.
    private var title: String {
        let title = DisplayText.singleLine(NotificationText.valid(applicationName), limit: NotificationText.valueLimit)
        return title.isEmpty ? "Indicator" : title
    }

    private func content(for snapshot: IndicatorSnapshot) -> NotificationContent {
        func text(_ format: SnapshotFormat?) -> String {
            let text = format?.text(for: snapshot, applicationName: title, valueLimit: NotificationText.valueLimit)
            return NotificationText.valid(text ?? "")
        }
        let summary = text(settings.summary)
        return NotificationContent(
            summary: summary.isEmpty ? title : summary,
            body: text(settings.body),
            progress: Percentage(snapshot.progress)?.value
        )
    }
}
#endif
