import IndicatorCommands
import IndicatorCore

extension Timeline {
    /// Creates the timeline of a run: one row per step, in the order of the plan.
    init(plan: DemoPlan, moments: [RunRecorder.Moment]) {
        var rows = plan.titles.map { Row(label: $0, spans: []) }
        var open: [RequestID: (start: Double, kind: Kind)] = [:]
        var indicator = BoundedSpans(kind: .shown)
        var end = 0.0
        func change(_ id: RequestID, to kind: Kind?, at time: Double) {
            if let (start, kind) = open.removeValue(forKey: id) {
                rows[id.row].spans.append(Span(start: start, end: time, kind: kind))
            }
            open[id] = kind.map { (time, $0) }
        }
        for moment in moments {
            let time = moment.time / .seconds(1)
            end = max(end, time)
            switch moment.event {
            case .request(let id, .began), .request(let id, .resumed): change(id, to: .busy, at: time)
            case .request(let id, .suspended): change(id, to: .suspended, at: time)
            case .request(let id, .ended): change(id, to: nil, at: time)
            case .result(let row, let result):
                rows[row].note = result.note
                rows[row].outcome = result.problem == nil ? .good : .bad
            case .visibility(true): indicator.begin(at: time)
            case .visibility(false): indicator.end(at: time)
            case .enabled: break
            }
        }
        indicator.end(at: end)
        self.init(rows: rows, indicator: Row(label: "indicator", spans: indicator.spans), end: end)
    }
}
