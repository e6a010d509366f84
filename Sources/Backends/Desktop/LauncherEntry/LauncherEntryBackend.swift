public import BackendConfiguration
import DisplayText
import Foundation
import IndicatorCore

/// The settings of a ``LauncherEntryBackend``.
public struct LauncherEntrySettings: Sendable, Hashable {
    /// The identifier of the app's desktop file, such as `org.example.my-app.desktop`: the dock shows the indicator on
    /// the icon of that app. It must be installed.
    public var desktopFile: String

    /// Makes settings.
    public init(desktopFile: String) {
        self.desktopFile = desktopFile
    }
}

/// The indicator on the app's icon in the dock: a bar for the progress, a badge for the number of activities if that is
/// more than one, and a mark while the app waits for the user and for a minute after a failure.
///
/// It sends the signal `Update` of `com.canonical.Unity.LauncherEntry`, which Plasma's task manager, Dash to Dock,
/// Ubuntu's dock, elementary's dock and Plank read, at most four times a second. When the process ends, however it
/// does, docks remove what it has sent, because its connection to the bus has ended.
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
    ///   - settings: the desktop file.
    public init(name: String = "launcherEntry", settings: LauncherEntrySettings) {
        super.init(name: name, on: .session) { _ in
            try Self.check(settings, in: ProcessInfo.processInfo.environment)
            return LauncherEntrySession(desktopFile: settings.desktopFile)
        }
    }

    /// Throws if there is no desktop file.
    private static func check(_ settings: LauncherEntrySettings, in environment: [String: String]) throws {
        let file = settings.desktopFile
        guard DesktopFile.isIdentifier(file) else {
            throw Unavailability(
                reason: "'\(QuotedText.shortened(file))' is not \(DesktopFile.expectation)",
                help: "a file in a subfolder has the name of the folder and a '-' before its own"
            )
        }
        guard DesktopFile.isInstalled(file, in: environment) else {
            throw Unavailability(
                reason: "there is no '\(file)' in the folder 'applications' of $XDG_DATA_HOME or one of $XDG_DATA_DIRS",
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
                let file = settings.file(for: context)
                let isInstalled = DesktopFile.isInstalled(file, in: context.environment)
                let reason = isInstalled ? "the app has a desktop file" : "there is no '\(QuotedText.shortened(file))'"
                return AutomaticFit(desktop.isPresent && isInstalled, desktop.isPresent ? reason : desktop.reason)
            },
            make: { context, settings in
                let settings = LauncherEntrySettings(desktopFile: settings.file(for: context))
                return LauncherEntryBackend(name: context.name, settings: settings)
            }
        )
    }
}

extension LauncherEntrySettings {
    init(_ values: inout SettingsReader) {
        var file: String?
        values.read(
            "desktopFile",
            &file,
            .text,
            example: "org.example.my-app.desktop",
            summary: "the name of the app's desktop file, which must be installed; by default that of the app",
            validate: DesktopFile.validate
        )
        self.init(desktopFile: file ?? "")
    }

    /// The file, or the one that the app has by default.
    fileprivate func file(for context: BackendContext) -> String {
        if !desktopFile.isEmpty { return desktopFile }
        let name = DesktopFile.name(of: context.applicationName, in: context.environment)
        return (name ?? context.applicationName) + DesktopFile.suffix
    }
}
