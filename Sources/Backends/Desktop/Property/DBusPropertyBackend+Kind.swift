public import BackendConfiguration
import DisplayText
import Foundation
import IndicatorCore

extension BackendKind {
    /// A D-Bus object that panels read.
    public static var dbusProperty: BackendKind {
        dbusProperty { ProcessInfo.processInfo.environment }
    }

    /// The kind in another environment.
    package static func dbusProperty(environment: @escaping @Sendable () -> [String: String]) -> BackendKind {
        BackendKind(
            name: "dbusProperty",
            summary: "a D-Bus object that panels read",
            settings: DBusPropertySettings.self,
            bus: \.bus,
            environment: environment,
            fit: { place in
                let hasBus = DBusAddress.session.mayExist(in: place.environment)
                return AutomaticFit(
                    hasBus,
                    hasBus ? "there is a session bus, on which panels may read it" : DesktopSituation.noBus
                )
            },
            make: { context, settings in
                DBusPropertyBackend(
                    name: context.name,
                    applicationName: context.applicationName,
                    settings: settings,
                    environment: environment
                )
            }
        )
    }
}

extension DBusPropertySettings: KindSettings {
    package static let standard = Self()
    package static let bindings: [BoundSetting<Self>] = [
        BoundSetting("bus", \.bus, summary: "the message bus: session, system, or a D-Bus address"),
        BoundSetting(
            "name",
            \.name,
            example: "my-app",
            summary: "replaces the last element of the bus name, by default the name of the app",
            validate: { $0 == "" ? "a non-empty name" : nil }
        ),
    ]
}

extension DBusAddress: SettingValue {
    package static var settingType: BackendSetting.ValueType { .string }
    package var settingValue: BackendSettingValue? { .string(description) }
    package init(settingValue: BackendSettingValue) throws {
        let text = try settingValue.text
        do throws(MessageBusError) {
            try self.init(text)
        } catch {
            let expected = "session, system, or a D-Bus address such as unix:path=/run/user/1000/bus"
            guard case .invalidAddress(_, let reason) = error else { throw ExpectedSetting(expected) }
            throw ExpectedSetting("\(expected) (\(reason))")
        }
    }
}
