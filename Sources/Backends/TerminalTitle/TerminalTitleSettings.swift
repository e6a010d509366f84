/// What a ``TerminalTitleBackend`` shows.
public struct TerminalTitleSettings: Sendable, Hashable {
    /// When the terminal is shown the progress beside the title (OSC 9;4).
    public enum Progress: String, Sendable, Hashable, CaseIterable {
        /// On terminals that are known to show it, judged by the environment. Others read it as a notification.
        case auto
        /// Always.
        case on
        /// Never.
        case off
    }

    /// The text of the title. Default: ``defaultFormat``.
    public var format: SnapshotFormat
    /// When the terminal is shown the progress beside the title. Default: `auto`.
    public var progress: Progress

    /// Makes settings, by default the default ones.
    public init(format: SnapshotFormat = Self.defaultFormat, progress: Progress = .auto) {
        self.format = format
        self.progress = progress
    }

    /// `{spinner} {label} ({count}) - {app}`: the beginning is what a narrow tab shows.
    public static let defaultFormat = SnapshotFormat(pieces: [
        .placeholder(.spinner), .literal(" "), .placeholder(.label), .literal(" ("), .placeholder(.count),
        .literal(") - "),
        .placeholder(.app),
    ])
}
