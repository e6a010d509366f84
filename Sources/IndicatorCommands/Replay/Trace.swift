package import Foundation
import IndicatorBackends
package import IndicatorCore
package import IndicatorTesting
import JSONScanning

/// Events with their times, in JSON: one event per line, or an object with delays and a list of events.
package struct Trace {
    /// An event and its time.
    package struct Event: Hashable, Sendable {
        package var time: Duration
        package var event: ActivityReplay.Event
    }

    /// Some of the delays.
    package typealias Delays = [IndicatorDelays.Setting: Duration]

    /// The delays that it sets.
    package private(set) var delays: Delays = [:]
    /// Whether the last time was in milliseconds, as `t_ms`; otherwise in seconds, as `time`.
    private(set) var isInMilliseconds = false
    /// In the order of their times.
    package private(set) var events: [Event] = []

    private static let keys =
        ["name", "events", "expected"] + delaysInMilliseconds.flatMap { [$0.key.rawValue, $0.value] }
    private static let delaysInMilliseconds: KeyValuePairs<IndicatorDelays.Setting, String> = [
        .startDelay: "start_delay_ms", .completionDelay: "completion_delay_ms",
        .minimumVisibleTime: "minimum_visible_time_ms",
    ]

    /// Reads a trace, which is held in memory.
    package init(_ data: Data) throws(TraceError) {
        try Array(data).withUnsafeBufferPointer { bytes throws(TraceError) in
            if try !readEvents(bytes) { try readObject(bytes) }
        }
    }

    /// Reads one event per line. Returns `false` if the first line is not an event but belongs to an object.
    private mutating func readEvents(_ bytes: UnsafeBufferPointer<UInt8>) throws(TraceError) -> Bool {
        var object = FlatObject()
        var (number, isFirst) = (0, true)
        for line in JSONLines(bytes) {
            number += 1
            if line.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) { continue }
            let isObject: Bool
            do throws(JSONProblem) { isObject = try object.read(line) } catch {
                if isFirst { return false }
                throw TraceError(line: number, error.message)
            }
            if isFirst, !isObject || object["event"] == nil && Self.keys.contains(where: { object[$0] != nil }) {
                return false
            }
            isFirst = false
            do throws(TraceError) {
                guard isObject else { throw TraceError("this is not an object") }
                try append(object)
            } catch { throw TraceError(line: number, error.message) }
        }
        return true
    }

    /// In nanoseconds, the sum of all times has a place in 64 bits.
    private static let longest = 100 * 365 * 86_400.0

    private mutating func append(_ object: FlatObject) throws(TraceError) {
        try object.check(["time", "event", "id", "t_ms"])
        var seconds = try object.number("t_ms").map { $0 / 1000 }
        isInMilliseconds = seconds != nil
        if isInMilliseconds, object["time"] != nil { throw TraceError("both 'time' and 't_ms' are given") }
        if seconds == nil { seconds = try object.number("time") }
        guard let seconds else { throw TraceError("'time' is missing") }
        guard (0...Self.longest).contains(seconds) else {
            throw TraceError("the time is \(seconds) s; expected one from 0 to 100 years")
        }
        let time = Duration.milliseconds(Int((seconds * 1000).rounded()))
        guard let name = try object.text("event") else { throw TraceError("'event' is missing") }
        let id = try object.text("id")
        let event: ActivityReplay.Event
        switch name {
        case "start": event = .start(id: id)
        case "stop": event = .stop(id: id)
        case "enable": event = .enable
        case "disable": event = .disable
        default: throw TraceError("unknown event '\(name)', expected 'start', 'stop', 'enable' or 'disable'")
        }
        if let latest = events.last?.time, time < latest {
            throw TraceError("its time is earlier than that of the event before, \(latest / .seconds(1)) s")
        }
        events.append(Event(time: time, event: event))
    }

    /// Reads the object form. A mistake of syntax anywhere comes first.
    private mutating func readObject(_ bytes: UnsafeBufferPointer<UInt8>) throws(TraceError) {
        var object = FlatObject()
        var list: [FlatObject?]?
        do throws(JSONProblem) {
            let isObject = try object.read(bytes) { key, scanner throws(JSONProblem) in
                guard key == "events", scanner.skip(UInt8(ascii: "[")) else { return false }
                var events: [FlatObject?] = []
                try scanner.elements(until: UInt8(ascii: "]")) { scanner throws(JSONProblem) in
                    var event = FlatObject()
                    events.append(try event.readValue(&scanner) ? event : nil)
                }
                list = events
                return true
            }
            guard isObject else { throw JSONProblem(offset: -1, message: "this is not an object") }
        } catch {
            if error.offset < 0 { throw TraceError(error.message) }
            throw TraceError(line: 1 + bytes.prefix(error.offset).count { $0 == 0x0A }, error.message)
        }
        try object.check(Self.keys)
        for (setting, milliseconds) in Self.delaysInMilliseconds {
            var value = try object.number(setting.rawValue)
            if value == nil { value = try object.number(milliseconds).map { $0 / 1000 } }
            guard let value else { continue }
            delays[setting] = SettingValue.string("\(value)").seconds
            guard delays[setting] != nil else {
                throw TraceError("\(InvalidDelayError(setting: setting, value: "\(value) s"))")
            }
        }
        guard let list else {
            throw TraceError(object["events"] == nil ? "'events' is missing" : "'events' is not a list")
        }
        for (index, event) in list.enumerated() {
            do throws(TraceError) {
                guard let event else { throw TraceError("this is not an object") }
                try append(event)
            } catch { throw TraceError("events[\(index)]: \(error)") }
        }
    }
}

/// The members of a JSON object, without what is inside of them.
struct FlatObject {
    enum Value: Hashable {
        case text(String), number(Double), null, other
    }

    private var members: [(key: String, value: Value)] = []

    /// The value of a key; `nil` if there is none.
    subscript(key: String) -> Value? { members.last { $0.key == key }?.value }

    /// Reads an object from a whole text. Returns whether it is one.
    ///
    /// - Parameter member: reads a member of its own, whose key and colon were read; otherwise returns `false`.
    mutating func read(
        _ text: UnsafeBufferPointer<UInt8>,
        _ member: (String, inout JSONScanner) throws(JSONProblem) -> Bool = { _, _ in false }
    ) throws(JSONProblem) -> Bool {
        guard let base = text.baseAddress else { return false }
        var scanner = JSONScanner(base, count: text.count)
        let isObject = try readValue(&scanner, member)
        guard scanner.isAtEnd() else { throw scanner.problem("expected the end, found \(scanner.found)") }
        return isObject
    }

    /// Reads an object, or skips another value.
    mutating func readValue(
        _ scanner: inout JSONScanner,
        _ member: (String, inout JSONScanner) throws(JSONProblem) -> Bool = { _, _ in false }
    ) throws(JSONProblem) -> Bool {
        members.removeAll(keepingCapacity: true)
        guard scanner.skip(UInt8(ascii: "{")) else {
            try scanner.skipValue()
            return false
        }
        try scanner.elements(until: UInt8(ascii: "}")) { scanner throws(JSONProblem) in
            let key = try scanner.text(of: scanner.string())
            try scanner.expect(UInt8(ascii: ":"))
            if try member(key, &scanner) { return }
            members.append((key, try Value(&scanner)))
        }
        return true
    }

    /// Reports a key that is not one of these.
    func check(_ names: [String]) throws(TraceError) {
        for (key, _) in members where !names.contains(key) {
            let nearest = NearestName.find(for: key, among: names).map { "did you mean '\($0)'?" }
            let known = names.prefix(6).map { "'\($0)'" }.joined(separator: ", ")
            throw TraceError("unknown key '\(key)', \(nearest ?? "expected one of \(known)")")
        }
    }

    /// A number; `nil` if there is none.
    func number(_ key: String) throws(TraceError) -> Double? {
        guard let value = self[key], value != .null else { return nil }
        guard case .number(let number) = value else { throw TraceError("'\(key)' is not a number") }
        return number
    }

    /// A text; `nil` if there is none.
    func text(_ key: String) throws(TraceError) -> String? {
        guard let value = self[key], value != .null else { return nil }
        guard case .text(let text) = value else { throw TraceError("'\(key)' is not a text") }
        return text
    }
}

extension FlatObject.Value {
    fileprivate init(_ scanner: inout JSONScanner) throws(JSONProblem) {
        if scanner.isAtString() {
            self = .text(try scanner.text(of: scanner.string()))
        } else if scanner.isAtNumber() {
            self = .number(Double(try scanner.number()) ?? .nan)
        } else if scanner.skip("null") {
            self = .null
        } else {
            try scanner.skipValue()
            self = .other
        }
    }
}

/// A mistake in a trace or a log.
package struct TraceError: Error, Hashable, CustomStringConvertible {
    /// The line, from 1; `nil` for a mistake in the whole.
    package var line: Int?
    /// What is wrong, and what was expected.
    package var message: String

    package init(line: Int? = nil, _ message: String) { (self.line, self.message) = (line, message) }

    package var description: String { "\(line.map { "line \($0): " } ?? "")\(message)" }
}
