import Foundation
package import IndicatorCore
import IndicatorTesting

/// Runs a trace through the rules of the indicator, on the time that the trace carries.
package struct Replayer: TraceConsumer {
    /// What becomes of the changes of visibility.
    package enum Presentation {
        /// A line of JSON each, as they come.
        case json
        /// A timeline, at the end.
        case timeline
    }

    private let overrides: DelayOverrides
    private let presentation: Presentation
    private let output: Output
    private var replay = ActivityReplay()
    private var lines: [UInt8] = []
    private var timeline = ReplayTimeline()
    /// Whether there was an event.
    package private(set) var hasEvents = false

    /// Makes a replayer.
    ///
    /// - Parameters:
    ///   - overrides: the delays that hold whatever the trace says.
    ///   - presentation: what becomes of the changes.
    ///   - output: where JSON goes.
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

    package mutating func apply(_ event: TraceEvent) throws {
        hasEvents = true
        let time = Duration.milliseconds(event.milliseconds)
        switch presentation {
        case .json:
            for change in replay.apply(event.event, at: time) { write(change) }
        case .timeline:
            let before = replay.activityCount
            for change in replay.apply(event.event, at: time) { note(change) }
            timeline.note(event.event, growth: replay.activityCount - before, at: time / .seconds(1))
        }
    }

    package mutating func flush() throws {
        guard !lines.isEmpty else { return }
        try output.write(lines)
        lines.removeAll(keepingCapacity: true)
    }

    /// Lets the last delay run out.
    package mutating func finish() throws {
        for change in replay.finish() {
            switch presentation {
            case .json: write(change)
            case .timeline: note(change)
            }
        }
        try flush()
    }

    /// The timeline of the whole trace.
    package func makeTimeline() -> Timeline { timeline.timeline() }

    private mutating func note(_ change: VisibilityChange) {
        timeline.note(isVisible: change.isVisible, at: change.instant / .seconds(1))
    }

    private mutating func write(_ change: VisibilityChange) {
        lines.append(contentsOf: #"{"t_ms": "#.utf8)
        lines.append(contentsOf: Self.milliseconds(change.instant).utf8)
        lines.append(contentsOf: (change.isVisible ? ", \"visible\": true}\n" : ", \"visible\": false}\n").utf8)
    }

    /// A time in milliseconds: a whole number, unless a delay that is not a number of milliseconds made it a fraction.
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
