// What this folder's size buys: one notification on every desktop, also in a sandbox, that never sticks, never blocks
// and never ends the process, which libnotify alone does not promise: a third of it is the safe use of libnotify.

#if DesktopNotification
import Foundation
import IndicatorCore

extension BackendKind {
    /// A notification on the user's desktop.
    public static var desktopNotification: BackendKind {
        let defaults = DesktopNotificationSettings()
        return BackendKind(
            name: "desktopNotification",
            summary: "a notification on the desktop",
            settings: [
                BackendSetting(
                    "summary",
                    .string,
                    default: .string(defaults.summary.description),
                    summary: "the first line; may contain {app}, {label}, {count}, {progress}, {done}, {total}, "
                        + "{rate}, {elapsed} and {remaining}",
                    validate: SnapshotFormat.validate
                ),
                BackendSetting(
                    "body",
                    .string,
                    default: .string(defaults.body?.description ?? ""),
                    summary: "the text below it, with the same placeholders; empty for none",
                    validate: { $0 == .string("") ? nil : SnapshotFormat.validate($0) }
                ),
                BackendSetting(
                    "icon",
                    .string,
                    default: .string(defaults.icon),
                    summary: "the name of an icon in the theme, or the path of an image",
                    validate: withoutNUL
                ),
                BackendSetting(
                    "urgency",
                    .choice(DesktopNotificationSettings.Urgency.allCases.map(\.rawValue)),
                    default: .string(defaults.urgency.rawValue),
                    summary: "the urgency level"
                ),
                BackendSetting(
                    "transient",
                    .boolean,
                    default: .boolean(defaults.isTransient),
                    summary: "whether servers exclude it from their history"
                ),
                BackendSetting(
                    "timeout",
                    .seconds,
                    example: .duration(.seconds(30)),
                    summary:
                        "how long until the server closes it; by default until the indicator is hidden"
                ),
                BackendSetting(
                    "category",
                    .string,
                    default: .string(defaults.category),
                    summary: "the category of the notification",
                    validate: withoutNUL
                ),
                .whenDone(default: defaults.whenDone),
                .after(default: defaults.after),
                BackendSetting(
                    "through",
                    .choice(DesktopNotificationSettings.Through.allCases.map(\.rawValue)),
                    default: .string(defaults.through.rawValue),
                    summary: "how notifications are sent; auto: through libnotify where it is installed and safe"
                ),
            ],
            make: { context, settings in
                DesktopNotificationBackend(
                    name: context.name,
                    applicationName: context.applicationName,
                    settings: try DesktopNotificationSettings(settings),
                    logger: context.logger
                )
            },
            availability: { context, settings in
                await .of {
                    let settings = try DesktopNotificationSettings(settings)
                    let address = try DBusAddress.session.resolved(in: ProcessInfo.processInfo.environment)
                    return try await BusSurface.probe(.session, at: address) {
                        NotificationSession(
                            applicationName: context.applicationName,
                            settings: settings,
                            address: address,
                            logger: context.logger,
                            latest: $0
                        )
                    }
                }
            }
        )
    }

    private static func withoutNUL(_ value: BackendSettingValue) -> String? {
        guard case .string(let text) = value, text.utf8.contains(0) else { return nil }
        return "a string without a NUL character"
    }
}

extension DesktopNotificationSettings {
    /// The settings from a section of the config file.
    ///
    /// - Parameters:
    ///   - settings: the checked settings.
    ///   - environment: the environment, for the home folder.
    init(
        _ settings: BackendSettings,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws {
        self.init()
        if let text = settings.string("summary") { summary = try SnapshotFormat(text) }
        if let text = settings.string("body") { body = text.isEmpty ? nil : try SnapshotFormat(text) }
        if let icon = settings.string("icon") { self.icon = HomeFolder.expanding(icon, in: environment) }
        if let urgency = settings.string("urgency").flatMap(Urgency.init(rawValue:)) { self.urgency = urgency }
        if let isTransient = settings.boolean("transient") { self.isTransient = isTransient }
        if let timeout = settings.duration("timeout") { self.timeout = timeout }
        if let category = settings.string("category") { self.category = category }
        if let whenDone = settings.string("whenDone").flatMap(WhenDone.init(rawValue:)) { self.whenDone = whenDone }
        if let after = settings.duration("after") { self.after = after }
        if let through = settings.string("through").flatMap(Through.init(rawValue:)) { self.through = through }
    }
}
#endif
