// What this folder's size buys: `systemctl status` shows what a service does, without libsystemd.

import Foundation
import IndicatorCore

extension BackendKind {
    /// The status text of a service.
    public static var systemdStatus: BackendKind {
        let defaults = SystemdStatusSettings()
        return BackendKind(
            name: "systemdStatus",
            summary: "the status of a service, for systemctl status",
            settings: [
                BackendSetting(
                    "format",
                    .string,
                    default: .string(defaults.format.description),
                    summary: "the text; may contain {app}, {label}, {count}, {progress}, {done}, {total}, {rate}, "
                        + "{elapsed} and {remaining}",
                    validate: SnapshotFormat.validate
                ),
                BackendSetting(
                    "ready",
                    .boolean,
                    default: .boolean(defaults.isReady),
                    summary: "whether to report that the service is ready, for a service of Type=notify that does not"
                ),
            ],
            make: { context, settings in
                SystemdStatusBackend(
                    name: context.name,
                    applicationName: context.applicationName,
                    settings: try SystemdStatusSettings(settings)
                )
            },
            isApplicable: { _, _ in
                // systemd sets it before the process starts, or never.
                ProcessInfo.processInfo.environment[SystemdStatusBackend.variable]?.isEmpty == false
            },
            availability: { _, _ in
                await .of {
                    let environment = ProcessInfo.processInfo.environment
                    _ = try NotifySocket(environment: environment)
                    return environment[SystemdStatusBackend.variable] ?? ""
                }
            }
        )
    }
}

extension SystemdStatusSettings {
    fileprivate init(_ settings: BackendSettings) throws {
        self.init()
        if let text = settings.string("format") { format = try SnapshotFormat(text) }
        if let isReady = settings.boolean("ready") { self.isReady = isReady }
    }
}
