#if DBus
import Foundation
import IndicatorCore

/// An indicator on one connection to a bus: owns a name, answers calls, announces changes.
final class IndicatorBusSession: BusSession {
    /// How much may wait to be sent before changes wait too, to be announced as one.
    private static let outgoingLimit = 256 << 10

    /// How many activities that have finished may wait to be announced.
    private static let finishedLimit = 64

    /// How long a value that a panel has set holds against snapshots that are older than it.
    private static let switchLimit = Duration.seconds(1)

    private let names: [String]
    private let object: IndicatorObject
    private let control: IndicatorControl
    private let latest: @Sendable () -> IndicatorSnapshot
    private var announced = IndicatorSnapshot()
    /// What has finished and was not announced yet.
    private var finished: [FinishedActivity] = []
    private var name: String?
    private var hasLostName = false
    private weak var loop: BusLoop?
    /// The value of `Enabled` that a panel has set, and until when it holds: the snapshots that follow from it arrive
    /// later.
    private var switched: (isEnabled: Bool, until: ContinuousClock.Instant)?

    /// - Parameters:
    ///   - names: the bus names to try, best first.
    ///   - object: what is put on the bus.
    ///   - control: what `Enabled` switches.
    ///   - latest: the latest snapshot.
    init(
        names: [String],
        object: IndicatorObject,
        control: IndicatorControl,
        latest: @escaping @Sendable () -> IndicatorSnapshot
    ) {
        self.names = names
        self.object = object
        self.control = control
        self.latest = latest
    }

    func begin(on loop: BusLoop) throws -> String {
        self.loop = loop
        announced = current()
        loop.serve(path: IndicatorObject.path) { [weak self] in self?.answer($0) }
        let name = try Self.own(names, on: loop)
        self.name = name
        return name
    }

    func receive(_ signal: BusMessage) {
        guard signal.member == "NameLost", signal.sender == "org.freedesktop.DBus" else { return }
        if let name, signal.arguments == [.string(name)] { hasLostName = true }
    }

    /// Announces what has changed since the last time.
    func update(on loop: BusLoop) throws -> ContinuousClock.Instant? {
        if hasLostName { throw BusError(name: "org.freedesktop.DBus.Error.Failed", text: "the bus took the name back") }
        let snapshot = current()
        if loop.outgoingBytes < Self.outgoingLimit {
            let changes = object.changes(from: announced, to: snapshot)
            announced = snapshot
            if !changes.isEmpty { loop.send(.propertiesChanged(changes)) }
            for activity in finished { loop.send(object.finished(activity)) }
            finished = []
        }
        return switched?.until
    }

    private func current() -> IndicatorSnapshot {
        var snapshot = latest()
        finished = (finished + snapshot.finished).suffix(Self.finishedLimit)
        guard let (isEnabled, until) = switched else { return snapshot }
        if until <= .now {
            switched = nil
        } else {
            snapshot.isEnabled = isEnabled
            // A disabled indicator is hidden at once.
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
            control.setEnabled(isEnabled)
            switched = (isEnabled, .now + Self.switchLimit)
            reply = call.reply([])
        }
        if let reply { loop?.send(reply) }
    }

    /// Owns the first of these names that is free.
    private static func own(_ names: [String], on loop: BusLoop) throws -> String {
        // DBUS_NAME_FLAG_DO_NOT_QUEUE: when the name is taken, another one is owned instead.
        let flags: UInt32 = 4
        for name in names {
            do throws(BusError) {
                let reply = try loop.callBus("RequestName", [.string(name), .uint32(flags)])
                // 1: the primary owner; 4: it is owned already. 3: another process has it.
                if reply == [.uint32(1)] || reply == [.uint32(4)] { return name }
            } catch {
                guard error.name == "org.freedesktop.DBus.Error.AccessDenied" else { throw error }
                throw DBusPropertyError.nameRefused(name, reason: error.description)
            }
        }
        throw DBusPropertyError.nameTaken(names[0])
    }

    /// Finds out whether a bus lets this process in and own a name, and puts no object on it.
    final class Probe: BusSession {
        private let names: [String]

        init(names: [String]) { self.names = names }

        func begin(on loop: BusLoop) throws -> String { try own(names, on: loop) }
    }
}

extension BusMessage {
    fileprivate static func propertiesChanged(_ changes: [BusProperty]) -> BusMessage {
        .signal(
            path: IndicatorObject.path,
            interface: IndicatorObject.propertiesInterface,
            member: "PropertiesChanged",
            [.string(IndicatorObject.interface), .properties(changes), .strings([])]
        )
    }
}

/// The bus names of an indicator.
package enum IndicatorBusName {
    /// What all of them begin with.
    package static let prefix = "org.activityindicator.Indicator1."

    /// How many bytes of the app's name are used, so that prefix, name and suffix stay under the 255 that D-Bus allows.
    static let longestElement = 190

    /// The element of a bus name that stands for an app.
    ///
    /// ASCII letters, digits, `_` and `-` stay as they are; every other Unicode scalar becomes `_`. A name that begins
    /// with a digit gets a `_` in front, and an empty one is `_`: an element is not empty and does not begin with a
    /// digit (D-Bus specification, "Bus names"). What is longer than 190 bytes is cut there.
    package static func element(for name: String) -> String {
        var scalars = name.unicodeScalars.prefix(longestElement).map { isAllowed($0) ? $0 : "_" }
        if ("0"..."9").contains(scalars.first ?? "0") { scalars.insert("_", at: 0) }
        return String(String.UnicodeScalarView(scalars.prefix(longestElement)))
    }

    /// The names to try, best first: the app's own; the same for this process, when another one of the app has that;
    /// and, for processes that share a bus and not their process identifiers, or indicators of one process, the same
    /// with a number.
    package static func candidates(for name: String, processID: Int32) -> [String] {
        let own = prefix + element(for: name)
        let instance = "\(own).instance\(processID)"
        return [own, instance] + (2...32).map { "\(instance)_\($0)" }
    }

    private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", "_", "-": true
        default: false
        }
    }
}
#endif
