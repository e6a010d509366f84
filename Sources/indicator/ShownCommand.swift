import Foundation
import IndicatorBackends
import IndicatorCore
import Logging

/// What shows a command that runs: an indicator with one activity, and what is left to say at its end.
final class ShownCommand {
    private let indicator: IndicatorManager
    private let activity: ManagedActivity

    /// - Parameters:
    ///   - label: what is shown.
    ///   - app: the name of the app whose config file holds.
    ///   - notify: when a notification is left; `nil` leaves that to a backend of the config file that does it, or means always.
    ///   - after: how long the command must last for it; `nil` means 10 seconds.
    init(label: String, app: String, notify: ExecCommand.Notify?, after: Duration?) {
        indicator = IndicatorManager.configured(
            for: app,
            reloadTriggers: [],
            // Diagnostics would get between what the command prints.
            logger: Logger(label: "indicator", factory: { _ in SwiftLogNoOpLogHandler() }),
            printsMistakes: false
        )
        activity = ManagedActivity(label, in: indicator)
    }

    /// Shows how the command ended, and restores everything.
    func end(_ outcome: ActivityOutcome) {
        activity.end(outcome)
        ProcessSignals.shutDownIndicators()
        if !indicator.configurationProblems.isEmpty, isatty(STDERR_FILENO) == 1 {
            let note = "indicator: there are mistakes in the config file; see 'indicator check-config'\n"
            try? FileHandle.standardError.write(contentsOf: Data(note.utf8))
        }
    }
}
