import BackendConfiguration
public import IndicatorCore
import Foundation

/// The settings of a ``DesktopNotificationBackend``.
public struct DesktopNotificationSettings: Sendable, Hashable {
    /// The urgency of a notification (Desktop Notifications Specification, "Urgency Levels").
    public enum Urgency: String, Sendable, Hashable, CaseIterable {
        /// Does not demand attention.
        case low
        /// The level of most notifications.
        case normal
        /// Must be seen; many servers show it until the user closes it.
        case critical

        /// The value in the protocol, whose order is the same.
        var level: UInt8 { UInt8(Self.allCases.firstIndex(of: self) ?? 0) }
    }

    /// How notifications are sent.
    public enum Through: String, Sendable, Hashable, CaseIterable {
        /// Through libnotify while it is healthy, otherwise over D-Bus; in a sandbox, to the desktop portal.
        case auto
        /// Over D-Bus to the notification server.
        case dbus
    }

    /// The first line. Default: `{app}`. If it results in an empty text, the app's name is shown.
    public var summary: SnapshotFormat
    /// The text below the first line; `nil` for none. Default: `{label} {progress} ({count})`.
    public var body: SnapshotFormat?
    /// The name of an icon in the user's theme (Icon Naming Specification), or the absolute path of an image in a
    /// format that the server supports; all support PNG. The file must exist while the notification is shown. Default:
    /// `network-transmit-receive`.
    public var icon: String
    /// The urgency. Default: `low`. On GNOME, `low` and `normal` mean the same: a banner, then an entry in the list.
    public var urgency: Urgency
    /// Whether servers exclude it from their history. Default: `true`. GNOME has only its history, so it has no effect
    /// there, nor by default on dunst (its rule `history_ignore`) and mako.
    public var isTransient: Bool
    /// How long until the server closes it. Default: `nil`, until the indicator is hidden.
    public var timeout: Duration?
    /// The category of the notification (Desktop Notifications Specification, "Categories"). Default: `transfer`.
    public var category: String
    /// Whether to show what goes on. If not, only outcomes are, as ``whenDone`` says. Default: `true`.
    public var isLive = true
    /// Which activities leave an ordinary notification of their outcome, which remains when the indicator is hidden.
    /// Default: `never`.
    public var whenDone: WhenDone
    /// How long an activity must have lasted for that. Default: 10 seconds.
    public var after: Duration
    /// How notifications are sent. Default: `auto`.
    ///
    /// Choose `dbus` for an app that begins to use libnotify itself, or loads a plugin that does, while the indicator
    /// runs: libnotify is not thread-safe.
    public var through: Through
    /// How long until the server removes the notification of an app that has crashed. Shorter in tests.
    package var expiry = Duration.seconds(55)
    /// How long libnotify may take to connect; then D-Bus is used. Longer in tests.
    package var libraryLimit = Duration.seconds(2)
    /// How often the expiry is renewed: by default every 35 s, less than two wake-ups a minute.
    var renewal: Duration { expiry * 7 / 11 }

    /// Makes settings.
    public init(
        summary: SnapshotFormat = Self.defaultSummary,
        body: SnapshotFormat? = .standard,
        icon: String = "network-transmit-receive",
        urgency: Urgency = .low,
        isTransient: Bool = true,
        timeout: Duration? = nil,
        category: String = "transfer",
        whenDone: WhenDone = .never,
        after: Duration = .seconds(10),
        through: Through = .auto
    ) {
        (self.summary, self.body, self.icon, self.urgency) = (summary, body, icon, urgency)
        (self.isTransient, self.timeout, self.category) = (isTransient, timeout, category)
        (self.whenDone, self.after, self.through) = (whenDone, after, through)
    }

    /// The icon in the protocol: a name, or the URL of a file (Desktop Notifications Specification, "Icons and
    /// Images").
    func protocolIcon(in environment: [String: String] = ProcessInfo.processInfo.environment) -> String {
        let icon = HomeFolder.expanding(icon, in: environment)
        return icon.hasPrefix("/") ? URL(filePath: icon).absoluteString : icon
    }

    /// Which outcomes are shown: if nothing else is, all.
    var shownOutcomes: WhenDone { !isLive && whenDone == .never ? .always : whenDone }

    /// `{app}`
    @usableFromInline package static let defaultSummary = SnapshotFormat(pieces: [.placeholder(.app)])
}
