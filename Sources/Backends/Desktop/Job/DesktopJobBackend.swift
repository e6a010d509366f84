public import BackendConfiguration
public import IndicatorCore
import Foundation
public import Logging

/// The settings of a ``DesktopJobBackend``.
public struct DesktopJobSettings: Sendable, Hashable {
    /// Which outcomes remain in the list of notifications until the user has seen them. Default: `failures`. With
    /// `always`, every end of the indicator does.
    public var whenDone: WhenDone
    /// The identifier of the app's desktop file, such as `org.example.my-app.desktop`, from which Plasma takes the name
    /// and the icon, and on whose icon the task manager shows the progress. Default: `nil`, `<app>.desktop` if that is
    /// installed; otherwise the job has the name of the app and no icon in the task manager.
    public var desktopFile: String?

    /// Makes settings.
    public init(whenDone: WhenDone = .failures, desktopFile: String? = nil) {
        self.whenDone = whenDone
        self.desktopFile = desktopFile
    }
}

/// The indicator as a job of KDE Plasma, in its notifications: a bar, the label, the amounts and the rate, and a button
/// to cancel.
///
/// One job appears when the indicator is shown, is updated at most five times a second, and ends when the indicator is
/// hidden. Its button is there while a request would reach the app: see `IndicatorManager.cancellationRequests`. If an
/// activity that lasted at least the start delay has failed meanwhile, the job ends with its label and message.
///
/// It uses `org.kde.JobViewServer` on the session bus, in the versions `JobViewServerV2` and `JobViewV3` (Plasma 5.22
/// and later), asynchronously: a server that hangs delays nothing. Without it, the backend is unavailable until it
/// appears; when Plasma restarts, so does the job. When the process ends, Plasma removes the job.
public final class DesktopJobBackend: BusBackend, @unchecked Sendable {
    // `@unchecked`: as its superclass.

    /// Makes a backend. Does not connect.
    ///
    /// - Parameters:
    ///   - name: the name that the config file and the diagnostics use.
    ///   - applicationName: the name of the app.
    ///   - settings: which outcomes remain, and the desktop file.
    ///   - logger: where it is logged that Plasma refuses a job.
    public init(
        name: String = "desktopJob",
        applicationName: String,
        settings: DesktopJobSettings = DesktopJobSettings(),
        logger: Logger = Logger(label: "IndicatorBackends.DesktopJob")
    ) {
        // Plasma draws no faster.
        super.init(name: name, on: .session, delivery: BackendDelivery(minimumInterval: .milliseconds(200))) {
            DesktopJobSession(applicationName: applicationName, settings: settings, logger: logger, context: $0)
        }
    }
}

extension BackendKind {
    /// A job of KDE Plasma.
    public static var desktopJob: BackendKind {
        BackendKind(
            name: "desktopJob",
            summary: "a job of KDE Plasma: bar, text and a button to cancel",
            settings: DesktopJobSettings.init(_:),
            bus: { _ in .session },
            automatic: { context, _ in
                let desktop = DesktopSituation(context.environment)
                return AutomaticFit(
                    desktop.hasJobs,
                    desktop.reason,
                    replaced: [
                        "desktopNotification": "the job shows the same",
                        "launcherEntry": "Plasma shows the job in its task manager",
                    ]
                )
            },
            make: {
                DesktopJobBackend(name: $0.name, applicationName: $0.applicationName, settings: $1, logger: $0.logger)
            }
        )
    }
}

extension DesktopJobSettings {
    init(_ values: inout SettingsReader) {
        self.init()
        values.read(whenDone: &whenDone)
        let summary = "the name of the app's desktop file, for its name and icon; by default that of the app"
        values.read(desktopFile: &desktopFile, summary: summary)
    }
}
