public import BackendConfiguration
import DisplayText
import Foundation
import IndicatorCore

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
