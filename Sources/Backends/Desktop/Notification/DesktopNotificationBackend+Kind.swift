public import BackendConfiguration
import DisplayText
import Foundation
import IndicatorCore

extension BackendKind {
    /// A notification on the user's desktop.
    public static var desktopNotification: BackendKind {
        BackendKind(
            name: "desktopNotification",
            summary: "a notification on the desktop",
            settings: DesktopNotificationSettings.self,
            fit: { place in
                let desktop = DesktopSituation(place)
                return AutomaticFit(desktop.isPresent, desktop.reason, dependsOnBus: desktop.dependsOnBus)
            },
            make: { context, settings in
                DesktopNotificationBackend(
                    name: context.name,
                    applicationName: context.applicationName,
                    settings: settings,
                    logger: context.logger
                )
            }
        )
    }
}

extension DesktopNotificationSettings: KindSettings {
    package static let standard = Self()
    package static let bindings: [BoundSetting<Self>] = [
        BoundSetting(
            "summary",
            \.summary,
            summary: "the first line; may contain {app}, {label}, {count}, {progress}, {done}, {total}, {rate}, "
                + "{elapsed} and {remaining}"
        ),
        BoundSetting(
            BackendSetting(
                "body",
                .string,
                default: standard.body?.settingValue ?? "",
                summary: "the text below it, with the same placeholders; empty for none"
            ),
            set: { value, settings in settings.body = value == "" ? nil : try SnapshotFormat(settingValue: value) }
        ),
        BoundSetting(
            "icon",
            \.icon,
            summary: "the name of an icon in the theme, or the path of an image",
            validate: withoutNUL
        ),
        BoundSetting("urgency", \.urgency, summary: "the urgency level"),
        BoundSetting("transient", \.isTransient, summary: "whether servers exclude it from their history"),
        BoundSetting(
            "timeout",
            \.timeout,
            example: .duration(.seconds(30)),
            summary: "how long until the server closes it; by default until the indicator is hidden"
        ),
        BoundSetting("category", \.category, summary: "the category of the notification", validate: withoutNUL),
        BoundSetting(
            "live",
            \.isLive,
            summary: "whether to show what goes on; false: only how it ended, as whenDone: always"
        ),
        .whenDone(\.whenDone),
        .after(\.after),
        BoundSetting(
            "through",
            \.through,
            summary: "how notifications are sent; auto: through libnotify while it is healthy"
        ),
    ]

    package mutating func adopt(_ context: BackendContext) {
        expandHome(in: ProcessInfo.processInfo.environment)
        if !isLive, whenDone == .never { whenDone = .always }
    }

    /// Replaces a leading `~` of the icon's path by the home folder.
    mutating func expandHome(in environment: [String: String]) {
        icon = HomeFolder.expanding(icon, in: environment)
    }

    private static func withoutNUL(_ text: String) -> String? {
        text.utf8.contains(0) ? "a string without a NUL character" : nil
    }
}

extension DesktopNotificationSettings.Urgency: SettingChoice {}
extension DesktopNotificationSettings.Through: SettingChoice {}
