import IndicatorCore
import IndicatorThreads

/// The program that contains the shared commands.
package enum Program {
    /// What `--version` prints.
    package static let version = "0.1.0"

    /// The name of the program in messages and examples, and the app name for its config file. A program sets it first.
    /// Default: `indicator`.
    package static var name: String {
        get { storage.withLock { $0 } }
        set { storage.withLock { $0 = newValue } }
    }

    private static let storage = Locked("indicator")
}
