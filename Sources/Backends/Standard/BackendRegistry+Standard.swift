@_exported public import BackendConfiguration
@_exported public import DisplayText
@_exported public import TerminalBackends

#if DBus
@_exported public import DesktopBackends
#endif
#if MQTT
@_exported public import IndicatorMQTT
#endif

extension BackendRegistry {
    /// The built-in kinds: `terminalTitle`, `terminalProgress`, `terminalNotification`, `systemdStatus` and `logFile`,
    /// and, in builds with the traits `DesktopNotification`, `DBus` and `MQTT`, `desktopNotification`; `desktopJob`,
    /// `launcherEntry`, `dbusProperty` and `sleepInhibitor`; and `mqtt`.
    public static let standard: Self = {
        var registry = Self(kinds: builtInKinds)
        #if !DesktopNotification
        registry.registerMissing(
            "desktopNotification",
            reason: "this build has no desktop notifications; build with the trait DesktopNotification"
        )
        #endif
        #if !DBus
        for name in ["desktopJob", "launcherEntry", "dbusProperty", "sleepInhibitor"] {
            registry.registerMissing(name, reason: "this build has no D-Bus support; build with the trait DBus")
        }
        #endif
        #if !MQTT
        registry.registerMissing("mqtt", reason: "this build has no MQTT; build with the trait MQTT")
        #endif
        #if DBus
        registry.busNames = { await DesktopSituation.busNames(in: $0) }
        #endif
        return registry
    }()

    private static var builtInKinds: [BackendKind] {
        var kinds: [BackendKind] = [.terminalTitle, .terminalProgress, .terminalNotification]
        #if DesktopNotification
        kinds.append(.desktopNotification)
        #endif
        #if DBus
        kinds += [.desktopJob, .launcherEntry, .dbusProperty, .sleepInhibitor]
        #endif
        kinds.append(.systemdStatus)
        #if MQTT
        kinds.append(.mqtt)
        #endif
        kinds += [.command, .webhook, .logFile]
        return kinds
    }
}
