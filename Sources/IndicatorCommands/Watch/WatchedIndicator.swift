#if DBus
import Foundation
package import IndicatorBackends

/// A line of `watch`: an event of any app's indicator.
package struct WatchedIndicator: Encodable {
    /// The event.
    package enum Event: String, Encodable {
        case appeared
        case changed
        case vanished
    }

    package var event: Event
    /// The bus name.
    package var name: String
    /// The names of the changed properties.
    package var changed: [String]?
    private var properties: [String: BusValue] = [:]

    package init(_ event: IndicatorWatcher.Event) {
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
        }
    }

    /// The line as JSON, for programs.
    package var json: String {
        get throws { try JSONLine.text(of: self) }
    }

    /// The line for people. Control characters of another app are not written to the terminal.
    package var text: String {
        let name = DisplayText.singleLine(name.dropFirst(IndicatorBusName.prefix.count), limit: 200)
        guard event != .vanished else { return "\(name) vanished" }
        var parts = [boolean("Visible") == true ? "shown" : "hidden", text("State") ?? "?"]
        if let count = number("ActivityCount") { parts.append(count == 1 ? "1 activity" : "\(count) activities") }
        if boolean("Enabled") == false { parts.append("disabled") }
        if let percentage = Percentage(progress) { parts.append(percentage.text()) }
        if let label = text("Label"), !label.isEmpty { parts.append("'\(label)'") }
        return "\(name) \(event.rawValue): \(parts.joined(separator: ", "))"
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(event, forKey: .event)
        try container.encode(name, forKey: .name)
        try container.encodeIfPresent(changed, forKey: .changed)
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

    /// Another program may omit or repeat properties.
    private static func index(_ properties: [BusProperty]) -> [String: BusValue] {
        Dictionary(properties.map { ($0.name, $0.value) }) { $1 }
    }

    /// `nil` when it is unknown.
    private var progress: Double? { Self.progress(properties["Progress"]) }

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
        string(name).map { DisplayText.singleLine($0, limit: 200) }
    }
}
#endif
