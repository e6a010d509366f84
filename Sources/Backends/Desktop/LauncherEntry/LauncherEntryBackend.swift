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

    /// Makes a backend. Does not connect before `start()`.
    ///
    /// - Parameters:
    ///   - name: the name that the config file and the diagnostics use.
    ///   - settings: the desktop file.
    public init(name: String = "launcherEntry", settings: LauncherEntrySettings) {
        super.init(name: name, on: .session) { context in
            try Self.check(settings, in: ProcessInfo.processInfo.environment)
            return LauncherEntrySession(desktopFile: settings.desktopFile, context: context)
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
            defaults: LauncherEntrySettings(desktopFile: ""),
            settings: LauncherEntrySettings.settings,
            bus: { _ in .session },
            make: { context, settings in
                let file = LauncherEntrySettings.file(
                    of: context.applicationName,
                    in: ProcessInfo.processInfo.environment
                )
                let settings = LauncherEntrySettings(desktopFile: settings.givenFile ?? file)
                return LauncherEntryBackend(name: context.name, settings: settings)
            }
        )
        .fitting(fit)
    }

    @Sendable private static func fit(in place: AutomaticPlace) -> AutomaticFit {
        let desktop = DesktopSituation(place)
        let file =
            place.text("launcherEntry", "desktopFile")
            ?? LauncherEntrySettings.file(of: place.applicationName, in: place.environment)
        let isInstalled = DesktopFile.isInstalled(file, in: place.environment)
        let reason = isInstalled ? "the app has a desktop file" : "there is no '\(QuotedText.shortened(file))'"
        return AutomaticFit(desktop.isPresent && isInstalled, desktop.isPresent ? reason : desktop.reason)
    }
}

extension LauncherEntrySettings {
    static let settings: [Setting<Self>] = [
        Setting(
            "desktopFile",
            \.givenFile,
            .text,
            example: "org.example.my-app.desktop",
            summary: "the name of the app's desktop file, which must be installed; by default that of the app",
            validate: DesktopFile.validate
        )
    ]

    fileprivate var givenFile: String? {
        get { desktopFile.isEmpty ? nil : desktopFile }
        set { desktopFile = newValue ?? "" }
    }

    /// The file that an app has by default.
    fileprivate static func file(of applicationName: String, in environment: [String: String]) -> String {
        (DesktopFile.name(of: applicationName, in: environment) ?? applicationName) + DesktopFile.suffix
    }
}
