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
                guard let address = try? DBusPropertySettings(settings).bus.resolved(in: environment()) else {
                    return false
                }
                // The variable may name the bus of a session that has ended.
                let elements = address.split(separator: ";")
                return elements.contains { element in
                    guard let path = element.firstMatch(of: /^unix:path=([^,%]+)/)?.1 else { return true }
                    return FileManager.default.fileExists(atPath: String(path))
                }
            },
            availability: { context, settings in
                do {
                    let settings = try DBusPropertySettings(settings)
                    let address = try settings.bus.resolved(in: environment())
                    let names = IndicatorBusName.candidates(
                        for: settings.name ?? context.applicationName,
                        processID: getpid()
                    )
                    let name = try await BusService.probe(address: address) { _ in
                        IndicatorBusSession.Probe(names: names)
                    }
                    return .available(detail: "\(name) on \(address)")
                } catch let error as DBusPropertyError {
                    return .unavailable(reason: error.reason, help: error.help)
                } catch {
                    return .unavailable(reason: "\(error)", help: nil)
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
