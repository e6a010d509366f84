#if DBus
import Foundation
import IndicatorBackends
import IndicatorCore

/// A line of `watch`: an event of any app's indicator.
package struct WatchedIndicator: Encodable {
    /// The event.
    package enum Event: String, Encodable {
        case appeared
        case changed
        case vanished
        case finished
    }

    /// An activity that has ended.
    package struct Finished: Encodable {
        package var label: String
        package var outcome: String
        package var message: String
        package var seconds: Double

        /// `12.3 s`.
        package var duration: String { "\(NumberStyle.current.text(seconds, digits: 1)) s" }
    }

    package var event: Event
    /// The bus name.
    package var name: String
    /// The names of the changed properties.
    package var changed: [String]?
    package var finished: Finished?
    private var properties: [String: BusValue] = [:]

    /// `nil` for an event of no indicator.
    package init?(_ event: IndicatorWatcher.Event) {
        switch event {
        case .appeared(let name, let properties):
            self.event = .appeared
            self.name = name
            self.properties = Self.index(properties)
        case .changed(let name, let properties, let changed):
            self.event = .changed
            self.name = name
            self.changed = changed
            self.properties = Self.index(properties)
        case .vanished(let name):
            self.event = .vanished
            self.name = name
        case .finished(let name, let label, let outcome, let message, let seconds):
            self.event = .finished
            self.name = name
            finished = Finished(label: label, outcome: outcome, message: message, seconds: seconds)
        case .listed, .dropped: return nil
        }
    }

    /// The line as JSON, for programs.
    package var json: String {
        get throws { try JSONLine.text(of: self) }
    }

    /// The line for people. Control characters of another app are not written to the terminal.
    package var text: String {
        let name = SafeText.singleLine(name.dropFirst(IndicatorBusName.prefix.count), limit: 200)
        if event == .vanished { return "\(name) vanished" }
        if let finished {
            func shown(_ text: String) -> String { SafeText.singleLine(text, limit: 200) }
            let message = finished.message.isEmpty ? "" : ": \(shown(finished.message))"
            let outcome = "\(shown(finished.outcome))\(message), \(finished.duration)"
            return "\(name) finished: '\(shown(finished.label))' \(outcome)"
        }
        var parts = [boolean("Visible") == true ? "shown" : "hidden", text("State") ?? "?"]
        if let count = number("ActivityCount") { parts.append(count == 1 ? "1 activity" : "\(count) activities") }
        if boolean("Enabled") == false { parts.append("disabled") }
        if let percentage = Percentage(progress) { parts.append(percentage.text()) }
        if let label = text("Label"), !label.isEmpty { parts.append("'\(label)'") }
        if let attention { parts.append("asks '\(attention)'") }
        return "\(name) \(event.rawValue): \(parts.joined(separator: ", "))"
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(event, forKey: .event)
        try container.encode(name, forKey: .name)
        try container.encodeIfPresent(changed, forKey: .changed)
        if let finished { return try finished.encode(to: encoder) }
        guard event != .vanished else { return }
        try container.encode(boolean("Visible"), forKey: .visible)
        try container.encode(string("State"), forKey: .state)
        try container.encode(number("ActivityCount"), forKey: .activityCount)
        try container.encode(string("Label"), forKey: .label)
        if let attention = text("Attention"), !attention.isEmpty { try container.encode(attention, forKey: .attention) }
        try container.encode(progress, forKey: .progress)
        try container.encodeIfPresent(activities, forKey: .activities)
        try container.encode(string("Application"), forKey: .application)
        try container.encode(number("ProcessID"), forKey: .processID)
        try container.encode(boolean("Enabled"), forKey: .enabled)
    }

    private enum Key: String, CodingKey {
        case event, name, changed, visible, state, activityCount, label, progress, activities, application, processID
        case enabled, attention
    }

    private struct Activity: Encodable {
        var label: String
        var progress: Double?
    }

    /// Whether the indicator is shown.
    var isVisible: Bool { boolean("Visible") ?? false }

    /// The name of the app.
    var application: String { text("Application") ?? String(name.dropFirst(IndicatorBusName.prefix.count)) }

    /// What the user is asked for.
    var attention: String? { text("Attention").flatMap { $0.isEmpty ? nil : $0 } }

    /// What a backend of the app itself would show.
    var snapshot: IndicatorSnapshot {
        var activities = (activities ?? []).map { ActivityDetails(label: $0.label, progress: $0.progress) }
        if activities.isEmpty {
            let label = string("Label").flatMap { $0.isEmpty ? nil : $0 }
            activities = [ActivityDetails(label: label, progress: progress)]
        }
        activities[0].attention = attention
        let count = Int(number("ActivityCount") ?? 0)
        return IndicatorSnapshot(state: isVisible ? .active : .inactive, activityCount: count, activities: activities)
    }

    /// Another program may omit or repeat properties.
    private static func index(_ properties: [BusProperty]) -> [String: BusValue] {
        Dictionary(properties.map { ($0.name, $0.value) }) { $1 }
    }

    /// `nil` when it is unknown.
    var progress: Double? { Self.progress(properties["Progress"]) }

    private static func progress(_ value: BusValue?) -> Double? {
        guard case .double(let value)? = value, (0...1).contains(value) else { return nil }
        return value
    }

    /// `nil` when the program does not list them.
    private var activities: [Activity]? {
        guard case .structures("sd", let structures)? = properties["Activities"] else { return nil }
        return structures.compactMap { values in
            values.first?.text.map { Activity(label: $0, progress: Self.progress(values.last)) }
        }
    }

    private func boolean(_ name: String) -> Bool? {
        if case .boolean(let value)? = properties[name] { value } else { nil }
    }

    private func number(_ name: String) -> UInt32? {
        if case .uint32(let value)? = properties[name] { value } else { nil }
    }

    private func string(_ name: String) -> String? { properties[name]?.text }

    private func text(_ name: String) -> String? {
        string(name).map { SafeText.singleLine($0, limit: 200) }
    }
}
#endif
