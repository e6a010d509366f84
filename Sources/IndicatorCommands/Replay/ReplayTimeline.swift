package import IndicatorTesting

/// Builds the timeline of a replayed trace: a row for each of the first identities, one for all others, and one for
/// activities without an identity.
package struct ReplayTimeline {
    /// The number of identities with a row of their own.
    package static let rowLimit = 20
    /// The maximum number of other identities that are counted, so that memory is bounded.
    package static let countLimit = 100_000

    private struct IdentityRow {
        var id: String
        var spans = BoundedSpans(kind: .busy)
    }

    private var rows: [IdentityRow] = []
    private var rowOfIdentity: [String: Int] = [:]
    private var others = BoundedSpans(kind: .busy)
    private var otherHashes: Set<Int> = []
    private var othersInProgress = 0
    private var anonymous = BoundedSpans(kind: .busy)
    private var hasAnonymous = false
    private var anonymousInProgress = 0
    private var indicator = BoundedSpans(kind: .shown)
    private var first: Double?
    private var last = 0.0

    /// Records an event that was applied.
    ///
    /// - Parameters:
    ///   - event: the event.
    ///   - growth: the change of the number of activities; 0 for an event without effect, such as a repeated start.
    ///   - time: the time in seconds.
    package mutating func note(_ event: ActivityReplay.Event, growth: Int, at time: Double) {
        first = first ?? time
        last = max(last, time)
        switch event {
        case .start(let id?): started(id, growth: growth, at: time)
        case .stop(let id?): stopped(id, growth: growth, at: time)
        case .start(nil), .stop(nil):
            hasAnonymous = true
            anonymousInProgress += growth
            if anonymousInProgress > 0 { anonymous.begin(at: time) } else { anonymous.end(at: time) }
        case .enable, .disable: break
        }
    }

    /// Records that the indicator was shown or hidden, at a time in seconds.
    package mutating func note(isVisible: Bool, at time: Double) {
        first = first ?? time
        last = max(last, time)
        if isVisible { indicator.begin(at: time) } else { indicator.end(at: time) }
    }

    /// The timeline of all recorded events.
    package func timeline() -> Timeline {
        let first = first ?? 0
        let start = first > (last - first) ? first : 0
        func row(_ label: String, _ spans: BoundedSpans, open: String) -> Timeline.Row {
            var spans = spans
            let isOpen = spans.isOpen
            spans.end(at: last)
            return Timeline.Row(label: label, spans: spans.spans, note: isOpen ? open : "")
        }
        var all = rows.map { row($0.id, $0.spans, open: "in progress") }
        if !otherHashes.isEmpty {
            let count = otherHashes.count < Self.countLimit ? "\(otherHashes.count)" : "over \(Self.countLimit)"
            all.append(row("and \(count) more", others, open: "in progress"))
        }
        if hasAnonymous { all.append(row("(no id)", anonymous, open: "in progress")) }
        let indicator = row("indicator", indicator, open: "still shown")
        // A little longer, so that the last end is visible.
        return Timeline(rows: all, indicator: indicator, start: start, end: last + (last - start) * 0.04)
    }

    private mutating func started(_ id: String, growth: Int, at time: Double) {
        if let index = rowOfIdentity[id] {
            if growth > 0 { rows[index].spans.begin(at: time) }
        } else if rows.count < Self.rowLimit {
            rowOfIdentity[id] = rows.count
            rows.append(IdentityRow(id: id))
            if growth > 0 { rows[rows.count - 1].spans.begin(at: time) }
        } else {
            if otherHashes.count < Self.countLimit { otherHashes.insert(id.hashValue) }
            othersInProgress += growth
            if othersInProgress > 0 { others.begin(at: time) }
        }
    }

    private mutating func stopped(_ id: String, growth: Int, at time: Double) {
        if let index = rowOfIdentity[id] {
            if growth < 0 { rows[index].spans.end(at: time) }
        } else if growth < 0 {
            othersInProgress += growth
            if othersInProgress == 0 { others.end(at: time) }
        }
    }
}
