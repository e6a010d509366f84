import Workloads

/// Measures two things by turns, so that what else the machine does meets both.
struct SideBySide {
    let scale: Scale

    /// The shortest time of one, and of the other, in nanoseconds.
    func measure(_ contestants: Contestants) -> (ours: Double, reference: Double?) {
        let count = countForOneTurn(contestants.subject)
        let referenceCount = contestants.reference.map(countForOneTurn)
        var ours = Double.infinity
        var reference = Double.infinity
        for _ in 0..<scale.repetitions {
            ours = min(ours, time(contestants.subject, count))
            if let workload = contestants.reference, let referenceCount {
                reference = min(reference, time(workload, referenceCount))
            }
        }
        return (ours, contestants.reference == nil ? nil : reference)
    }

    private func time(_ workload: Workload, _ count: Int) -> Double {
        workload.run(count) / .nanoseconds(1) / Double(count)
    }

    /// How many times a turn is long enough.
    private func countForOneTurn(_ workload: Workload) -> Int {
        var count = 16
        while true {
            let duration = workload.run(count)
            if duration >= scale.turn { return count }
            // Towards the goal and a little beyond it, and no more than tenfold: the first few are slower than the rest.
            let factor = duration > .zero ? min(scale.turn / duration * 1.2, 10) : 10
            count = max(count + 1, Int(Double(count) * factor))
        }
    }
}
