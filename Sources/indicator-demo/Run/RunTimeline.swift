import IndicatorCore

extension Timeline {
    /// The timeline of a run: a row a request, in the order of the plan.
    init(plan: [PlannedRequest], moments: [RunRecorder.Moment]) {
        var rows = plan.map { Row(label: $0.title, spans: []) }
        var open: [Int: (start: Double, kind: Kind)] = [:]
        var indicator = BoundedSpans(kind: .shown)
        var end = 0.0
        func change(_ number: Int, to kind: Kind?, at time: Double) {
            if let (start, kind) = open.removeValue(forKey: number) {
                rows[number].spans.append(Span(start: start, end: time, kind: kind))
            }
            open[number] = kind.map { (time, $0) }
        }
        for moment in moments {
            let time = moment.time / .seconds(1)
            end = max(end, time)
            switch moment.event {
            case .request(let number, .began), .request(let number, .resumed): change(number, to: .busy, at: time)
            case .request(let number, .suspended): change(number, to: .suspended, at: time)
            case .request(let number, .ended(let outcome)):
                change(number, to: nil, at: time)
                rows[number].note = outcome.note
                rows[number].outcome = outcome.isSuccess ? .good : .bad
            case .visibility(true): indicator.begin(at: time)
            case .visibility(false): indicator.end(at: time)
            case .enabled: break
            }
        }
        indicator.end(at: end)
        self.init(rows: rows, indicator: Row(label: "indicator", spans: indicator.spans), end: end)
    }
}
