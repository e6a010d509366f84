import IndicatorBackends
package import JSONScanning

/// The keys of a trace in object form.
package enum TraceObjectKey: String {
    case name
    /// In seconds, as in a config file.
    case startDelay, completionDelay, minimumVisibleTime
    case events, expected
    /// In milliseconds.
    case startDelayMilliseconds = "start_delay_ms"
    case completionDelayMilliseconds = "completion_delay_ms"
    case minimumVisibleTimeMilliseconds = "minimum_visible_time_ms"

    /// Those that a message suggests.
    static let suggested = [name, startDelay, completionDelay, minimumVisibleTime, events, expected].map(\.rawValue)
}

extension JSONScanner {
    /// Checks a whole trace in object form, and returns its delays.
    package mutating func traceObject() throws(JSONProblem) -> TraceDelays {
        var delays = TraceDelays()
        var seen: Set<TraceObjectKey> = []
        try forEachKey { scanner, key, offset throws(JSONProblem) in
            guard seen.insert(key).inserted else {
                throw scanner.problem("'\(key.rawValue)' is duplicated", at: offset)
            }
            switch key {
            case .name: _ = try scanner.text(of: scanner.string())
            case .startDelay: delays.startDelay = try scanner.seconds()
            case .completionDelay: delays.completionDelay = try scanner.seconds()
            case .minimumVisibleTime: delays.minimumVisibleTime = try scanner.seconds()
            case .startDelayMilliseconds: delays.startDelay = try scanner.wholeNumber()
            case .completionDelayMilliseconds: delays.completionDelay = try scanner.wholeNumber()
            case .minimumVisibleTimeMilliseconds: delays.minimumVisibleTime = try scanner.wholeNumber()
            case .events: try scanner.eventList { _ in }
            case .expected: try scanner.skipValue()
            }
        }
        guard seen.contains(.events) else { throw problem("the object has no 'events'") }
        return delays
    }

    /// Reads the events of a trace in object form that was already checked.
    package mutating func forEachEvent(_ body: (TraceEvent) throws -> Void) throws {
        var failure: (any Error)?
        try forEachKey { scanner, key, _ throws(JSONProblem) in
            guard key == .events else { return try scanner.skipValue() }
            try scanner.eventList { event in
                guard failure == nil else { return }
                do { try body(event) } catch { failure = error }
            }
        }
        if let failure { throw failure }
    }

    private mutating func forEachKey(
        _ body: (inout JSONScanner, TraceObjectKey, Int) throws(JSONProblem) -> Void
    ) throws(JSONProblem) {
        try expect(UInt8(ascii: "{"))
        try elements(until: UInt8(ascii: "}")) { scanner throws(JSONProblem) in
            _ = scanner.isAtString()
            let offset = scanner.position
            let text = try scanner.text(of: scanner.string())
            guard let key = TraceObjectKey(rawValue: text) else {
                let names = TraceObjectKey.suggested.map { "'\($0)'" }.joined(separator: ", ")
                let nearest = NearestName.find(for: text, among: TraceObjectKey.suggested)
                let suggestion = nearest.map { "did you mean '\($0)'?" } ?? "expected one of \(names)"
                throw scanner.problem("unknown key '\(text)', \(suggestion)", at: offset)
            }
            try scanner.expect(UInt8(ascii: ":"))
            try body(&scanner, key, offset)
        }
        guard isAtEnd() else { throw problem("expected the end of the trace, found \(found)") }
    }

    private mutating func eventList(_ body: (TraceEvent) -> Void) throws(JSONProblem) {
        var latest = 0
        try expect(UInt8(ascii: "["))
        try elements(until: UInt8(ascii: "]")) { scanner throws(JSONProblem) in
            let event = try scanner.traceEvent(after: latest)
            latest = event.milliseconds
            body(event)
        }
    }
}
