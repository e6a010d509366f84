import BackendConfiguration
import DisplayText
import Foundation
public import IndicatorCore
package import IndicatorThreads

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
/// A dock shows one state for each desktop file. Instances of the app take turns: they queue for the bus name
/// `org.activityindicator.LauncherEntry1.<desktop file>`, and the first one is shown until it is hidden or ends. One
/// that waits for the user, or has failed, comes first. In a sandbox that allows no such name, each sends its own
/// state.
///
/// Sends nothing while a ``DesktopJobBackend`` of this process shows the same app on Plasma, which then sends the
/// signal itself. Without a session bus or the desktop file it is unavailable.
public final class LauncherEntryBackend: ConnectedBackend {
    /// The name that the config file and the diagnostics use.
    public let name: String

    private let settings: LauncherEntrySettings
    private let environment: @Sendable () -> [String: String]
    private let surface = BusSurface(on: .session)

    /// Makes a backend. Does not connect before ``start()``.
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
        self.name = name
        self.settings = settings
        self.environment = environment
    }

    package var thread: ServiceThread { surface.thread }

    /// Keeps the handle, to report the loss of the bus.
    public func attach(to control: IndicatorControl) {
        surface.attach(to: control)
    }

    /// Connects. Throws if there is no session bus or no desktop file.
    public func start() async throws {
        let address = try Self.check(settings, in: environment())
        let file = settings.desktopFile
        try await surface.start(at: address) { _, latest in
            LauncherEntrySession(desktopFile: file, latest: latest)
        }
    }

    /// Sends the snapshot. Throws if the bus was lost.
    public func update(_ snapshot: IndicatorSnapshot) async throws {
        try await surface.update(snapshot)
    }

    /// Removes the bar, the badge and the mark, and disconnects.
    public func stop() async {
        await surface.stop()
    }

    /// The address of the session bus; throws if there is none, or no desktop file.
    static func check(_ settings: LauncherEntrySettings, in environment: [String: String]) throws -> String {
        let file = settings.desktopFile
        guard DesktopFile.isIdentifier(file) else { throw LauncherEntryError.invalidDesktopFile(file) }
        guard DesktopFile.isInstalled(file, in: environment) else { throw LauncherEntryError.noDesktopFile(file) }
        return try DBusAddress.session.resolved(in: environment)
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
