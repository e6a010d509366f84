#if DBus
import Foundation

/// Follows every indicator on a bus, as a panel does.
///
/// 1. Have the bus tell of names that come and go (`NameOwnerChanged`), and of changes of properties.
/// 2. List the names that begin with `org.activityindicator.Indicator1.`, and read all properties of each.
/// 3. Take changes from the signals; they carry the values.
package enum IndicatorWatcher {
    /// What happened.
    package enum Event: Sendable, Hashable {
        /// An indicator is on the bus: it was there already, or has come.
        case appeared(name: String, properties: [BusProperty])
        /// It has changed: all properties, and the names of those that differ from before.
        case changed(name: String, properties: [BusProperty], changed: [String])
        /// It has gone.
        case vanished(name: String)
    }

    /// The indicators on the bus, then what becomes of them. Ends with an error when the bus is lost.
    package static func events(on bus: DBusAddress) -> AsyncThrowingStream<Event, any Error> {
        AsyncThrowingStream { continuation in
            do {
                let address = try bus.resolved(in: ProcessInfo.processInfo.environment)
                let wakeUp = try BusWakeUp()
                continuation.onTermination = { _ in wakeUp.stop() }
                let isStarted = OwnThread.start(named: "ind-watch") {
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
                if !isStarted { throw DBusPropertyError.noResources(reason: "no thread is to be had") }
            } catch {
                continuation.finish(throwing: error)
            }
        }
    }
}

/// What the thread of a watcher knows.
private final class Watch {
    private struct Indicator {
        var owner: String
        var properties: [BusProperty]
    }

    private(set) var isConnected = false

    private let report: (IndicatorWatcher.Event) -> Void
    private var indicators: [String: Indicator] = [:]
    private var signals: [BusMessage] = []

    init(report: @escaping (IndicatorWatcher.Event) -> Void) {
        self.report = report
    }

    func run(address: String, wakeUp: BusWakeUp) throws(BusError) {
        let loop = try BusLoop(address: address, wakeUp: wakeUp) { [unowned self] in signals.append($0) }
        isConnected = true
        let namespace = IndicatorBusName.prefix.dropLast()
        for rule in [
            "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0namespace='\(namespace)'",
            "type='signal',member='PropertiesChanged',path='\(IndicatorObject.path)',arg0='\(IndicatorObject.interface)'",
        ] {
            try loop.callBus("AddMatch", [.string(rule)])
        }
        guard case .strings(let names)? = try loop.callBus("ListNames").first else { return }
        for name in names.sorted() { try look(at: name, on: loop) }
        while !wakeUp.isStopped {
            while !signals.isEmpty { try handle(signals.removeFirst(), on: loop) }
            try loop.turn()
        }
    }

    private func look(at name: String, on loop: BusLoop) throws(BusError) {
        guard name.hasPrefix(IndicatorBusName.prefix), indicators[name] == nil else { return }
        do throws(BusError) {
            guard case .string(let owner)? = try loop.callBus("GetNameOwner", [.string(name)]).first else { return }
            let reply = try loop.call(
                .call(
                    owner,
                    path: IndicatorObject.path,
                    interface: "org.freedesktop.DBus.Properties",
                    member: "GetAll",
                    [.string(IndicatorObject.interface)]
                )
            )
            guard case .properties(let properties)? = reply.first else { return }
            indicators[name] = Indicator(owner: owner, properties: properties)
            report(.appeared(name: name, properties: properties))
        } catch {
            // It has gone meanwhile, hangs, or is none. Only the bus matters.
            if error == .disconnected || error == .cancelled { throw error }
        }
    }

    private func handle(_ signal: BusMessage, on loop: BusLoop) throws(BusError) {
        let arguments = signal.arguments
        switch signal.member {
        case "NameOwnerChanged":
            guard arguments.count == 3, let name = arguments[0].text, let owner = arguments[2].text else { return }
            if indicators[name]?.owner == owner { return }
            if indicators.removeValue(forKey: name) != nil { report(.vanished(name: name)) }
            if !owner.isEmpty { try look(at: name, on: loop) }
        case "PropertiesChanged":
            guard arguments.count == 3, case .properties(let changes) = arguments[1] else { return }
            for (name, indicator) in indicators where indicator.owner == signal.sender { apply(changes, to: name) }
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
