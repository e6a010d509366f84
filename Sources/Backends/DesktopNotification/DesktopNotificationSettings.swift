#if DesktopNotification
import Foundation

/// What a ``DesktopNotificationBackend`` shows, and how.
public struct DesktopNotificationSettings: Sendable, Hashable {
    /// How much a notification asks for attention (Desktop Notifications Specification, "Urgency Levels").
    public enum Urgency: String, Sendable, Hashable, CaseIterable {
        /// For the user who happens to look.
        case low
        /// As most notifications.
        case normal
        /// Must be seen; many servers show it until the user closes it.
        case critical

        /// What the protocol calls it.
        var level: UInt8 {
            switch self {
            case .low: 0
            case .normal: 1
            case .critical: 2
            }
        }
    }

    /// The first line. Default: ``defaultSummary``. One that comes out empty shows the app's name.
    public var summary: SnapshotFormat
    /// The text below. Default: ``defaultBody``; `nil` for none.
    public var body: SnapshotFormat?
    /// The name of an icon of the user's theme (Icon Naming Specification), or the absolute path of a picture, in a
    /// format that the server reads; all read PNG. The file must be there for as long as the notification is shown.
    /// Default: `network-transmit-receive`.
    public var icon: String
    /// Default: `low`.
    public var urgency: Urgency
    /// Whether servers that keep notifications leave this one out. Default: `true`.
    public var isTransient: Bool
    /// After how long the server closes it; default: `nil`, it is closed when the indicator is hidden.
    public var timeout: Duration?
    /// The kind of notification (Desktop Notifications Specification, "Categories"). Default: `transfer`.
    public var category: String
    /// Which activities leave an ordinary notification of their outcome, which stays when the indicator is hidden.
    /// Default: `never`.
    public var whenDone: WhenDone
    /// How long an activity must have lasted for that. Default: 10 seconds.
    public var after: Duration
    /// Whether the indicator is shown, and not only outcomes.
    package var showsIndicator = true
    /// After how long a server removes a notification whose app has crashed; for tests to shorten.
    package var expiry = Duration.seconds(55)
    /// After how long the expiry begins anew: by default 35 s, which is less than two wake-ups a minute.
    var renewal: Duration { expiry * 7 / 11 }

    /// Makes settings, by default the default ones.
    public init(
        summary: SnapshotFormat = Self.defaultSummary,
        body: SnapshotFormat? = Self.defaultBody,
        icon: String = "network-transmit-receive",
        urgency: Urgency = .low,
        isTransient: Bool = true,
        timeout: Duration? = nil,
        category: String = "transfer",
        whenDone: WhenDone = .never,
        after: Duration = .seconds(10)
    ) {
        self.summary = summary
        self.body = body
        self.icon = icon
        self.urgency = urgency
        self.isTransient = isTransient
        self.timeout = timeout
        self.category = category
        self.whenDone = whenDone
        self.after = after
    }

    /// The icon as the protocol has it: a name, or the URL of a file (Desktop Notifications Specification, "Icons and
    /// Images").
    var protocolIcon: String {
        icon.hasPrefix("/") ? URL(filePath: icon).absoluteString : icon
    }

    /// `{app}`
    public static let defaultSummary = SnapshotFormat(pieces: [.placeholder(.app)])

    /// `{label} {progress} ({count})`
    public static let defaultBody = SnapshotFormat(pieces: [
        .placeholder(.label), .literal(" "), .placeholder(.progress), .literal(" ("), .placeholder(.count),
        .literal(")"),
    ])
}
#endif
