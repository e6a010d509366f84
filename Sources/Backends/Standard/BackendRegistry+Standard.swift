@_exported public import BackendConfiguration
@_exported public import IndicatorCore

#if DBus
@_exported public import DesktopBackends
#endif
#if MQTT
@_exported public import IndicatorMQTT
#endif

extension BackendRegistry {
    /// The built-in kinds: `terminalTitle`, `desktopNotification`, `dbusProperty` and `logFile`, then
    /// `terminalProgress`, `terminalNotification`, `desktopJob`, `launcherEntry`, `sleepInhibitor`, `systemdStatus`,
    /// `command`, `webhook` and `mqtt`. Some need one of the traits `DBus` and `MQTT`.
    public static let standard: Self = {
        var registry = Self(kinds: builtInKinds)
        #if !DBus
        for name in ["desktopNotification", "dbusProperty", "desktopJob", "launcherEntry", "sleepInhibitor"] {
            let help = "build with the trait DBus"
            registry.registerMissing(name, Unavailability(reason: "this build has no D-Bus support", help: help))
        }
        #endif
        #if !MQTT
        let help = "build with the trait MQTT"
        registry.registerMissing("mqtt", Unavailability(reason: "this build has no MQTT", help: help))
        #endif
        return registry
    }()

    /// The four that most apps need, then the others.
    private static var builtInKinds: [BackendKind] {
        var kinds: [BackendKind] = [.terminalTitle]
        #if DBus
        kinds += [.desktopNotification, .dbusProperty]
        #endif
        kinds += [.logFile, .terminalProgress, .terminalNotification]
        #if DBus
        kinds += [.desktopJob, .launcherEntry, .sleepInhibitor]
        #endif
        kinds += [.systemdStatus, .command, .webhook]
        #if MQTT
        kinds.append(.mqtt)
        #endif
        return kinds
    }
}
