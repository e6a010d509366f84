#if DBus
import Foundation
import IndicatorCore

extension BackendKind {
    /// A D-Bus object that panels read.
    public static var dbusProperty: BackendKind {
        dbusProperty { ProcessInfo.processInfo.environment }
    }

    /// The kind, in another environment than that of the process.
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
                    summary: "replaces the last element of the bus name, by default the name of the app",
                    validate: { value in
                        if case .string("") = value { "a name that is not empty" } else { nil }
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
            availability: { context, settings in
                do {
                    let settings = try DBusPropertySettings(settings)
                    let address = try settings.bus.resolved(in: environment())
                    let name = IndicatorBusName.element(for: settings.name ?? context.applicationName)
                    try await DBusProbe.connect(to: address)
                    return .available(detail: "\(IndicatorBusName.prefix)\(name) on \(address)")
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

/// Finds out whether a bus lets this process in.
private enum DBusProbe {
    static func connect(to address: String) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            // On a thread of its own, because libdbus blocks while it connects.
            let isStarted = OwnThread.start(named: "ind-dbus-probe") {
                continuation.resume(with: Result { try connectNow(to: address) })
            }
            if !isStarted {
                continuation.resume(throwing: DBusPropertyError.noResources(reason: "no thread is to be had"))
            }
        }
    }

    private static func connectNow(to address: String) throws(DBusPropertyError) {
        do throws(BusError) {
            _ = try BusLoop(address: address, wakeUp: BusWakeUp())
        } catch {
            throw .unreachable(address: address, reason: error.description)
        }
    }
}
#endif
