/// A row of the results.
struct Figure {
    /// The measured value.
    enum Outcome {
        /// The time of the subject, and of its peer or limit, in nanoseconds.
        case time(ours: Double, reference: Double?)
        /// A counted number and its unit.
        case count(Double, unit: String)
        /// The reason why it could not be measured.
        case leftOut(String)
    }

    /// The name in the JSON.
    var name: String
    /// A description of the subject.
    var title: String
    /// A description of the peer or limit.
    var peer: String?
    /// The maximum of the ratio, or of the number without one.
    var goal: Double?
    /// The measured value.
    var outcome: Outcome
    /// The variant that counts, or the parts of the number.
    var detail: String?

    /// The ratio of the subject's time to that of the peer or limit.
    var ratio: Double? {
        guard case .time(let ours, let reference?) = outcome else { return nil }
        return ours / reference
    }

    /// Whether the goal is met; `nil` without a goal or a measurement.
    var isMet: Bool? {
        guard let goal else { return nil }
        switch outcome {
        case .time: return ratio.map { $0 <= goal }
        case .count(let value, _): return value <= goal
        case .leftOut: return nil
        }
    }
}
