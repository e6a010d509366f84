/// What makes a configured indicator read its configuration again by itself.
public struct ConfigurationReloadTriggers: OptionSet, Sendable, Hashable {
    /// The bits.
    public let rawValue: Int

    /// Makes a set of triggers from its bits.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// The config file changes: it is written, replaced, or comes back after it was deleted.
    public static let change = Self(rawValue: 1)

    /// The process gets `SIGHUP`.
    ///
    /// A handler is installed only while nothing else handles the signal: an app's own handler, and the `SIG_IGN` that
    /// `nohup` leaves, stay as they are. A `SIGHUP` that comes because the terminal is gone ends the app as it always did.
    public static let hangup = Self(rawValue: 2)

    /// Both.
    public static let all: Self = [.change, .hangup]
}
