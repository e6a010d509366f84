import ArgumentParser
package import Foundation
import IndicatorBackends
package import IndicatorCore
import IndicatorTesting

/// Applies the indicator's rules to a trace, in the time of the trace.
package struct Replayer: TraceConsumer {
    /// How changes of visibility are presented.
    package enum Presentation {
        /// One JSON line per change, immediately.
        case json
        /// A timeline at the end.
        case timeline
    }

    private let overrides: DelayOverrides
    private let presentation: Presentation
    private let output: Output
    private var replay = ActivityReplay()
    private var lines: [UInt8] = []
    private var timeline = ReplayTimeline()
    /// Whether the trace has events.
    package private(set) var hasEvents = false
    /// The wall-clock time of the trace's time 0, of a log.
    private var origin: Date?
    /// Whether the times of the trace are seconds; then those of the output are, too.
    private var isInSeconds = false

    /// Creates a replayer.
    ///
    /// - Parameters:
    ///   - overrides: delays that override those of the trace.
    ///   - presentation: how changes are presented.
    ///   - output: where JSON is written.
    package init(overrides: DelayOverrides, presentation: Presentation, output: Output) {
        self.overrides = overrides
        self.presentation = presentation
        self.output = output
    }

    /// The delays in effect.
    package var delays: IndicatorDelays { replay.delays }

    package mutating func begin(delays: TraceDelays) throws {
        replay = ActivityReplay(delays: try overrides.applied(to: delays.delays()))
    }

    package mutating func beginLog(origin: Date) throws {
        guard try overrides == DelayOverrides() else {
            throw ValidationError("a log has when the indicator was shown; delays can only be given for other traces")
        }
        self.origin = origin
    }

    package mutating func apply(_ event: TraceEvent) throws {
        hasEvents = true
        isInSeconds = event.isInSeconds
        let time = Duration.milliseconds(event.milliseconds)
        let growth: Int
        if origin != nil {
            growth = if case .start = event.event { 1 } else { -1 }
        } else {
            let before = replay.activityCount
            for change in replay.apply(event.event, at: time) { note(change) }
            growth = replay.activityCount - before
        }
        if presentation == .timeline { timeline.note(event.event, growth: growth, at: time / .seconds(1)) }
    }

    package mutating func note(_ change: VisibilityChange) {
        hasEvents = true
        switch presentation {
        case .json: write(change)
        case .timeline: timeline.note(isVisible: change.isVisible, at: change.instant / .seconds(1))
        }
    }

    package mutating func flush() throws {
        guard !lines.isEmpty else { return }
        try output.write(lines)
        lines.removeAll(keepingCapacity: true)
    }

    /// Lets the last delay expire, and flushes.
    package mutating func finish() throws {
        for change in replay.finish() { note(change) }
        try flush()
    }

    /// The timeline of the trace.
    package func makeTimeline() -> Timeline {
        var timeline = timeline.timeline()
        timeline.origin = origin.map(Self.text)
        return timeline
    }

    private static func text(of date: Date) -> String {
        // Milliseconds, as in the rest of the output.
        "\(LogTimestamp(date).text.dropLast(4))Z"
    }

    private mutating func write(_ change: VisibilityChange) {
        if let origin {
            let time = Self.text(of: origin + change.instant / .seconds(1))
            lines.append(contentsOf: "{\"time\": \"\(time)\"".utf8)
        } else if isInSeconds {
            lines.append(contentsOf: "{\"time\": \(change.instant / .seconds(1))".utf8)
        } else {
            lines.append(contentsOf: #"{"t_ms": "#.utf8)
            lines.append(contentsOf: Self.milliseconds(change.instant).utf8)
        }
        lines.append(contentsOf: (change.isVisible ? ", \"visible\": true}\n" : ", \"visible\": false}\n").utf8)
    }

    /// A time in milliseconds: an integer, unless a delay is not a multiple of a millisecond.
    package static func milliseconds(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        let microseconds = attoseconds / 1_000_000_000_000
        let whole = seconds * 1000 + microseconds / 1000
        let fraction = microseconds % 1000
        guard fraction > 0 else { return String(whole) }
        var digits = String(1000 + fraction).dropFirst()
        while digits.last == "0" { digits.removeLast() }
        return "\(whole).\(digits)"
    }
}
