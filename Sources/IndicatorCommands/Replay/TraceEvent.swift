package import IndicatorCore
package import IndicatorTesting
package import JSONScanning

/// One event of a trace.
package struct TraceEvent: Hashable, Sendable {
    /// The keys of an event.
    static let keys = ["time", "t_ms", "event", "id"]

    /// The time in milliseconds.
    package var milliseconds: Int
    /// The event.
    package var event: ActivityReplay.Event
    /// Whether the trace has its time in seconds, as `time`; otherwise in milliseconds, as `t_ms`.
    package var isInSeconds = false
}

/// The delays in a trace file, in milliseconds; `nil` for those that it does not set.
package struct TraceDelays: Hashable, Sendable {
    package var startDelay: Int?
    package var completionDelay: Int?
    package var minimumVisibleTime: Int?

    /// The delays of the file, with the standard delays for those that it does not set.
    package func delays() throws(InvalidDelayError) -> IndicatorDelays {
        let standard = IndicatorDelays.standard
        return try IndicatorDelays(
            startDelay: startDelay.map(Duration.milliseconds) ?? standard.startDelay,
            completionDelay: completionDelay.map(Duration.milliseconds) ?? standard.completionDelay,
            minimumVisibleTime: minimumVisibleTime.map(Duration.milliseconds) ?? standard.minimumVisibleTime
        )
    }
}

extension JSONScanner {
    private enum EventName {
        case start, stop, enable, disable
    }

    /// Reads an event: an object with `time` or `t_ms`, `event` and an optional `id`.
    package mutating func traceEvent(after earliest: Int) throws(JSONProblem) -> TraceEvent {
        var time: Int?
        var isInSeconds = false
        var name: EventName?
        var id: String?
        var timeOffset = position
        try expect(UInt8(ascii: "{"))
        let start = position - 1
        try elements(until: UInt8(ascii: "}")) { scanner throws(JSONProblem) in
            let keyOffset = scanner.position
            let key = try scanner.string()
            try scanner.expect(UInt8(ascii: ":"))
            isInSeconds = isInSeconds || scanner.isEqual(key, to: "time")
            if scanner.isEqual(key, to: "time") || scanner.isEqual(key, to: "t_ms") {
                guard time == nil else { throw scanner.problem("the time is duplicated", at: keyOffset) }
                timeOffset = scanner.position
                time = isInSeconds ? try scanner.seconds() : try scanner.wholeNumber()
            } else if scanner.isEqual(key, to: "event") {
                guard name == nil else { throw scanner.problem("'event' is duplicated", at: keyOffset) }
                name = try scanner.eventName()
            } else if scanner.isEqual(key, to: "id") {
                guard id == nil else { throw scanner.problem("'id' is duplicated", at: keyOffset) }
                guard scanner.isAtString() else {
                    throw scanner.problem(
                        "'id' must be a string, found \(scanner.found); leave it out for an anonymous activity"
                    )
                }
                id = try scanner.text(of: scanner.string())
            } else {
                let text = try scanner.text(of: key)
                throw scanner.problem("unknown key '\(text)', expected 'time', 'event' or 'id'", at: keyOffset)
            }
        }
        guard let time else { throw problem("the event has no 'time'", at: start) }
        guard let name else { throw problem("the event has no 'event'", at: start) }
        guard time >= earliest else {
            func text(_ milliseconds: Int) -> String {
                isInSeconds ? "\(Double(milliseconds) / 1000)" : "\(milliseconds)"
            }
            let key = isInSeconds ? "time" : "t_ms"
            throw problem(
                "'\(key)' is \(text(time)), earlier than \(text(earliest)) of the previous event",
                at: timeOffset
            )
        }
        let event: ActivityReplay.Event =
            switch name {
            case .start: .start(id: id)
            case .stop: .stop(id: id)
            case .enable: .enable
            case .disable: .disable
            }
        return TraceEvent(milliseconds: time, event: event, isInSeconds: isInSeconds)
    }

    /// Reads a number of seconds. Returns the nearest whole number of milliseconds.
    mutating func seconds() throws(JSONProblem) -> Int {
        _ = isAtEnd()
        let start = position
        guard let seconds = Double(try number()), (0...1e12).contains(seconds) else {
            throw problem("expected a number of seconds, zero or more", at: start)
        }
        return Int((seconds * 1000).rounded())
    }

    private mutating func eventName() throws(JSONProblem) -> EventName {
        guard isAtString() else {
            throw problem("expected 'start', 'stop', 'enable' or 'disable', found \(found)")
        }
        let offset = position
        let token = try string()
        if isEqual(token, to: "start") { return .start }
        if isEqual(token, to: "stop") { return .stop }
        if isEqual(token, to: "enable") { return .enable }
        if isEqual(token, to: "disable") { return .disable }
        let text = try text(of: token)
        throw problem("unknown event '\(text)', expected 'start', 'stop', 'enable' or 'disable'", at: offset)
    }
}
