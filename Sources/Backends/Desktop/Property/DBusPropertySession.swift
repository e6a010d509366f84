import BackendConfiguration
import IndicatorCore
import Foundation

/// An indicator on one connection to a bus: owns a name, answers calls, announces changes.
final class DBusPropertySession: BusSession {
    private let names: [String]
    private let indicator: DBusPropertyObject
    private let context: BusBackend.Context
    private var latest = IndicatorSnapshot()
    /// Whether a panel has switched the indicator, and the snapshot of that has not arrived.
    private var isSwitched = false
    private lazy var object: BusObject = indicator.object { [unowned self] isEnabled in
        context.control.isEnabled = isEnabled
        isSwitched = true
        object.properties = indicator.properties(of: current())
    }

    /// - Parameter names: the bus names to try, in order of preference.
    init(names: [String], object: DBusPropertyObject, context: BusBackend.Context) {
        (self.names, indicator, self.context) = (names, object, context)
    }

    func begin(on bus: BusConnection) async throws -> String {
        bus.serve(object)
        return "\(try await Self.own(names, on: bus)) on \(context.address)"
    }

    /// Announces the changes since the last call.
    func show(_ update: IndicatorUpdate, on bus: BusConnection) throws -> SuspendingClock.Instant? {
        latest = update.snapshot
        isSwitched = isSwitched && latest.isEnabled != context.control.isEnabled
        object.properties = indicator.properties(of: current())
        object.announce()
        if !update.finished.isEmpty { object.emit("Finished", indicator.outcomes(of: update)) }
        return nil
    }

    func end(on bus: BusConnection) {
        object.properties = indicator.properties(of: current())
        object.announce()
    }

    private func current() -> IndicatorSnapshot {
        var snapshot = latest
        if isSwitched { snapshot.isEnabled = context.control.isEnabled }
        // A disabled indicator is hidden immediately.
        if !snapshot.isEnabled { snapshot.state = .inactive }
        return snapshot
    }

    /// Owns the first of these names that is free.
    private static func own(_ names: [String], on bus: BusConnection) async throws -> String {
        // DBUS_NAME_FLAG_DO_NOT_QUEUE: if the name is taken, the next one is tried.
        let flags: UInt32 = 4
        for name in names {
            do throws(BusError) {
                let reply = try await bus.callBus("RequestName", [.string(name), .uint32(flags)])
                // 1: primary owner; 4: already the owner; 3: another process has it.
                if reply == [.uint32(1)] || reply == [.uint32(4)] { return name }
            } catch {
                guard error.name == "org.freedesktop.DBus.Error.AccessDenied" else { throw error }
                throw Unavailability(
                    reason: "the bus does not allow this user to own '\(name)': \(error)",
                    help: """
                        allow it with <policy user="NAME"><allow own="\(name)"/></policy> in a file in \
                        /etc/dbus-1/system.d, for a session bus in /etc/dbus-1/session.d; or choose another bus with \
                        the setting 'bus'
                        """
                )
            }
        }
        throw Unavailability(
            reason: "other processes own '\(names[0])' and all alternatives to it",
            help: "choose another name with the setting 'name'"
        )
    }
}
