// What this folder's size buys: the machine does not sleep during work, and the lock ends with the process.

#if DBus
import Foundation
import IndicatorCore

extension BackendKind {
    /// Keeps the machine awake.
    public static var sleepInhibitor: BackendKind {
        let actions = SleepInhibitorSettings.Action.allCases.map(\.rawValue)
        return BackendKind(
            name: "sleepInhibitor",
            summary: "keeps the machine awake",
            settings: [
                BackendSetting(
                    "what",
                    .choices(actions),
                    default: .list(SleepInhibitorSettings().actions.map(\.rawValue)),
                    summary: "what the machine must not do while the indicator is shown",
                    validate: { $0 == .list([]) ? "at least one of \(actions.joined(separator: ", "))" : nil }
                )
            ],
            make: { context, settings in
                SleepInhibitorBackend(
                    name: context.name,
                    applicationName: context.applicationName,
                    settings: SleepInhibitorSettings(settings),
                    logger: context.logger
                )
            },
            isApplicable: { context, _ in
                context.isNamed || DBusAddress.system.mayExist(in: ProcessInfo.processInfo.environment)
            },
            availability: { context, settings in
                await .of {
                    let address = try DBusAddress.system.resolved(in: ProcessInfo.processInfo.environment)
                    return try await BusSurface.probe(.system, at: address) {
                        SleepInhibitorSession(
                            applicationName: context.applicationName,
                            settings: SleepInhibitorSettings(settings),
                            logger: context.logger,
                            latest: $0
                        )
                    }
                }
            }
        )
    }
}

extension SleepInhibitorSettings {
    fileprivate init(_ settings: BackendSettings) {
        self.init(actions: Set((settings.list("what") ?? []).compactMap(Action.init(rawValue:))))
    }
}
#endif
