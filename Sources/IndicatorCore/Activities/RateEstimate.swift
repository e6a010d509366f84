import Foundation

/// The rate of an activity: a mean of its last seconds, in which the latest have the most weight.
///
/// It is updated when a snapshot is published, so that advancing reads no clock. Measuring begins at the first change:
/// what was done by then may have been reached earlier, as in a resumed download, or after a wait for the first byte.
/// Between two changes the rate is constant, because slow steps are not a standstill. It is undefined in the first
/// second of measuring, and when nothing has changed for 5 seconds and for four times the longest of the last intervals
/// between changes; measuring begins anew at the change after that. A decrease of up to a tenth, as of a progress that
/// is itself an estimate, is not a change until the amount is reached again.
struct RateEstimate: Sendable {
    /// After this time, in seconds, a measurement has a third of the weight of the latest one.
    private static var memory: Double { 8 }
    /// The share of the longest interval that remains at the next change: after 13 of them, a quarter.
    private static var remainder: Double { 0.9 }

    private var done = 0.0
    /// When that was measured; at first, when the activity began.
    private var time: Duration
    /// When measuring began.
    private var start: Duration
    private var weighted = 0.0
    private var weight = 0.0
    /// The longest of the last intervals, in seconds; one further back counts for less.
    private var longest = 0.0
    /// When a standstill begins, unless something changes; `nil` before the first change.
    private var standstill: Duration?

    /// Makes the estimate of an activity that begins.
    init(at now: Duration) {
        time = now
        start = now
    }

    /// When the rate becomes undefined, unless something changes.
    var end: Duration? { weight > 0 ? standstill : nil }

    /// Takes a measurement. A much smaller amount than before begins a new estimate.
    mutating func measure(_ done: Double, at now: Duration) {
        let seconds = (now - time) / .seconds(1)
        guard done > self.done || done < min(self.done * 0.9, self.done), seconds > 0 else { return }
        if let standstill, now < standstill, done > self.done {
            let share = 1 - exp(-seconds / Self.memory)
            weighted += share * ((done - self.done) / seconds - weighted)
            weight += share * (1 - weight)
        } else {
            (start, weighted, weight) = (now, 0, 0)
        }
        (self.done, time) = (done, now)
        // The time before the first change is no interval: it may be a wait for the first byte.
        if standstill != nil { longest = max(seconds, longest * Self.remainder) }
        standstill = now + .seconds(max(5, longest * 4))
    }

    /// The amount done per second; `nil` while undefined.
    func perSecond(at now: Duration) -> Double? {
        guard let end, now < end, time - start >= .seconds(1) else { return nil }
        return weighted / weight
    }
}

extension ActivityDetails {
    /// Computes ``rate`` and ``remaining`` from what is done.
    ///
    /// - Parameter earlier: what the members of a group have done earlier, at any time.
    mutating func estimate(
        _ estimate: inout RateEstimate,
        _ earlier: ActivityGroup.Earlier = (0, 0),
        isMeasured: Bool,
        at now: Duration
    ) {
        // An explicit progress is itself measured.
        let (done, total) = explicitProgress.map { ($0, 1) } ?? (Double(completed), self.total.map(Double.init))
        if isMeasured {
            let new = explicitProgress.map { $0 - earlier.progress } ?? Double(completed - earlier.amount)
            estimate.measure(new, at: now)
        }
        guard let perSecond = estimate.perSecond(at: now), perSecond > 0 else { return }
        if explicitProgress == nil { rate = perSecond }
        if let total, total > 0 {
            let seconds = max(total - done, 0) / perSecond
            // An estimate of more than 100 days is meaningless.
            if seconds < 8_640_000 { remaining = .seconds(seconds) }
        }
    }
}
