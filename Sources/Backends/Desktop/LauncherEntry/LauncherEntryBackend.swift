import BackendConfiguration
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
    public convenience init(name: String = "launcherEntry", settings: LauncherEntrySettings) {
        self.init(name: name, settings: settings) { ProcessInfo.processInfo.environment }
    }

    package init(
        name: String = "launcherEntry",
        settings: LauncherEntrySettings,
        environment: @escaping @Sendable () -> [String: String]
    ) {
        super.init(name: name, on: .session, environment: environment) { context in
            try Self.check(settings, in: context.environment)
            return LauncherEntrySession(desktopFile: settings.desktopFile, latest: context.latest)
        }
    }

    /// Throws if there is no desktop file.
    private static func check(_ settings: LauncherEntrySettings, in environment: [String: String]) throws {
        let file = settings.desktopFile
        guard DesktopFile.isIdentifier(file) else { throw LauncherEntryError.invalidDesktopFile(file) }
        guard DesktopFile.isInstalled(file, in: environment) else { throw LauncherEntryError.noDesktopFile(file) }
    }
}

/// Why the dock shows nothing. Errors of the bus itself are a `MessageBusError`.
package enum LauncherEntryError: BackendProblem, Sendable, Hashable {
    /// The text is not the identifier of a desktop file.
    case invalidDesktopFile(String)
    /// No such file is installed.
    case noDesktopFile(String)

    /// The problem.
    package var reason: String {
        switch self {
        case .invalidDesktopFile(let text): "'\(QuotedText.shortened(text))' is not \(DesktopFile.expectation)"
        case .noDesktopFile(let file):
            "there is no '\(file)' in the folder 'applications' of $XDG_DATA_HOME or one of $XDG_DATA_DIRS"
        }
    }

    /// What to do.
    package var help: String? {
        switch self {
        case .invalidDesktopFile: "a file in a subfolder has the name of the folder and a '-' before its own"
        case .noDesktopFile: "install it: docks have no icon for an app without one"
        }
    }
}
