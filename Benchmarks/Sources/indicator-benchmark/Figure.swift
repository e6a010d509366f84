/// A row of the result.
struct Figure {
    /// What came out.
    enum Outcome {
        /// The time of one, and of its peer or limit, in nanoseconds.
        case time(ours: Double, reference: Double?)
        /// A number that was counted, and what it counts.
        case count(Double, unit: String)
        /// It could not be measured here, for this reason.
        case leftOut(String)
    }

    /// The name in the JSON.
    var name: String
    /// What was measured, in words.
    var title: String
    /// What it is compared with, in words.
    var peer: String?
    /// The most that the ratio, or else the number, is to be.
    var goal: Double?
    /// What came out.
    var outcome: Outcome
    /// Which variant counts, or what the number is made of.
    var detail: String?

    /// How many times as long as the peer or limit it takes.
    var ratio: Double? {
        guard case .time(let ours, let reference?) = outcome else { return nil }
        return ours / reference
    }

    /// Whether the goal is met; `nil` when there is none or nothing was measured.
    var isMet: Bool? {
        guard let goal else { return nil }
        switch outcome {
        case .time: return ratio.map { $0 <= goal }
        case .count(let value, _): return value <= goal
        case .leftOut: return nil
        }
    }
}
