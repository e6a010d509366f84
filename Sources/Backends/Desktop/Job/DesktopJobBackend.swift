import BackendConfiguration
public import DisplayText
import Foundation
public import IndicatorCore
package import IndicatorThreads
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
public final class DesktopJobBackend: ConnectedBackend {
    /// The name that the config file and the diagnostics use.
    public let name: String

    private let applicationName: String
    private let settings: DesktopJobSettings
    private let logger: Logger
    private let environment: @Sendable () -> [String: String]
    private let surface = BusSurface(on: .session)

    /// Makes a backend. Does not connect before ``start()``.
    ///
    /// - Parameters:
    ///   - name: the name that the config file and the diagnostics use.
    ///   - applicationName: the name of the app.
    ///   - settings: which outcomes remain, and the desktop file.
    ///   - logger: where it is logged that Plasma refuses a job.
    public convenience init(
        name: String = "desktopJob",
        applicationName: String,
        settings: DesktopJobSettings = DesktopJobSettings(),
        logger: Logger = Logger(label: "IndicatorBackends.DesktopJob")
    ) {
        self.init(name: name, applicationName: applicationName, settings: settings, logger: logger) {
            ProcessInfo.processInfo.environment
        }
    }

    package init(
        name: String = "desktopJob",
        applicationName: String,
        settings: DesktopJobSettings = DesktopJobSettings(),
        logger: Logger = Logger(label: "IndicatorBackends.DesktopJob"),
        environment: @escaping @Sendable () -> [String: String]
    ) {
        self.name = name
        self.applicationName = applicationName
        self.settings = settings
        self.logger = logger
        self.environment = environment
    }

    package var thread: ServiceThread { surface.thread }

    /// Keeps the handle, to pass the user's requests on, and to report when the server appears or vanishes.
    public func attach(to control: IndicatorControl) {
        surface.attach(to: control)
    }

    /// Looks for the server. Throws if there is none.
    public func start() async throws {
        let address = try DBusAddress.session.resolved(in: environment())
        let (name, settings, logger) = (applicationName, settings, logger)
        let entry = DesktopJobSession.desktopEntry(settings, applicationName: name, in: environment())
        try await surface.start(at: address) { control, latest in
            DesktopJobSession(
                applicationName: name,
                desktopEntry: entry,
                settings: settings,
                control: control,
                logger: logger,
                latest: latest
            )
        }
    }

    /// Shows the snapshot. Throws if the server was lost.
    public func update(_ snapshot: IndicatorSnapshot) async throws {
        try await surface.update(snapshot)
    }

    /// Ends the job.
    public func stop() async {
        await surface.stop()
    }
}
