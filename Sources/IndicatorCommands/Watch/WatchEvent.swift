import Foundation
import IndicatorBackends
import IndicatorCore

/// What a watcher of a bus or of a broker reports.
package enum WatchReport: Sendable, Hashable {
    case event(WatchEvent)
    /// The indicators that were already there have been reported.
    case listed
    /// A notice for the user, on standard error.
    case notice(String)
}

/// A change of an indicator, on a bus or on a broker: a line of `watch`, as text or as JSON.
package struct WatchEvent: Encodable, Sendable, Hashable {
    package enum Kind: String, Encodable, Sendable {
        /// It was already there, is new, or has returned.
        case appeared
        case changed
        /// An activity of it has ended.
        case finished
        /// Its process, or the connection of that, has died. Only on a broker.
        case lost
        /// It has ended.
        case vanished
        /// What it says of itself cannot be read.
        case broken
    }

    /// Which indicator it is. The texts come from other processes, and are shown as they are here.
    package struct Source: Encodable, Sendable, Hashable {
        /// On a bus, the bus name without the prefix of all indicators; on a broker, `host/app/instance`.
        package var name: String
        /// The machine; `nil` on a bus.
        package var host: String?
        package var app: String
        /// Distinguishes the processes of an app: on a bus, the number of the process, if it is known.
        package var instance: String?

        package init(name: String, host: String? = nil, app: String, instance: String? = nil) {
            (self.name, self.host) = (WatchedState.text(name), host.map(WatchedState.text))
            (self.app, self.instance) = (WatchedState.text(app), instance.map(WatchedState.text))
        }

        /// What a panel calls it.
        var title: String { host.map { "\($0)/\(app)" } ?? app }
    }

    /// A labelled activity that has ended.
    package struct Finished: Encodable, Sendable, Hashable {
        package var label: String
        /// `unspecified`, `succeeded`, `failed` or `cancelled`.
        package var outcome: String
        package var message: String?
        package var seconds: Double

        package init(label: String, outcome: String, message: String?, seconds: Double) {
            (self.label, self.outcome) = (WatchedState.text(label), WatchedState.text(outcome))
            self.message = message.flatMap { $0.isEmpty ? nil : WatchedState.text($0) }
            self.seconds = seconds
        }

        /// `12.3 s`.
        package var duration: String { "\(NumberStyle.current.text(seconds, digits: 1)) s" }
    }

    package var event: Kind
    package var source: Source
    /// Its state, if it is known: the last one of an indicator that is lost.
    package var state: WatchedState?
    package var finished: Finished?
    /// How many more activities have ended, of which nothing is known.
    package var omitted: Int?
    /// Why it is broken.
    package var problem: String?

    package init(
        _ event: Kind,
        _ source: Source,
        state: WatchedState? = nil,
        finished: Finished? = nil,
        omitted: Int? = nil,
        problem: String? = nil
    ) {
        (self.event, self.source, self.state) = (event, source, state)
        (self.finished, self.omitted, self.problem) = (finished, omitted, problem)
    }

    private enum Key: CodingKey {
        case event, omitted, problem
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(event, forKey: .event)
        try container.encodeIfPresent(omitted, forKey: .omitted)
        try container.encodeIfPresent(problem, forKey: .problem)
        // All in one object: each of them has keys of its own.
        try source.encode(to: encoder)
        try state?.encode(to: encoder)
        try finished?.encode(to: encoder)
    }

    /// The line for people.
    package var text: String {
        let head = "\(source.name) \(event.rawValue)"
        if let finished {
            let message = finished.message.map { ": \($0)" } ?? ""
            return "\(head): '\(finished.label)' \(finished.outcome)\(message), \(finished.duration)"
        }
        if let omitted { return "\(head): \(omitted) more" }
        if let problem { return "\(head): \(problem)" }
        return state.map { "\(head): \($0.text)" } ?? head
    }
}

/// The state of an indicator of another process. A member that is not known, or says nothing, is `nil`.
package struct WatchedState: Encodable, Sendable, Hashable {
    /// An activity in progress that has a label.
    package struct Activity: Encodable, Sendable, Hashable {
        package var label: String
        package var progress: Double?

        package init(label: String, progress: Double?) {
            (self.label, self.progress) = (WatchedState.text(label), progress)
        }
    }

    package var visible = false
    /// An `IndicatorState`.
    package var state = ""
    package var enabled: Bool?
    package var count: Int?
    package var label: String?
    package var progress: Double?
    package var attention: String?
    package var activities: [Activity]?
    /// When it was shown or hidden, by the clock of its machine (RFC 3339). Only on a broker.
    package var since: String?

    package init() {}

    /// A text of another process, without what a terminal would interpret.
    package static func text(_ text: String) -> String { SafeText.singleLine(text, limit: 256) }

    fileprivate var text: String {
        var parts = [visible ? "shown" : "hidden"]
        if let count, count > 0 { parts.append(count == 1 ? "1 activity" : "\(count) activities") }
        if enabled == false { parts.append("disabled") }
        if let percentage = Percentage(progress) { parts.append(percentage.text()) }
        if let label { parts.append("'\(label)'") }
        if let attention { parts.append("asks '\(attention)'") }
        return parts.joined(separator: ", ")
    }
}
