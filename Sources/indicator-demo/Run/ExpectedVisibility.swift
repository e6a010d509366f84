import IndicatorCore

/// A time at which the indicator was shown or hidden.
struct VisibilityChange: Sendable, Hashable {
    var time: Duration
    var isVisible: Bool
}

extension RunRecorder {
    /// When the indicator was shown and hidden.
    func observedVisibility() -> [VisibilityChange] {
        moments.compactMap { moment in
            guard case .visibility(let isVisible) = moment.event else { return nil }
            return VisibilityChange(time: moment.time, isVisible: isVisible)
        }
    }

    /// When the rules say that it should have been, given when the requests began, paused and ended.
    func expectedVisibility(delays: IndicatorDelays, isEnabled: Bool) -> [VisibilityChange] {
        var replay = ActivityReplay(delays: delays, isEnabled: isEnabled)
        var changes: [VisibilityChange] = []
        func add(_ new: [VisibilityChanges.Element]) {
            changes += new.map { VisibilityChange(time: $0.instant, isVisible: $0.isVisible) }
        }
        for moment in moments {
            switch moment.event {
            case .request(let id, .began), .request(let id, .resumed):
                add(replay.apply(.start(id: "\(id)"), at: moment.time))
            case .request(let id, .suspended), .request(let id, .ended):
                add(replay.apply(.stop(id: "\(id)"), at: moment.time))
            case .enabled(let isEnabled):
                add(replay.apply(isEnabled ? .enable : .disable, at: moment.time))
            case .visibility, .result:
                break
            }
        }
        add(replay.finish())
        return changes
    }
}
