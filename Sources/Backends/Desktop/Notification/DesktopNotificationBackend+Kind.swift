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
            defaults: DesktopNotificationSettings(),
            settings: DesktopNotificationSettings.settings,
            bus: { _ in .session },
            make: { context, settings in
                DesktopNotificationBackend(
                    name: context.name,
                    applicationName: context.applicationName,
                    settings: settings,
                    logger: context.logger
                )
            }
        )
        .fitting { place in
            let desktop = DesktopSituation(place)
            return AutomaticFit(desktop.isPresent, desktop.reason)
        }
    }
}

extension DesktopNotificationSettings {
    static let settings: [Setting<Self>] = [
        Setting(
            "summary",
            \.summary,
            .format,
            summary: "the first line; may contain {app}, {label}, {count}, {progress}, {done}, {total}, {rate}, "
                + "{elapsed} and {remaining}"
        ),
        Setting(
            "body",
            \.body,
            // An empty text is a value: it replaces the default.
            SettingForm<SnapshotFormat?>.text(
                read: { text in text.isEmpty ? nil : try SettingForm<SnapshotFormat>.format(of: text) },
                text: { $0?.description ?? "" }
            ),
            summary: "the text below it, with the same placeholders; empty for none"
        ),
        Setting("icon", \.icon, .text, summary: "the name of an icon in the theme, or the path of an image"),
        Setting("urgency", \.urgency, .choice, summary: "the urgency level"),
        Setting("transient", \.isTransient, .boolean, summary: "whether servers exclude it from their history"),
        Setting(
            "timeout",
            \.timeout,
            .seconds,
            example: .seconds(30),
            summary: "how long until the server closes it; by default until the indicator is hidden"
        ),
        Setting("category", \.category, .text, summary: "the category of the notification"),
        Setting(
            "live",
            \.isLive,
            .boolean,
            summary: "whether to show what goes on; false: only how it ended, as whenDone: always"
        ),
        .whenDone(\.whenDone),
        .after(\.after),
        Setting(
            "through",
            \.through,
            .choice,
            summary: "how notifications are sent; auto: through libnotify while it is healthy"
        ),
    ]
}
