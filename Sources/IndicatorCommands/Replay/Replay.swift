package import Foundation
import IndicatorBackends
package import IndicatorCore
import IndicatorTesting

/// When the indicator is shown according to the rules, from a trace, or was shown according to a log.
package struct Replay {
    /// The beginning or the end of activities.
    package struct Step: Hashable, Sendable {
        package var time: Duration
        package var id: String?
        /// By how many the activities in progress become more; 0 for an event without effect, such as a repeated start.
        package var growth: Int
        /// How the activity ended, if that is known.
        package var outcome: ActivityOutcome?
    }

    /// In the order of their times.
    package var steps: [Step]
    package var changes: [VisibilityChange]
    /// The wall-clock time of the time 0, of a log.
    package var origin: Date?
    /// The lines of a log that cannot be read, by their numbers.
    package var unreadableLines: [Int] = []
    private var isInMilliseconds = false

    /// Replays a trace, or reads a log.
    ///
    /// - Parameters:
    ///   - data: the file. Invalid UTF-8 is a mistake.
    ///   - overrides: delays that override those of the trace.
    package init(_ data: Data, overrides: Trace.Delays = [:]) throws(TraceError) {
        let data = data.starts(with: [0xEF, 0xBB, 0xBF]) ? data.dropFirst(3) : data
        guard String(validating: data, as: UTF8.self) != nil else { throw TraceError("this is not valid UTF-8") }
        if data.starts(with: Data("20".utf8)), data.prefix(11).last == UInt8(ascii: "T") {
            throw TraceError("this is a log in text; only logs with 'format: json' can be replayed")
        }
        guard let log = Log(data) else {
            try self.init(trace: Trace(data), overrides: overrides)
            return
        }
        guard overrides.isEmpty else {
            throw TraceError("a log has when the indicator was shown; delays can only be given for other traces")
        }
        self.init(log)
    }

    private init(trace: Trace, overrides: Trace.Delays) throws(TraceError) {
        let (given, standard) = (trace.delays.merging(overrides) { $1 }, IndicatorDelays.standard)
        let replay: ActivityReplay
        do throws(InvalidDelayError) {
            let delays = try IndicatorDelays(
                startDelay: given[.startDelay] ?? standard.startDelay,
                completionDelay: given[.completionDelay] ?? standard.completionDelay,
                minimumVisibleTime: given[.minimumVisibleTime] ?? standard.minimumVisibleTime
            )
            replay = ActivityReplay(delays: delays)
        } catch { throw TraceError("\(error)") }
        (steps, changes, isInMilliseconds) = ([], [], trace.isInMilliseconds)
        for event in trace.events {
            let before = replay.activityCount
            changes += replay.apply(event.event, at: event.time)
            let id: String? =
                switch event.event {
                case .start(let id), .stop(let id): id
                case .enable, .disable: nil
                }
            steps.append(Step(time: event.time, id: id, growth: replay.activityCount - before))
        }
        changes += replay.finish()
    }

    // MARK: - Output

    /// A line for each change.
    package var json: String {
        changes.map { change in
            let time =
                if let origin {
                    "\"time\": \"\(Self.text(origin + change.instant / .seconds(1)))\""
                } else if isInMilliseconds {
                    "\"t_ms\": \(Self.text(change.instant / .milliseconds(1)))"
                } else {
                    "\"time\": \(change.instant / .seconds(1))"
                }
            return "{\(time), \"visible\": \(change.isVisible)}\n"
        }.joined()
    }

    private static func text(_ milliseconds: Double) -> String {
        milliseconds == milliseconds.rounded() ? "\(Int(milliseconds))" : "\(milliseconds)"
    }

    private static func text(_ date: Date) -> String {
        // Milliseconds, as in the rest of the output.
        "\(LogTimestamp(date).text.dropLast(4))Z"
    }

    /// The number of identities with a row of their own.
    package static let rowLimit = 20

    /// A row for each of the first identities, one for all others, and one for activities without an identity.
    package var timeline: Timeline {
        let times = [steps.map(\.time), changes.map(\.instant)].joined()
        let (first, last) = (times.min() ?? .zero, times.max() ?? .zero)
        let start = first > last - first ? first : .zero
        let end = last - start
        var rows: [Timeline.Row] = []
        var rowOfIdentity: [String: Int] = [:]
        var (others, anonymous) = (Timeline.Row("others"), Timeline.Row("(no id)"))
        for step in steps {
            let time = step.time - start
            guard let id = step.id else {
                anonymous.change(by: step.growth, at: time)
                continue
            }
            if rowOfIdentity[id] == nil, rows.count < Self.rowLimit { rows.append(Timeline.Row(id)) }
            let index = rowOfIdentity[id] ?? rowOfIdentity.count
            rowOfIdentity[id] = index
            guard index < rows.count else {
                others.change(by: step.growth, at: time)
                continue
            }
            rows[index].change(by: step.growth, at: time)
            if let outcome = step.outcome { rows[index].note(outcome) }
        }
        var indicator = Timeline.Row("indicator")
        for change in changes { indicator.change(by: change.isVisible ? 1 : -1, at: change.instant - start) }
        if rowOfIdentity.count > rows.count {
            others.label = "and \(rowOfIdentity.count - rows.count) more"
            rows.append(others)
        }
        rows.append(anonymous)
        for index in rows.indices { rows[index].end(at: end, "in progress") }
        if rows.last?.spans.isEmpty == true { rows.removeLast() }
        indicator.end(at: end, "still shown")
        // A little longer, so that the last end is visible.
        var timeline = Timeline(rows: rows, indicator: indicator, end: end * 1.04 / .seconds(1))
        timeline.origin = origin.map(Self.text)
        if start > .zero { timeline.origin = "t = \((start / .seconds(1) * 1e6).rounded() / 1e6) s" }
        return timeline
    }
}
