#if DBus
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
            settings: [
                BackendSetting(
                    "bus",
                    .string,
                    default: .string(DBusAddress.session.description),
                    summary: "the message bus: session, system, or a D-Bus address",
                    validate: { value in
                        guard case .string(let text) = value else { return nil }
                        do throws(DBusPropertyError) {
                            _ = try DBusAddress(text)
                            return nil
                        } catch {
                            let expected = "session, system, or a D-Bus address such as unix:path=/run/user/1000/bus"
                            guard case .invalidAddress(_, let reason) = error else { return expected }
                            return "\(expected) (\(reason))"
                        }
                    }
                ),
                BackendSetting(
                    "name",
                    .string,
                    example: .string("my-app"),
                    summary: "replaces the last element of the bus name, by default the name of the app",
                    validate: { value in
                        if case .string("") = value { "a non-empty name" } else { nil }
                    }
                ),
            ],
            make: { context, settings in
                DBusPropertyBackend(
                    name: context.name,
                    applicationName: context.applicationName,
                    settings: try DBusPropertySettings(settings),
                    environment: environment
                )
            },
            isApplicable: { context, settings in
                // Who names it wants it as soon as there is a bus.
                guard !context.isNamed else { return true }
                return (try? DBusPropertySettings(settings).bus.mayExist(in: environment())) ?? false
            },
            availability: { context, settings in
                await .of {
                    let settings = try DBusPropertySettings(settings)
                    let address = try settings.bus.resolved(in: environment())
                    let names = IndicatorBusName.candidates(
                        for: settings.name ?? context.applicationName,
                        processID: getpid()
                    )
                    let name = try await BusSurface.probe(settings.bus, at: address) { _ in
                        IndicatorBusSession.Probe(names: names)
                    }
                    return "\(name) on \(address)"
                }
            }
        )
    }
}

extension DBusPropertySettings {
    fileprivate init(_ settings: BackendSettings) throws(DBusPropertyError) {
        self.init(name: settings.string("name"))
        if let bus = settings.string("bus") { self.bus = try DBusAddress(bus) }
    }
}
#endif
