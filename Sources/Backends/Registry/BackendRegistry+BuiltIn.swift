extension BackendRegistry {
    /// The built-in kinds: `terminalTitle`, `terminalProgress` and `logFile`, and, in builds with the traits `DesktopNotification` and
    /// `DBus`, `desktopNotification` and `dbusProperty`.
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
        return registry
    }()

    private static var builtInKinds: [BackendKind] {
        var kinds: [BackendKind] = [.terminalTitle, .terminalProgress]
        #if DesktopNotification
        kinds.append(.desktopNotification)
        #endif
        #if DBus
        kinds.append(.dbusProperty)
        #endif
        kinds.append(.logFile)
        return kinds
    }
}
