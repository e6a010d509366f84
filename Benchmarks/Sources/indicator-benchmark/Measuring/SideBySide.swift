import Workloads

/// Measures two workloads in alternating turns, so that other load on the machine affects both.
struct SideBySide {
    /// The shortest times, in nanoseconds.
    struct Result {
        var ours: Double
        var reference: Double?
        /// Whether one of them is unreliable, because every turn was disturbed.
        var isDisturbed: Bool
    }

    let scale: Scale

    func measure(_ contestants: Contestants) -> Result {
        var ours = Contestant(contestants.subject, turn: scale.turn)
        var reference = contestants.reference.map { Contestant($0, turn: scale.turn) }
        for _ in 0..<scale.repetitions {
            ours.takeTurn()
            reference?.takeTurn()
        }
        return Result(
            ours: ours.best,
            reference: reference?.best,
            isDisturbed: ours.isDisturbed || reference?.isDisturbed == true
        )
    }

    /// One of the two workloads.
    private struct Contestant {
        let workload: Workload
        /// The number of runs per turn.
        let count: Int
        /// The shortest time of the undisturbed turns, or of the disturbed ones if there are no others.
        private(set) var best = Double.infinity
        private(set) var isDisturbed = true

        init(_ workload: Workload, turn: Duration) {
            self.workload = workload
            var count = 16
            while true {
                let duration = workload.run(count).duration
                if duration >= turn { break }
                // Slightly more than the estimate, but at most tenfold, because the first runs are slower.
                let factor = duration > .zero ? min(turn / duration * 1.2, 10) : 10
                count = max(count + 1, Int(Double(count) * factor))
            }
            self.count = count
        }

        mutating func takeTurn() {
            let turn = workload.run(count)
            guard isDisturbed || !turn.isDisturbed else { return }
            let time = turn.duration / .nanoseconds(1) / Double(count)
            best = isDisturbed && !turn.isDisturbed ? time : min(best, time)
            isDisturbed = turn.isDisturbed
        }
    }
}
