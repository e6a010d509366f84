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
            settings: DesktopJobSettings.self,
            make: { context, settings in
                DesktopJobBackend(
                    name: context.name,
                    applicationName: context.applicationName,
                    settings: settings,
                    logger: context.logger
                )
            },
            isApplicable: { context, _ in
                context.isNamed || DBusAddress.session.mayExist(in: ProcessInfo.processInfo.environment)
            },
            fit: { place in
                let desktop = DesktopSituation(place)
                return AutomaticFit(
                    desktop.hasJobs,
                    desktop.reason,
                    replaced: [
                        "desktopNotification": "the job shows the same",
                        "launcherEntry": "Plasma shows the job in its task manager",
                    ],
                    dependsOnBus: desktop.dependsOnBus
                )
            },
            availability: { context, settings in
                let environment = ProcessInfo.processInfo.environment
                let address = try DBusAddress.session.resolved(in: environment)
                let name = context.applicationName
                let entry = DesktopJobSession.desktopEntry(settings, applicationName: name, in: environment)
                return try await BusSurface.probe(.session, at: address) {
                    DesktopJobSession(
                        applicationName: name,
                        desktopEntry: entry,
                        settings: settings,
                        control: IndicatorControl(),
                        logger: context.logger,
                        latest: $0
                    )
                }
            }
        )
    }
}

extension DesktopJobSettings: KindSettings {
    package static let standard = Self()
    package static let bindings: [BoundSetting<Self>] = [
        .whenDone(\.whenDone),
        BoundSetting(
            "desktopFile",
            \.desktopFile,
            example: "org.example.my-app.desktop",
            summary: "the name of the app's desktop file, for its name and icon; by default that of the app",
            validate: { $0.flatMap(DesktopFile.validate) }
        ),
    ]
}
