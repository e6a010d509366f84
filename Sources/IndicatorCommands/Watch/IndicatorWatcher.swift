#if DBus
import Foundation
package import IndicatorBackends
import IndicatorCore

/// Observes every indicator on a bus, as a panel does.
///
/// 1. Subscribe to changes of names (`NameOwnerChanged`) and properties.
/// 2. List the names that begin with `org.activityindicator.Indicator1.`, and read all properties of each.
/// 3. Apply the changes from the signals, which have the new values.
package enum IndicatorWatcher {
    /// Reports the indicators on a bus, then their changes, until the task is cancelled. Throws when the bus is lost.
    ///
    /// - Parameters:
    ///   - address: the bus.
    ///   - answerLimit: after how long an app that has not answered is reported as such, and holds up no others. If it
    ///     answers later, because it was stopped or busy, it appears.
    ///   - report: called on the thread of the bus. It must not block.
    package static func run(
        on address: DBusAddress,
        answerLimit: Duration,
        _ report: @escaping @Sendable (WatchReport) -> Void
    ) async throws {
        let thread = BusBackend.thread(of: address).thread
        let address = try address.resolved(in: ProcessInfo.processInfo.environment)
        try await withTaskExecutorPreference(thread) {
            let watch = Watch(answerLimit: answerLimit, report: report)
            let link = BusConnection(to: address, thread: thread, session: watch)
            let failure: (any Error)?
            do {
                _ = try await link.begin()
                while !Task.isCancelled {
                    // There may be no app, or none that answers.
                    let due = watch.check()
                    try await link.turn(until: due ?? .now + .seconds(3600))
                }
                failure = nil
            } catch {
                failure = link.readable(error)
            }
            // Not in a task that is cancelled, which would not wait.
            await Task.detached(executorPreference: thread) { await link.end() }.value
            if let failure { throw failure }
        }
    }
}

/// The indicators on a bus.
private final class Watch: BusSession {
    private struct Indicator {
        /// The connection that owns the name, once that is known.
        var owner: String?
        var source: WatchEvent.Source
        /// `nil` before the first answer.
        var properties: [BusProperty]?
        var reported: WatchEvent?
        /// The number of the reading in progress: an answer to an earlier owner of the name has another one.
        var reading: Int?
        /// When it counts as silent; `nil` once it has answered, or was reported as silent.
        var silentAt: SuspendingClock.Instant?
    }

    private let answerLimit: Duration
    private let report: (WatchReport) -> Void
    private var indicators: [String: Indicator] = [:]
    private var readingCount = 0
    private var isListed = false
    private weak var bus: BusConnection?

    init(answerLimit: Duration, report: @escaping (WatchReport) -> Void) {
        (self.answerLimit, self.report) = (answerLimit, report)
    }

    func begin(on bus: BusConnection) async throws -> String {
        self.bus = bus
        let namespace = IndicatorBusName.prefix.dropLast()
        let (path, interface) = (DBusPropertyObject.path, DBusPropertyObject.interface)
        for rule in [
            "sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0namespace='\(namespace)'",
            "member='PropertiesChanged',path='\(path)',arg0='\(interface)'",
            "member='Finished',path='\(path)',interface='\(interface)'",
        ] {
            try await bus.addMatch("type='signal'," + rule)
        }
        guard case .strings(let names)? = try await bus.callBus("ListNames").first else { return "" }
        for name in names.sorted() where indicators[name] == nil { add(name, owner: nil) }
        return ""
    }

    func show(_ update: IndicatorUpdate, on bus: BusConnection) throws -> SuspendingClock.Instant? { nil }

    /// Reports what is silent. Returns when to call it again even without an event.
    func check() -> SuspendingClock.Instant? {
        var next: SuspendingClock.Instant?
        for (name, indicator) in indicators {
            guard let end = indicator.silentAt else { continue }
            if end <= .now {
                indicators[name]?.silentAt = nil
                say(.broken, name, problem: "it does not answer")
            } else {
                next = min(next ?? end, end)
            }
        }
        if !isListed, next == nil {
            isListed = true
            report(.listed)
        }
        return next
    }

    func receive(_ signal: BusMessage) {
        let arguments = signal.arguments
        switch (signal.member, signal.signature) {
        case ("NameOwnerChanged", "sss") where signal.sender == "org.freedesktop.DBus" && arguments.count == 3:
            guard let name = arguments[0].text, let owner = arguments[2].text else { return }
            if indicators[name]?.reported != nil { say(.vanished, name) }
            indicators[name] = nil
            if !owner.isEmpty { add(name, owner: owner) }
        case ("PropertiesChanged", "sa{sv}as") where arguments.count == 3:
            guard case .properties(let changes) = arguments[1], case .strings(let invalidated) = arguments[2]
            else { return }
            for (name, indicator) in indicators where indicator.owner == signal.sender {
                apply(changes, to: name)
                // Their values are not in the signal (D-Bus specification, "org.freedesktop.DBus.Properties").
                if !invalidated.isEmpty { read(name) }
            }
        case ("Finished", "a(sssd)u") where arguments.count == 2:
            guard case .structures(_, let all) = arguments[0], case .uint32(let omitted) = arguments[1] else { return }
            let finished = all.compactMap(WatchEvent.Finished.init)
            for (_, indicator) in indicators where indicator.owner == signal.sender {
                for (index, one) in finished.enumerated() {
                    let more = omitted > 0 && index + 1 == finished.count ? Int(omitted) : nil
                    report(.event(WatchEvent(.finished, indicator.source, finished: one, omitted: more)))
                }
            }
        default:
            return
        }
    }

    private func add(_ name: String, owner: String?) {
        guard name.hasPrefix(IndicatorBusName.prefix) else { return }
        let shortName = String(name.dropFirst(IndicatorBusName.prefix.count))
        let source = WatchEvent.Source(name: shortName, app: shortName)
        indicators[name] = Indicator(owner: owner, source: source, silentAt: .now + answerLimit)
        read(name)
    }

    private func read(_ name: String) {
        guard let bus, let indicator = indicators[name] else { return }
        // The answer comes after the signals that were sent before it, and is newer.
        guard indicator.reading == nil else { return }
        readingCount += 1
        let reading = readingCount
        indicators[name]?.reading = reading
        let call = BusMessage.call(
            name,
            path: DBusPropertyObject.path,
            interface: "org.freedesktop.DBus.Properties",
            member: "GetAll",
            [.string(DBusPropertyObject.interface)]
        )
        // Without a time limit: a process that is stopped answers when it continues.
        bus.call(call, within: nil) { [weak self] in self?.finish(reading, of: name, with: $0) }
    }

    private func finish(_ reading: Int, of name: String, with result: Result<BusMessage, BusError>) {
        guard var indicator = indicators[name], indicator.reading == reading else { return }
        (indicator.reading, indicator.silentAt) = (nil, nil)
        if case .success(let reply) = result, reply.signature == "a{sv}",
            case .properties(let properties)? = reply.arguments.first
        {
            (indicator.owner, indicator.properties) = (reply.sender, properties)
            indicators[name] = indicator
            show(name)
        } else {
            var problem = "its properties have another type, or are too long"
            if case .failure(let error) = result { problem = WatchedState.text(error.description) }
            indicators[name] = indicator
            say(.broken, name, problem: problem)
        }
    }

    private func apply(_ changes: [BusProperty], to name: String) {
        guard var properties = indicators[name]?.properties else { return }
        for change in changes {
            // Others are not known here, and there may be any number of them.
            guard let index = properties.firstIndex(where: { $0.name == change.name }) else { continue }
            properties[index] = change
        }
        guard properties != indicators[name]?.properties else { return }
        indicators[name]?.properties = properties
        show(name)
    }

    /// Reports what the properties of an indicator say, if that is new.
    private func show(_ name: String) {
        guard let indicator = indicators[name], let properties = indicator.properties else { return }
        for property in properties {
            switch (property.name, property.value) {
            case ("Application", .string(let text)): indicators[name]?.source.app = WatchedState.text(text)
            case ("ProcessID", .uint32(let number)): indicators[name]?.source.instance = String(number)
            default: continue
            }
        }
        do throws(Unavailability) {
            let state = try WatchedState(properties)
            say(indicator.reported?.state == nil ? .appeared : .changed, name, state: state)
        } catch {
            say(.broken, name, problem: error.reason)
        }
    }

    private func say(_ kind: WatchEvent.Kind, _ name: String, state: WatchedState? = nil, problem: String? = nil) {
        guard let indicator = indicators[name] else { return }
        let event = WatchEvent(kind, indicator.source, state: state, problem: problem)
        if let old = indicator.reported, (old.state, old.problem) == (state, problem), kind != .vanished { return }
        indicators[name]?.reported = event
        report(.event(event))
    }
}

extension WatchEvent.Finished {
    /// - Parameter values: those of an activity in the signal `Finished`.
    fileprivate init?(_ values: [BusValue]) {
        guard values.count == 4, let label = values[0].text, let outcome = values[1].text, let message = values[2].text,
            case .double(let seconds) = values[3]
        else { return nil }
        self.init(label: label, outcome: outcome, message: message, seconds: seconds)
    }
}

extension WatchedState {
    fileprivate init(_ properties: [BusProperty]) throws(Unavailability) {
        self.init()
        func progress(_ value: Double) -> Double? { (0...1).contains(value) ? value : nil }
        for property in properties {
            switch (property.name, property.value) {
            case ("Visible", .boolean(let value)): visible = value
            case ("Enabled", .boolean(let value)): enabled = value
            case ("State", .string(let text)): state = text
            case ("ActivityCount", .uint32(let number)): count = Int(number)
            case ("Label", .string(let text)): label = text.isEmpty ? nil : Self.text(text)
            case ("Attention", .string(let text)): attention = text.isEmpty ? nil : Self.text(text)
            case ("Progress", .double(let value)): self.progress = progress(value)
            case ("Activities", .structures("sd", let structures)):
                activities = structures.prefix(16).compactMap { values in
                    guard case .string(let label)? = values.first, case .double(let value)? = values.last else {
                        return nil
                    }
                    return Activity(label: label, progress: progress(value))
                }
            case ("Visible", _), ("Enabled", _), ("State", _), ("ActivityCount", _), ("Label", _), ("Attention", _),
                ("Progress", _), ("Activities", _):
                throw Unavailability(reason: "its property '\(property.name)' has another type")
            default: continue
            }
        }
        guard IndicatorState(rawValue: state) != nil else {
            throw Unavailability(reason: "its state is '\(Self.text(state))', which is not known")
        }
    }
}
#endif
