/// A known progress as a whole number of percent, 0…100.
package struct Percentage: Sendable, Hashable {
    package let value: Int

    /// The percentage of a progress of 0…1, rounded down so that 100 means finished; `nil` when it is not known.
    package init?(_ progress: Double?) {
        guard let progress, !progress.isNaN else { return nil }
        // 0.29 × 100 is 28.999…, and an indicator's progress is up to 2⁻³² less than the activity's: what is that near to a
        // whole percent is one.
        value = Int((min(max(progress, 0), 1) * 100 + 1e-6).rounded(.down))
    }
}
