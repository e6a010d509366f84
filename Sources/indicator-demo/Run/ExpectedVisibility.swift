import IndicatorCore
import IndicatorTesting

extension RunRecorder {
    /// When the indicator was shown and hidden.
    func observedVisibility() -> [VisibilityChange] {
        moments.compactMap { moment in
            guard case .visibility(let isVisible) = moment.event else { return nil }
            return VisibilityChange(isVisible: isVisible, instant: moment.time)
        }
    }

    /// When the indicator should have been shown and hidden, computed from when the requests began, paused and ended.
    func expectedVisibility(delays: IndicatorDelays, isEnabled: Bool) -> [VisibilityChange] {
        var replay = ActivityReplay(delays: delays, isEnabled: isEnabled)
        var changes: [VisibilityChange] = []
        for moment in moments {
            switch moment.event {
            case .request(let id, .began), .request(let id, .resumed):
                changes += replay.apply(.start(id: "\(id)"), at: moment.time)
            case .request(let id, .suspended), .request(let id, .ended):
                changes += replay.apply(.stop(id: "\(id)"), at: moment.time)
            case .enabled(let isEnabled):
                changes += replay.apply(isEnabled ? .enable : .disable, at: moment.time)
            case .visibility, .result:
                break
            }
        }
        changes += replay.finish()
        return changes
    }
}
