#if DBus
import IndicatorCore
import Foundation
import IndicatorThreads

/// Observes every indicator on a bus, as a panel does.
///
/// 1. Subscribe to changes of names (`NameOwnerChanged`) and properties.
/// 2. List the names that begin with `org.activityindicator.Indicator1.`, and read all properties of each.
/// 3. Apply the changes from the signals, which have the new values.
package enum IndicatorWatcher {
    /// A change on the bus.
    package enum Event: Sendable, Hashable {
        /// An indicator is on the bus: it was already there, or has appeared.
        case appeared(name: String, properties: [BusProperty])
        /// An indicator has changed: all its properties, and the names of the changed ones.
        case changed(name: String, properties: [BusProperty], changed: [String])
        /// An indicator has left the bus.
        case vanished(name: String)
        /// An activity of an indicator has ended.
        case finished(name: String, label: String, outcome: String, message: String, seconds: Double)
        /// The indicators that were already on the bus have appeared.
        case listed
    }

    /// The indicators on the bus, then their changes. Throws when the bus is lost.
    package static func events(on bus: DBusAddress) -> AsyncThrowingStream<Event, any Error> {
        AsyncThrowingStream { continuation in
            do {
                let address = try bus.resolved(in: ProcessInfo.processInfo.environment)
                guard let wakeUp = SpareDescriptors.makeWakeUp() else {
                    throw DBusPropertyError.noResources(reason: SpareDescriptors.problem)
                }
                continuation.onTermination = { _ in wakeUp.stop() }
                let isStarted = ThreadStarter.start(named: "ind-watch") {
                    let watch = Watch { continuation.yield($0) }
                    do throws(BusError) {
                        try watch.run(address: address, wakeUp: wakeUp)
                        continuation.finish()
                    } catch {
                        let reason = error.description
                        let error: DBusPropertyError =
                            watch.isConnected
                            ? .lost(address: address, reason: reason) : .unreachable(address: address, reason: reason)
                        continuation.finish(throwing: error)
                    }
                }
                if !isStarted { throw DBusPropertyError.noResources(reason: "could not create a thread") }
            } catch {
                continuation.finish(throwing: error)
            }
        }
    }
}

/// The state of a watcher's thread.
private final class Watch {
    private struct Indicator {
        var owner: String
        var properties: [BusProperty]
    }

    private(set) var isConnected = false

    private let report: (IndicatorWatcher.Event) -> Void
    private var indicators: [String: Indicator] = [:]
    /// The latest `GetAll` of each name, to ignore replies of former owners.
    private var readings: [String: Int] = [:]
    private var readingCount = 0
    /// Readings without a result; `nil` when the first ones are complete.
    private var pending: Int? = 1
    private weak var loop: BusLoop?

    init(report: @escaping (IndicatorWatcher.Event) -> Void) {
        self.report = report
    }

    func run(address: String, wakeUp: WakeUp) throws(BusError) {
        let loop = try BusLoop(address: address, wakeUp: wakeUp) { [unowned self] in handle($0) }
        self.loop = loop
        isConnected = true
        let namespace = IndicatorBusName.prefix.dropLast()
        for rule in [
            "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0namespace='\(namespace)'",
            "type='signal',member='PropertiesChanged',path='\(IndicatorObject.path)'"
                + ",arg0='\(IndicatorObject.interface)'",
            "type='signal',member='Finished',path='\(IndicatorObject.path)',interface='\(IndicatorObject.interface)'",
        ] {
            try loop.callBus("AddMatch", [.string(rule)])
        }
        guard case .strings(let names)? = try loop.callBus("ListNames").first else { return }
        // Concurrently: one that hangs does not delay the others.
        for name in names.sorted() where readings[name] == nil { read(name) }
        endReading()
        while !wakeUp.isStopped { try loop.turn() }
    }

    private func read(_ name: String) {
        guard name.hasPrefix(IndicatorBusName.prefix), let loop else { return }
        readingCount += 1
        let reading = readingCount
        readings[name] = reading
        let call = BusMessage.call(
            name,
            path: IndicatorObject.path,
            interface: "org.freedesktop.DBus.Properties",
            member: "GetAll",
            [.string(IndicatorObject.interface)]
        )
        pending? += 1
        loop.call(call, within: .seconds(3)) { [unowned self] result in
            defer { endReading() }
            // If it fails, the name has vanished, hangs, or is not an indicator.
            guard readings[name] == reading, let reply = try? result.get(), let owner = reply.sender,
                reply.signature == "a{sv}", case .properties(let properties)? = reply.arguments.first
            else { return }
            indicators[name] = Indicator(owner: owner, properties: properties)
            report(.appeared(name: name, properties: properties))
        }
    }

    private func endReading() {
        pending? -= 1
        if pending == 0 {
            pending = nil
            report(.listed)
        }
    }

    private func handle(_ signal: BusMessage) {
        switch (signal.member, signal.signature) {
        case ("NameOwnerChanged", "sss") where signal.sender == "org.freedesktop.DBus":
            let arguments = signal.arguments
            guard arguments.count == 3, let name = arguments[0].text, let owner = arguments[2].text,
                name.hasPrefix(IndicatorBusName.prefix)
            else { return }
            readings[name] = nil
            if indicators.removeValue(forKey: name) != nil { report(.vanished(name: name)) }
            if !owner.isEmpty { read(name) }
        case ("PropertiesChanged", "sa{sv}as"):
            let names = indicators.filter { $0.value.owner == signal.sender }.keys
            guard !names.isEmpty, case .properties(let changes)? = signal.arguments.dropFirst().first else { return }
            for name in names { apply(changes, to: name) }
        case ("Finished", "sssd"):
            let arguments = signal.arguments
            guard arguments.count == 4, let label = arguments[0].text, let outcome = arguments[1].text,
                let message = arguments[2].text, case .double(let seconds) = arguments[3]
            else { return }
            for (name, indicator) in indicators where indicator.owner == signal.sender {
                report(.finished(name: name, label: label, outcome: outcome, message: message, seconds: seconds))
            }
        default:
            return
        }
    }

    private func apply(_ changes: [BusProperty], to name: String) {
        guard var indicator = indicators[name] else { return }
        var changed: [String] = []
        for change in changes {
            guard let index = indicator.properties.firstIndex(where: { $0.name == change.name }) else { continue }
            guard indicator.properties[index] != change else { continue }
            indicator.properties[index] = change
            changed.append(change.name)
        }
        guard !changed.isEmpty else { return }
        indicators[name] = indicator
        report(.changed(name: name, properties: indicator.properties, changed: changed))
    }
}
#endif
