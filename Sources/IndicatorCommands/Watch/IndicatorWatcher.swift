#if DBus
import DequeModule
import Foundation
package import IndicatorBackends
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
        /// How many events were dropped, because the consumer was too slow. The latest state of each indicator was not.
        case dropped(Int)
    }

    /// Events that the consumer has not taken. When there are many, the latest of each indicator is kept.
    struct Backlog: Sendable {
        /// The number of events from which on older ones are dropped.
        static let limit = 1000

        private(set) var events: Deque<Event> = []
        private var droppedCount = 0

        mutating func append(_ event: Event) {
            guard events.count >= Self.limit else { return events.append(event) }
            if let index = events.firstIndex(where: event.supersedes) {
                droppedCount += 1
                if case .finished = event { events.append(events.remove(at: index)) }
                let place = if case .finished = event { events.count - 1 } else { index }
                events[place] = event.merged(with: events[place])
            } else if events.count < 2 * Self.limit {
                events.append(event)
            } else {
                droppedCount += 1
            }
        }

        /// The oldest event, and at the end the number of those dropped.
        mutating func take() -> Event? {
            if let event = events.popFirst() { return event }
            guard droppedCount > 0 else { return nil }
            defer { droppedCount = 0 }
            return .dropped(droppedCount)
        }
    }

    /// The indicators on the bus, then their changes. Throws when the bus is lost.
    package static func events(on bus: DBusAddress) -> AsyncThrowingStream<Event, any Error> {
        let backlog = SharedBacklog()
        let arrivals = arrivals(on: bus, in: backlog)
        return AsyncThrowingStream {
            while true {
                if let event = backlog.state.withLock({ $0.take() }) { return event }
                var iterator = arrivals.makeAsyncIterator()
                guard try await iterator.next() != nil else { return backlog.state.withLock { $0.take() } }
            }
        }
    }

    private final class SharedBacklog: Sendable {
        let state = Locked(Backlog())
    }

    /// An element after one or more events were added to the backlog.
    private static func arrivals(
        on address: DBusAddress,
        in backlog: SharedBacklog
    ) -> AsyncThrowingStream<Void, any Error> {
        AsyncThrowingStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let bus = MessageBus.at(address)
            let watch = Watch { event in
                backlog.state.withLock { $0.append(event) }
                continuation.yield()
            }
            let share = BusShare(on: bus, session: watch, onLoss: { continuation.finish(throwing: $0) })
            continuation.onTermination = { _ in Task.detached(executorPreference: bus.thread) { await share.end() } }
            Task.detached(executorPreference: bus.thread) {
                do {
                    _ = try await share.begin(at: address.resolved(in: ProcessInfo.processInfo.environment))
                } catch {
                    continuation.finish(throwing: error)
                }
            }
        }
    }
}

extension IndicatorWatcher.Event {
    private var name: String? {
        switch self {
        case .appeared(let name, _), .changed(let name, _, _), .vanished(let name): name
        case .finished, .listed, .dropped: nil
        }
    }

    /// Whether an earlier event need not be reported before this one.
    fileprivate func supersedes(_ earlier: Self) -> Bool {
        if case .finished = self, case .finished = earlier { return true }
        return name != nil && name == earlier.name
    }

    /// The event that reports an earlier one, too.
    fileprivate func merged(with earlier: Self) -> Self {
        switch (earlier, self) {
        case (.appeared(let name, _), .changed(_, let properties, _)): .appeared(name: name, properties: properties)
        case (.changed(let name, _, let old), .changed(_, let properties, let new)):
            .changed(name: name, properties: properties, changed: old + new.filter { !old.contains($0) })
        default: self
        }
    }
}

/// The indicators on a bus.
private final class Watch: BusSession {
    private struct Indicator {
        var owner: String
        var properties: [BusProperty]
    }

    private let report: (IndicatorWatcher.Event) -> Void
    private var indicators: [String: Indicator] = [:]
    /// The latest `GetAll` of each name, to ignore replies of former owners.
    private var readings: [String: Int] = [:]
    private var readingCount = 0
    /// Readings without a result; `nil` when the first ones are complete.
    private var pending: Int? = 1
    private weak var bus: BusShare?

    init(report: @escaping (IndicatorWatcher.Event) -> Void) {
        self.report = report
    }

    func begin(on bus: BusShare) async throws -> String {
        self.bus = bus
        let namespace = IndicatorBusName.prefix.dropLast()
        for rule in [
            "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0namespace='\(namespace)'",
            "type='signal',member='PropertiesChanged',path='\(IndicatorObject.path)'"
                + ",arg0='\(IndicatorObject.interface)'",
            "type='signal',member='Finished',path='\(IndicatorObject.path)',interface='\(IndicatorObject.interface)'",
        ] {
            try await bus.addMatch(rule)
        }
        guard case .strings(let names)? = try await bus.callBus("ListNames").first else { return "" }
        // Concurrently: one that hangs does not delay the others.
        for name in names.sorted() where readings[name] == nil { read(name) }
        endReading()
        return ""
    }

    private func read(_ name: String) {
        guard name.hasPrefix(IndicatorBusName.prefix), let bus else { return }
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
        bus.call(call, within: .seconds(3)) { [unowned self] result in
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

    func receive(_ signal: BusMessage) {
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
