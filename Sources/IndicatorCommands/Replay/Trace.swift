package import Foundation
import IndicatorBackends
import IndicatorCore
package import IndicatorTesting
import JSONScanning

/// The delays of a trace or of the command line; `nil`: those of another source.
package struct DelayOverrides: Sendable, Hashable {
    var startDelay: Duration?
    var completionDelay: Duration?
    var minimumVisibleTime: Duration?

    /// Overrides nothing.
    package init() {}

    /// Returns the delays with these overrides.
    func applied(to delays: IndicatorDelays) throws(InvalidDelayError) -> IndicatorDelays {
        try IndicatorDelays(
            startDelay: startDelay ?? delays.startDelay,
            completionDelay: completionDelay ?? delays.completionDelay,
            minimumVisibleTime: minimumVisibleTime ?? delays.minimumVisibleTime
        )
    }
}

/// Events with their times, in JSON: one event per line, or an object with delays and a list of events.
package struct Trace {
    /// An event and its time.
    package struct Event: Hashable, Sendable {
        package var time: Duration
        package var event: ActivityReplay.Event
        /// Whether its time was in milliseconds, as `t_ms`; otherwise in seconds, as `time`.
        var isInMilliseconds = false
    }

    /// The delays that it sets.
    package private(set) var delays = DelayOverrides()
    /// In the order of their times.
    package private(set) var events: [Event] = []

    /// Reads a trace, which is held in memory.
    package init(_ data: Data) throws(TraceError) {
        let lines = data.split(separator: 0x0A, omittingEmptySubsequences: false)
        if let first = lines.first(where: { !Self.isBlank($0) }), Self.isObject(first) {
            self = try Self.decode(Trace.self, from: data)
            return
        }
        for (index, line) in lines.enumerated() where !Self.isBlank(line) {
            do throws(TraceError) {
                try append(Self.decode(Event.self, from: line))
            } catch { throw TraceError(line: index + 1, error.message) }
        }
    }

    /// Whether a trace with this first line is an object: the line is not an event.
    private static func isObject(_ first: Data) -> Bool {
        guard let keys = try? decode([String: Anything].self, from: first).keys else { return true }
        return !keys.contains("event") && keys.contains(where: Self.keys.contains)
    }

    private static func isBlank(_ line: Data) -> Bool { line.allSatisfy { [0x20, 0x09, 0x0D].contains($0) } }

    private mutating func append(_ event: Event) throws(TraceError) {
        if let latest = events.last?.time, event.time < latest {
            throw TraceError("its time is earlier than that of the event before, \(latest / .seconds(1)) s")
        }
        events.append(event)
    }

    private static func decode<Value: Decodable>(_: Value.Type, from data: Data) throws(TraceError) -> Value {
        if let mistake = mistake(in: data) { throw mistake }
        do {
            return try JSONDecoder().decode(Value.self, from: data)
        } catch {
            throw TraceError(decoding: error)
        }
    }

    /// Where a text is not JSON, which a decoder does not report; it also accepts a comma before a bracket.
    private static func mistake(in data: Data) -> TraceError? {
        let bytes = Array(data)
        return bytes.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return nil }
            var scanner = JSONScanner(base, count: buffer.count)
            do throws(JSONProblem) {
                try scanner.skipValue()
                guard !scanner.isAtEnd() else { return nil }
                throw scanner.problem("expected the end, found \(scanner.found)")
            } catch {
                return TraceError(line: 1 + buffer.prefix(error.offset).count { $0 == 0x0A }, error.message)
            }
        }
    }
}

extension Trace.Event: Decodable {
    /// In nanoseconds, the sum of all times has a place in 64 bits.
    private static let longest = 100 * 365 * 86_400.0

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(of: ["time", "event", "id", "t_ms"])
        let milliseconds = try container.decodeIfPresent(Double.self, forKey: "t_ms")
        isInMilliseconds = milliseconds != nil
        if isInMilliseconds, container.contains("time") { throw container.error("both 'time' and 't_ms' are given") }
        let seconds = try milliseconds.map { $0 / 1000 } ?? container.decode(Double.self, forKey: "time")
        guard (0...Self.longest).contains(seconds) else {
            throw container.error("the time is \(seconds) s; expected one from 0 to 100 years")
        }
        time = .milliseconds(Int((seconds * 1000).rounded()))
        let name = try container.decode(String.self, forKey: "event")
        let id = try container.decodeIfPresent(String.self, forKey: "id")
        switch name {
        case "start": event = .start(id: id)
        case "stop": event = .stop(id: id)
        case "enable": event = .enable
        case "disable": event = .disable
        default:
            throw container.error("unknown event '\(name)', expected 'start', 'stop', 'enable' or 'disable'")
        }
    }
}

/// The object form.
extension Trace: Decodable {
    private static let keys = [
        "name", "startDelay", "completionDelay", "minimumVisibleTime", "events", "expected", "start_delay_ms",
        "completion_delay_ms", "minimum_visible_time_ms",
    ]

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(of: Self.keys)
        func delay(_ setting: IndicatorDelays.Setting, _ milliseconds: AnyKey) throws -> Duration? {
            let seconds = try container.decodeIfPresent(Double.self, forKey: AnyKey(stringLiteral: setting.rawValue))
            let value = try seconds ?? container.decodeIfPresent(Double.self, forKey: milliseconds).map { $0 / 1000 }
            guard let value else { return nil }
            if let delay = BackendSettingValue.string("\(value)").seconds { return delay }
            throw InvalidDelayError(setting: setting, value: "\(value) s")
        }
        delays.startDelay = try delay(.startDelay, "start_delay_ms")
        delays.completionDelay = try delay(.completionDelay, "completion_delay_ms")
        delays.minimumVisibleTime = try delay(.minimumVisibleTime, "minimum_visible_time_ms")
        for (index, event) in try container.decode([Event].self, forKey: "events").enumerated() {
            do throws(TraceError) { try append(event) } catch { throw TraceError("events[\(index)]: \(error)") }
        }
    }
}

/// A value of any kind, which is not read.
private struct Anything: Decodable {
    init(from decoder: any Decoder) {}
}

private struct AnyKey: CodingKey, ExpressibleByStringLiteral {
    var stringValue: String
    var intValue: Int? { nil }

    init(stringLiteral value: String) { stringValue = value }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

extension Decoder {
    /// The values of an object that must not have other keys.
    fileprivate func container(of names: [String]) throws -> KeyedDecodingContainer<AnyKey> {
        let container = try container(keyedBy: AnyKey.self)
        for key in container.allKeys where !names.contains(key.stringValue) {
            let nearest = NearestName.find(for: key.stringValue, among: names).map { "did you mean '\($0)'?" }
            let known = names.prefix(6).map { "'\($0)'" }.joined(separator: ", ")
            throw container.error("unknown key '\(key.stringValue)', \(nearest ?? "expected one of \(known)")")
        }
        return container
    }
}

extension KeyedDecodingContainer {
    fileprivate func error(_ message: String) -> DecodingError {
        DecodingError.dataCorrupted(DecodingError.Context(codingPath: codingPath, debugDescription: message))
    }
}

/// A mistake in a trace or a log.
package struct TraceError: Error, Hashable, CustomStringConvertible {
    /// The line, from 1; `nil` for a mistake in the whole.
    package var line: Int?
    /// What is wrong, and what was expected.
    package var message: String

    package init(line: Int? = nil, _ message: String) { (self.line, self.message) = (line, message) }

    /// The mistake that a decoder has found.
    fileprivate init(decoding error: any Error) {
        func place(_ context: DecodingError.Context, _ key: (any CodingKey)? = nil) -> String {
            (context.codingPath + [key].compactMap(\.self)).reduce(into: "") { path, key in
                path += key.intValue.map { "[\($0)]" } ?? (path.isEmpty ? "" : ".") + key.stringValue
            }
        }
        switch error as? DecodingError {
        case .keyNotFound(let key, let context): self.init("'\(place(context, key))' is missing")
        case .typeMismatch(let type, let context), .valueNotFound(let type, let context):
            let kinds: [(Any.Type, String)] = [
                (String.self, "a text"), (Double.self, "a number"), ([Any].self, "a list"),
            ]
            let kind = kinds.first { $0.0 == type }?.1 ?? "an object"
            self.init("\(context.codingPath.isEmpty ? "this" : "'\(place(context))'") is not \(kind)")
        case .dataCorrupted(let context):
            self.init((context.codingPath.isEmpty ? "" : "\(place(context)): ") + context.debugDescription)
        case nil: self.init("\(error)")
        @unknown default: self.init("\(error)")
        }
    }

    package var description: String { "\(line.map { "line \($0): " } ?? "")\(message)" }
}
