import BackendConfiguration
import DisplayText
import Foundation
import IndicatorCore

/// An indicator on one connection to a bus: owns a name, answers calls, announces changes.
final class DBusPropertySession: BusSession {
    /// At most ten announcements a second.
    private static let interval = Duration.milliseconds(100)

    /// How long a value that a panel has set overrides older snapshots.
    private static let switchLimit = Duration.seconds(1)

    private let names: [String]
    private let object: DBusPropertyObject
    private let context: BusBackend.Context
    private var latest = IndicatorSnapshot()
    private var announced = IndicatorSnapshot()
    private var nextAnnouncement = SuspendingClock.now
    /// The finished activities that were not announced yet.
    private var finished = FinishedActivities()
    private weak var bus: BusLink?
    /// The value of `Enabled` that a panel has set, and until when it overrides snapshots: those with the value arrive
    /// later.
    private var switched: (isEnabled: Bool, until: SuspendingClock.Instant)?

    /// - Parameter names: the bus names to try, in order of preference.
    init(names: [String], object: DBusPropertyObject, context: BusBackend.Context) {
        (self.names, self.object, self.context) = (names, object, context)
    }

    func begin(on bus: BusLink) async throws -> String {
        self.bus = bus
        announced = current()
        bus.serve(path: DBusPropertyObject.path) { [weak self] in self?.answer($0) }
        return try await Self.own(names, on: bus)
    }

    /// Announces the changes since the last call.
    func show(_ update: IndicatorUpdate, on bus: BusLink) throws -> SuspendingClock.Instant? {
        latest = update.snapshot
        latest.activities = latest.shownActivities
        finished.append(update.allFinished)
        let snapshot = current()
        if nextAnnouncement > .now { return min(nextAnnouncement, switched?.until ?? nextAnnouncement) }
        announce(snapshot, on: bus)
        return switched?.until
    }

    func end(on bus: BusLink) { announce(current(), on: bus) }

    private func announce(_ snapshot: IndicatorSnapshot, on bus: BusLink) {
        let changes = object.changes(from: announced, to: snapshot)
        announced = snapshot
        if !changes.isEmpty { bus.send(.propertiesChanged(changes)) }
        let finished = finished.takeAll()
        if !finished.latest.isEmpty { bus.send(object.finished(finished)) }
        if !changes.isEmpty || !finished.latest.isEmpty { nextAnnouncement = .now + Self.interval }
    }

    private func current() -> IndicatorSnapshot {
        var snapshot = latest
        guard let (isEnabled, until) = switched else { return snapshot }
        if until <= .now {
            switched = nil
        } else {
            snapshot.isEnabled = isEnabled
            // A disabled indicator is hidden immediately.
            if !isEnabled { snapshot.state = .inactive }
        }
        return snapshot
    }

    private func answer(_ call: BusMessage) {
        let reply: BusMessage?
        switch object.answer(to: call, snapshot: current()) {
        case .values(let values): reply = call.reply(values)
        case .failure(let error): reply = call.reply(error)
        case .setEnabled(let isEnabled):
            context.control.isEnabled = isEnabled
            switched = (isEnabled, .now + Self.switchLimit)
            reply = call.reply([])
        }
        if let reply { bus?.send(reply) }
    }

    /// Owns the first of these names that is free.
    private static func own(_ names: [String], on bus: BusLink) async throws -> String {
        // DBUS_NAME_FLAG_DO_NOT_QUEUE: if the name is taken, the next one is tried.
        let flags: UInt32 = 4
        for name in names {
            do throws(BusError) {
                let reply = try await bus.callBus("RequestName", [.string(name), .uint32(flags)])
                // 1: primary owner; 4: already the owner; 3: another process has it.
                if reply == [.uint32(1)] || reply == [.uint32(4)] { return name }
            } catch {
                guard error.name == "org.freedesktop.DBus.Error.AccessDenied" else { throw error }
                throw Unavailability.refusedBusName(name, error.description)
            }
        }
        throw Unavailability.takenBusName(names[0])
    }
}

extension BusMessage {
    fileprivate static func propertiesChanged(_ changes: [BusProperty]) -> BusMessage {
        .signal(
            path: DBusPropertyObject.path,
            interface: DBusPropertyObject.propertiesInterface,
            member: "PropertiesChanged",
            [.string(DBusPropertyObject.interface), .properties(changes), .strings([])]
        )
    }
}
