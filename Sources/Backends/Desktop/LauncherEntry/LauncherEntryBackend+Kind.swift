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
        let name = "desktopFile"
        let file = DesktopFile.name(of: place.applicationName, in: place.environment).map { $0 + DesktopFile.suffix }
        // The app's own default may not be installed.
        let given = if case .string(let text)? = place.defaults["launcherEntry"]?[name] { text } else { nil as String? }
        let isGiven =
            place.isSet("launcherEntry", name)
            || given.map { DesktopFile.isInstalled($0, in: place.environment) } == true
        let (isChosen, reason) =
            if !desktop.isPresent {
                (false, desktop.reason)
            } else if isGiven || file != nil {
                (true, "the app has a desktop file")
            } else {
                (false, "there is no '\(place.applicationName)\(DesktopFile.suffix)', and 'desktopFile' is not set")
            }
        return AutomaticFit(
            isChosen,
            reason,
            settings: file.map { [name: .string($0)] } ?? [:],
            dependsOnBus: desktop.dependsOnBus
        )
    }
}

extension LauncherEntrySettings: KindSettings {
    package static let standard = Self(desktopFile: "")
    package static let bindings: [BoundSetting<Self>] = [
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
