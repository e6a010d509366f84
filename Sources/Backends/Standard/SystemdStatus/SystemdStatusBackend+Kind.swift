public import BackendConfiguration
import IndicatorCore
import Foundation

extension BackendKind {
    /// The status text of a service.
    public static var systemdStatus: BackendKind {
        BackendKind(
            name: "systemdStatus",
            summary: "the status of a service, for systemctl status",
            settings: SystemdStatusSettings.init(_:),
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
            },
            automatic: { context, _ in
                context.environment[SystemdStatusBackend.variable]?.isEmpty == false
                    ? AutomaticFit(true, "NOTIFY_SOCKET is set: this is a service")
                    : AutomaticFit(false, "NOTIFY_SOCKET is not set: this is no service")
            }
        )
    }
}

extension SystemdStatusSettings {
    init(_ values: inout SettingsReader) {
        self.init()
        values.read(
            "format",
            &format,
            .format,
            summary: "the text; may contain {app}, {label}, {count}, {progress}, {done}, {total}, {rate}, {elapsed} "
                + "and {remaining}"
        )
        values.read(
            "ready",
            &isReady,
            .boolean,
            summary: "whether to report that the service is ready, for a service of Type=notify that does not"
        )
    }
}
