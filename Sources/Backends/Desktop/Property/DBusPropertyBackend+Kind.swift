public import BackendConfiguration
import DisplayText
import Foundation
import IndicatorCore

extension BackendKind {
    /// A D-Bus object that panels read.
    public static var dbusProperty: BackendKind {
        BackendKind(
            name: "dbusProperty",
            summary: "a D-Bus object that panels read",
            defaults: DBusPropertySettings(),
            settings: DBusPropertySettings.settings,
            bus: \.bus,
            make: { context, settings in
                DBusPropertyBackend(
                    name: context.name,
                    applicationName: context.applicationName,
                    settings: settings
                )
            }
        )
        .fitting { place in
            let hasBus = DBusAddress.session.mayExist(in: place.environment)
            return AutomaticFit(
                hasBus,
                hasBus ? "there is a session bus, on which panels may read it" : DesktopSituation.noBus
            )
        }
    }
}

extension DBusPropertySettings {
    static let settings: [Setting<Self>] = [
        Setting("bus", \.bus, .address, summary: "the message bus: session, system, or a D-Bus address"),
        Setting(
            "name",
            \.name,
            .text,
            example: "my-app",
            summary: "replaces the last element of the bus name, by default the name of the app",
            validate: { $0 == "" ? "a non-empty name" : nil }
        ),
    ]
}

extension SettingForm<DBusAddress> {
    static var address: Self {
        text(
            read: { text in
                do throws(Unavailability) {
                    return try DBusAddress(text)
                } catch {
                    let expected = "session, system, or a D-Bus address such as unix:path=/run/user/1000/bus"
                    throw ExpectedSetting("\(expected) (\(error.reason))")
                }
            },
            text: \.description
        )
    }
}
