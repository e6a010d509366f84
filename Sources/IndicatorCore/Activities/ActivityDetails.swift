/// What the activities tell of themselves: labels and progress, and what the snapshot says of them all.
struct ActivityDetails: Sendable {
    typealias Slot = OrderedSlots<Detail>.Slot

    struct Detail: Sendable {
        var label: String?
        var progress: FixedProgress?
    }

    /// A progress as a whole number of 2⁻³² parts, so that a sum from which as much is taken as was added is exactly zero.
    struct FixedProgress: Sendable {
        var parts: Int64

        /// The progress, limited to 0…1. `nil` for a value that is not a number.
        init?(_ fraction: Double) {
            guard !fraction.isNaN else { return nil }
            parts = Int64(min(max(fraction, 0), 1) * Self.one)
        }

        static var one: Double { 4_294_967_296 }
    }

    private var slots = OrderedSlots<Detail>()
    private var progressSum: Int64 = 0
    private var progressCount = 0

    /// Whether there are none.
    var isEmpty: Bool { slots.isEmpty }

    /// The label of the earliest-started activity that has one.
    var label: String? { slots.firstRanked?.label }

    /// The mean of the activities that report a progress.
    var progress: Double? {
        progressCount == 0 ? nil : Double(progressSum) / FixedProgress.one / Double(progressCount)
    }

    mutating func insert(label: String?, progress: Double?, order: UInt64) -> Slot {
        let detail = Detail(label: label.flatMap(Self.nonEmpty), progress: progress.flatMap(FixedProgress.init))
        count(detail.progress, sign: 1)
        return slots.insert(detail, order: order, isRanked: detail.label != nil)
    }

    /// Changes what is given and keeps what is `nil`. An empty label, or a progress that is not a number, takes back what was
    /// said before.
    mutating func update(_ slot: Slot, label: String?, progress: Double?) {
        var detail = slots[slot]
        if let label {
            detail.label = Self.nonEmpty(label)
        }
        if let progress {
            count(detail.progress, sign: -1)
            detail.progress = FixedProgress(progress)
            count(detail.progress, sign: 1)
        }
        slots[slot] = detail
        slots.setRanked(detail.label != nil, slot: slot)
    }

    mutating func remove(_ slot: Slot) {
        count(slots.remove(slot).progress, sign: -1)
    }

    private mutating func count(_ progress: FixedProgress?, sign: Int) {
        guard let progress else { return }
        progressSum += Int64(sign) * progress.parts
        progressCount += sign
    }

    private static func nonEmpty(_ label: String) -> String? {
        label.isEmpty ? nil : label
    }
}
