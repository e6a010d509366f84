extension BackendRegistry {
    /// The built-in kinds: `terminalTitle`, `terminalProgress`, `terminalNotification` and `logFile`, and, in builds
    /// with the traits `DesktopNotification`, `DBus` and `MQTT`, `desktopNotification`, `dbusProperty` and `mqtt`.
    public static let standard: Self = {
        var registry = Self(kinds: builtInKinds)
        #if !DesktopNotification
        registry.registerMissing(
            "desktopNotification",
            reason: "this build has no desktop notifications; build with the trait DesktopNotification"
        )
        #endif
        #if !DBus
        registry.registerMissing(
            "dbusProperty",
            reason: "this build has no D-Bus support; build with the trait DBus"
        )
        #endif
        #if !MQTT
        registry.registerMissing("mqtt", reason: "this build has no MQTT; build with the trait MQTT")
        #endif
        return registry
    }()

    private static var builtInKinds: [BackendKind] {
        var kinds: [BackendKind] = [.terminalTitle, .terminalProgress, .terminalNotification]
        #if DesktopNotification
        kinds.append(.desktopNotification)
        #endif
        #if DBus
        kinds.append(.dbusProperty)
        #endif
        #if MQTT
        kinds.append(.mqtt)
        #endif
        kinds.append(.logFile)
        return kinds
    }
}
