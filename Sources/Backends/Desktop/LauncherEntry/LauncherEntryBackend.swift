public import BackendConfiguration
import IndicatorCore
import Foundation

/// The settings of a ``LauncherEntryBackend``.
public struct LauncherEntrySettings: Sendable, Hashable {
    /// The identifier of the app's desktop file, such as `org.example.my-app.desktop`: the dock shows the indicator on
    /// the icon of that app. It must be installed. Default: `nil`, `<app>.desktop`.
    public var desktopFile: String?

    /// Makes settings.
    public init(desktopFile: String? = nil) {
        self.desktopFile = desktopFile
    }
}

/// The indicator on the app's icon in the dock: a bar for the progress, a badge for the number of activities if that is
/// more than one, and a mark while the app waits for the user and for a minute after a failure.
///
/// It sends the signal `Update` of `com.canonical.Unity.LauncherEntry`, which Plasma's task manager, Dash to Dock,
/// Ubuntu's dock, elementary's dock and Plank read, at most four times a second; hiding does not wait, nor does what a
/// dock needs that starts. When the process ends, however it does, docks remove what it has sent, because its
/// connection to the bus has ended.
///
/// A dock shows one state for each desktop file: of several instances of the app, that of the one that changed last.
///
/// Sends nothing while a ``DesktopJobBackend`` of this process shows the same app on Plasma, which then sends the
/// signal itself. Without a session bus or the desktop file it is unavailable.
public final class LauncherEntryBackend: BusBackend, @unchecked Sendable {
    // `@unchecked`: as its superclass.

    /// Makes a backend. Does not connect.
    ///
    /// - Parameters:
    ///   - name: the name that the config file and the diagnostics use.
    ///   - applicationName: the name of the app.
    ///   - settings: the desktop file.
    public init(
        name: String = "launcherEntry",
        applicationName: String,
        settings: LauncherEntrySettings = LauncherEntrySettings()
    ) {
        // Plank delays faster signals.
        super.init(name: name, on: .session, delivery: BackendDelivery(minimumInterval: .milliseconds(250))) { _ in
            let environment = ProcessInfo.processInfo.environment
            let file = settings.desktopFile ?? DesktopFile.standard(for: applicationName, in: environment)
            try Self.check(file, in: environment)
            return LauncherEntrySession(desktopFile: file)
        }
    }

    /// Throws if there is no desktop file.
    private static func check(_ file: String, in environment: [String: String]) throws {
        guard DesktopFile.isIdentifier(file), DesktopFile.isInstalled(file, in: environment) else {
            let folders = "the folder 'applications' of $XDG_DATA_HOME or one of $XDG_DATA_DIRS"
            throw Unavailability(
                reason: "there is no '\(QuotedText.shortened(file))' in \(folders)",
                help: "install it: docks have no icon for an app without one"
            )
        }
    }
}

extension BackendKind {
    /// The app's icon in the dock.
    public static var launcherEntry: BackendKind {
        BackendKind(
            name: "launcherEntry",
            summary: "the app's icon in the dock: bar, badge and mark",
            settings: LauncherEntrySettings.init(_:),
            bus: { _ in .session },
            automatic: { context, settings in
                let desktop = DesktopSituation(context.environment)
                let standard = DesktopFile.standard(for: context.applicationName, in: context.environment)
                let file = settings.desktopFile ?? standard
                let isInstalled = DesktopFile.isInstalled(file, in: context.environment)
                let reason = isInstalled ? "the app has a desktop file" : "there is no '\(QuotedText.shortened(file))'"
                return AutomaticFit(desktop.isPresent && isInstalled, desktop.isPresent ? reason : desktop.reason)
            },
            make: { LauncherEntryBackend(name: $0.name, applicationName: $0.applicationName, settings: $1) }
        )
    }
}

extension LauncherEntrySettings {
    init(_ values: inout SettingsReader) {
        self.init()
        let summary = "the name of the app's desktop file, which must be installed; by default that of the app"
        values.read(desktopFile: &desktopFile, summary: summary)
    }
}
