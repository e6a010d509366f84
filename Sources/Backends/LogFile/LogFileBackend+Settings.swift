extension LogFileBackend {
    /// How the lines are written.
    public enum Format: String, Sendable, Hashable, CaseIterable {
        /// A JSON object a line (JSON Lines).
        case json
        /// Words and `key=value` pairs, for people.
        case text
    }

    /// Where the log is, and what it looks like.
    public struct Settings: Sendable, Hashable {
        /// The path of the file; a relative one is relative to the current folder when the backend starts, and `~/` in
        /// front is the home folder.
        ///
        /// Default `nil`: `$XDG_STATE_HOME/<app>/indicator.log`, or `~/.local/state/<app>/indicator.log`.
        public var path: String?
        /// How the lines are written. Default JSON.
        public var format: Format
        /// How many bytes the file may have: a line that would make it longer goes to a new file. 0 means any number.
        /// Default 10 MiB.
        public var maxSize: Int
        /// How many full files are kept, as `indicator.log.1` (the latest), `indicator.log.2` and so on. With 0, a full
        /// file is removed. Default 3.
        public var keep: Int

        /// Makes settings. Negative numbers count as 0.
        public init(path: String? = nil, format: Format = .json, maxSize: Int = 10 << 20, keep: Int = 3) {
            self.path = path
            self.format = format
            self.maxSize = max(0, maxSize)
            self.keep = max(0, keep)
        }
    }
}
