import IndicatorCore
import IndicatorThreads

/// The program that the shared commands are part of.
package enum Program {
    /// What `--version` prints.
    package static let version = "0.1.0"

    /// The name of the program: in messages and examples, and as the name of the app under which its config file is
    /// found. A program sets it before it does anything else. Default: `indicator`.
    package static var name: String {
        get { storage.withLock { $0 } }
        set { storage.withLock { $0 = newValue } }
    }

    private static let storage = Locked("indicator")
}
