import Foundation
import Synchronization

/// What can be read of an indicator without its lock.
///
/// Written with the manager's lock held, read by anyone.
struct PublishedState: ~Copyable, Sendable {
    /// The state of the indicator but for the difference between ``IndicatorState/active`` and
    /// ``IndicatorState/delayingCompletion``, which is whether work is going on.
    struct Phase: Sendable, Equatable {
        var bits: UInt64

        var isVisible: Bool { bits & 1 != 0 }
        var isEnabled: Bool { bits & 4 != 0 }
        /// Whether an activity has a label or reports its progress.
        var hasDetails: Bool { bits & 8 != 0 }

        init(bits: UInt64) {
            self.bits = bits
        }

        init(state: IndicatorState, isEnabled: Bool, hasDetails: Bool, version: UInt64) {
            bits =
                (state.isVisible ? 1 : 0) | (state == .delayingStart ? 2 : 0) | (isEnabled ? 4 : 0)
                | (hasDetails ? 8 : 0)
                | version << 4
        }

        var version: UInt64 { bits >> 4 }

        func state(isBusy: Bool) -> IndicatorState {
            if isVisible { return isBusy ? .active : .delayingCompletion }
            return bits & 2 != 0 ? .delayingStart : .inactive
        }
    }

    private let phaseBits: Atomic<UInt64>
    private let sinceBits: Atomic<UInt64>

    init(isEnabled: Bool, since: Date) {
        let phase = Phase(state: .inactive, isEnabled: isEnabled, hasDetails: false, version: 0)
        phaseBits = Atomic(phase.bits)
        sinceBits = Atomic(since.timeIntervalSinceReferenceDate.bitPattern)
    }

    /// The phase now.
    var phase: Phase { Phase(bits: phaseBits.load(ordering: .acquiring)) }

    /// The phase and when the indicator was last shown or hidden; `nil` when that is being changed.
    var phaseAndSince: (phase: Phase, since: Date)? {
        let phase = phase
        guard phase.version % 2 == 0 else { return nil }
        let since = sinceBits.load(ordering: .acquiring)
        guard phaseBits.load(ordering: .relaxed) == phase.bits else { return nil }
        return (phase, Date(timeIntervalSinceReferenceDate: Double(bitPattern: since)))
    }

    /// Publishes what has changed. Called with the manager's lock held.
    func publish(state: IndicatorState, isEnabled: Bool, hasDetails: Bool, since: Date) {
        let old = Phase(bits: phaseBits.load(ordering: .relaxed))
        var new = Phase(state: state, isEnabled: isEnabled, hasDetails: hasDetails, version: old.version)
        let since = since.timeIntervalSinceReferenceDate.bitPattern
        if sinceBits.load(ordering: .relaxed) != since {
            // A reader that sees the new time sees afterwards that the phase is not the one that it has read.
            new = Phase(state: state, isEnabled: isEnabled, hasDetails: hasDetails, version: old.version + 1)
            phaseBits.store(new.bits, ordering: .sequentiallyConsistent)
            sinceBits.store(since, ordering: .sequentiallyConsistent)
            new = Phase(state: state, isEnabled: isEnabled, hasDetails: hasDetails, version: old.version + 2)
        }
        if new != old { phaseBits.store(new.bits, ordering: .releasing) }
    }
}
