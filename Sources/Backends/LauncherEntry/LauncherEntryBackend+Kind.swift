// What this folder's size buys: a badge and a bar on the app's icon, of which nothing remains after a crash, also with
// several instances of the app.

#if DBus
import Foundation
import IndicatorCore

extension BackendKind {
    /// The app's icon in the dock.
    public static var launcherEntry: BackendKind {
        BackendKind(
            name: "launcherEntry",
            summary: "the app's icon in the dock: bar, badge and mark",
            settings: LauncherEntrySettings.self,
            make: { context, settings in LauncherEntryBackend(name: context.name, settings: settings) },
            isApplicable: { context, _ in
                context.isNamed || DBusAddress.session.mayExist(in: ProcessInfo.processInfo.environment)
            },
            availability: { _, settings in
                let environment = ProcessInfo.processInfo.environment
                let address = try LauncherEntryBackend.check(settings, in: environment)
                return try await BusSurface.probe(.session, at: address) {
                    LauncherEntrySession(desktopFile: settings.desktopFile, latest: $0)
                }
            }
        )
    }
}

extension LauncherEntrySettings: KindSettings {
    static let standard = Self(desktopFile: "")
    static let bindings: [BoundSetting<Self>] = [
        BoundSetting(
            "desktopFile",
            \.desktopFile,
            example: "org.example.my-app.desktop",
            summary: "the name of the app's desktop file, which must be installed",
            isRequired: true,
            validate: DesktopFile.validate
        )
    ]
}
#endif
