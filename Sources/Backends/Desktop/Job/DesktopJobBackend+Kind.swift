public import BackendConfiguration
import DisplayText
import Foundation
import IndicatorCore

extension BackendKind {
    /// A job of KDE Plasma.
    public static var desktopJob: BackendKind {
        BackendKind(
            name: "desktopJob",
            summary: "a job of KDE Plasma: bar, text and a button to cancel",
            defaults: DesktopJobSettings(),
            settings: DesktopJobSettings.settings,
            bus: { _ in .session },
            make: { context, settings in
                DesktopJobBackend(
                    name: context.name,
                    applicationName: context.applicationName,
                    settings: settings,
                    logger: context.logger
                )
            }
        )
        .fitting { place in
            let desktop = DesktopSituation(place)
            return AutomaticFit(
                desktop.hasJobs,
                desktop.reason,
                replaced: [
                    "desktopNotification": "the job shows the same",
                    "launcherEntry": "Plasma shows the job in its task manager",
                ]
            )
        }
    }
}

extension DesktopJobSettings {
    static let settings: [Setting<Self>] = [
        .whenDone(\.whenDone),
        Setting(
            "desktopFile",
            \.desktopFile,
            .text,
            example: "org.example.my-app.desktop",
            summary: "the name of the app's desktop file, for its name and icon; by default that of the app",
            validate: DesktopFile.validate
        ),
    ]
}
