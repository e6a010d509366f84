// What this folder's size buys: `systemctl status` shows what a service does, without libsystemd.

import Foundation
import IndicatorCore

extension BackendKind {
    /// The status text of a service.
    public static var systemdStatus: BackendKind {
        BackendKind(
            name: "systemdStatus",
            summary: "the status of a service, for systemctl status",
            settings: SystemdStatusSettings.self,
            make: { context, settings in
                SystemdStatusBackend(name: context.name, applicationName: context.applicationName, settings: settings)
            },
            isApplicable: { _, _ in
                // systemd sets it before the process starts, or never.
                ProcessInfo.processInfo.environment[SystemdStatusBackend.variable]?.isEmpty == false
            },
            availability: { _, _ in
                let environment = ProcessInfo.processInfo.environment
                _ = try NotifySocket(environment: environment)
                return environment[SystemdStatusBackend.variable] ?? ""
            }
        )
    }
}

extension SystemdStatusSettings: KindSettings {
    static let standard = Self()
    static let bindings: [BoundSetting<Self>] = [
        BoundSetting(
            "format",
            \.format,
            summary: "the text; may contain {app}, {label}, {count}, {progress}, {done}, {total}, {rate}, {elapsed} "
                + "and {remaining}"
        ),
        BoundSetting(
            "ready",
            \.isReady,
            summary: "whether to report that the service is ready, for a service of Type=notify that does not"
        ),
    ]
}
