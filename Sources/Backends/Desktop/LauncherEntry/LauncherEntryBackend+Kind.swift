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
            settings: LauncherEntrySettings.self,
            fit: fit,
            make: { context, settings in LauncherEntryBackend(name: context.name, settings: settings) }
        )
    }

    @Sendable private static func fit(in place: AutomaticPlace) -> AutomaticFit {
        let desktop = DesktopSituation(place)
        let file =
            place.text("launcherEntry", "desktopFile")
            ?? LauncherEntrySettings.file(of: place.applicationName, in: place.environment)
        let isInstalled = DesktopFile.isInstalled(file, in: place.environment)
        let reason = isInstalled ? "the app has a desktop file" : "there is no '\(QuotedText.shortened(file))'"
        return AutomaticFit(
            desktop.isPresent && isInstalled,
            desktop.isPresent ? reason : desktop.reason,
            dependsOnBus: desktop.dependsOnBus
        )
    }
}

extension LauncherEntrySettings: KindSettings {
    package static let standard = Self(desktopFile: "")
    package static let bindings: [BoundSetting<Self>] = [
        BoundSetting(
            BackendSetting(
                "desktopFile",
                .string,
                example: "org.example.my-app.desktop",
                summary: "the name of the app's desktop file, which must be installed; by default that of the app"
            ),
            set: { value, settings in
                let file = try value.text
                if let expected = DesktopFile.validate(file) { throw ExpectedSetting(expected) }
                settings.desktopFile = file
            }
        )
    ]

    package mutating func adopt(_ context: BackendContext) {
        if desktopFile.isEmpty {
            desktopFile = Self.file(of: context.applicationName, in: ProcessInfo.processInfo.environment)
        }
    }

    /// The file that an app has by default.
    fileprivate static func file(of applicationName: String, in environment: [String: String]) -> String {
        (DesktopFile.name(of: applicationName, in: environment) ?? applicationName) + DesktopFile.suffix
    }
}
