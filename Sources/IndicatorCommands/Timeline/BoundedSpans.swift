/// The bars of a row, in bounded memory: bars that are too close together to be drawn separately are joined.
package struct BoundedSpans {
    /// The number of bars above which they are joined.
    package static let capacity = 4096

    package private(set) var spans: [Timeline.Span] = []
    private var openSince: Double?
    private let kind: Timeline.Kind

    package init(kind: Timeline.Kind) {
        self.kind = kind
    }

    /// Whether a bar has begun and not ended.
    package var isOpen: Bool { openSince != nil }

    /// Begins a bar. Times must not decrease.
    package mutating func begin(at time: Double) {
        if openSince == nil { openSince = time }
    }

    /// Ends the bar.
    package mutating func end(at time: Double) {
        guard let start = openSince else { return }
        openSince = nil
        spans.append(Timeline.Span(start: start, end: time, kind: kind))
        if spans.count > Self.capacity { join() }
    }

    /// Closes gaps shorter than 1/2048 of the total, less than a column of any terminal. At most half of the bars
    /// remain.
    private mutating func join() {
        guard let first = spans.first, let last = spans.last else { return }
        let resolution = (last.end - first.start) / Double(Self.capacity / 2)
        var joined: [Timeline.Span] = []
        for span in spans {
            if let previous = joined.indices.last, span.start - joined[previous].end < resolution {
                joined[previous].end = span.end
            } else {
                joined.append(span)
            }
        }
        spans = joined
    }
}
