public import BackendConfiguration
import Foundation
import IndicatorCore

extension BackendKind {
    /// Keeps the machine awake.
    public static var sleepInhibitor: BackendKind {
        BackendKind(
            name: "sleepInhibitor",
            summary: "keeps the machine awake",
            defaults: SleepInhibitorSettings(),
            settings: SleepInhibitorSettings.settings,
            bus: { _ in .system },
            make: { context, settings in
                SleepInhibitorBackend(
                    name: context.name,
                    applicationName: context.applicationName,
                    settings: settings,
                    logger: context.logger
                )
            }
        )
    }
}

extension SleepInhibitorSettings {
    static let settings: [Setting<Self>] = [
        Setting(
            "what",
            \.actions,
            .choices(),
            summary: "what the machine must not do while the indicator is shown",
            validate: { actions in
                let names = Action.allCases.map(\.rawValue).joined(separator: ", ")
                return actions.isEmpty ? "at least one of \(names)" : nil
            }
        )
    ]
}
