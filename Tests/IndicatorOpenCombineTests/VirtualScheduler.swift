import OpenCombine

struct VirtualTime: Strideable {
    struct Stride: SchedulerTimeIntervalConvertible, Comparable, SignedNumeric {
        var nanoseconds: Int

        init(nanoseconds: Int) { self.nanoseconds = nanoseconds }
        init(integerLiteral value: Int) { nanoseconds = value * 1_000_000_000 }
        init?(exactly source: some BinaryInteger) {
            guard let nanoseconds = Int(exactly: source) else { return nil }
            self.nanoseconds = nanoseconds
        }

        var magnitude: UInt { nanoseconds.magnitude }

        static func seconds(_ seconds: Int) -> Self { Self(nanoseconds: seconds * 1_000_000_000) }
        static func seconds(_ seconds: Double) -> Self { Self(nanoseconds: Int(seconds * 1e9)) }
        static func milliseconds(_ milliseconds: Int) -> Self { Self(nanoseconds: milliseconds * 1_000_000) }
        static func microseconds(_ microseconds: Int) -> Self { Self(nanoseconds: microseconds * 1000) }
        static func nanoseconds(_ nanoseconds: Int) -> Self { Self(nanoseconds: nanoseconds) }

        static func < (lhs: Self, rhs: Self) -> Bool { lhs.nanoseconds < rhs.nanoseconds }
        static func + (lhs: Self, rhs: Self) -> Self { Self(nanoseconds: lhs.nanoseconds + rhs.nanoseconds) }
        static func - (lhs: Self, rhs: Self) -> Self { Self(nanoseconds: lhs.nanoseconds - rhs.nanoseconds) }
        static func * (lhs: Self, rhs: Self) -> Self { Self(nanoseconds: lhs.nanoseconds * rhs.nanoseconds) }
        static func *= (lhs: inout Self, rhs: Self) { lhs = lhs * rhs }
    }

    var nanoseconds = 0

    func distance(to other: Self) -> Stride { Stride(nanoseconds: other.nanoseconds - nanoseconds) }
    func advanced(by stride: Stride) -> Self { Self(nanoseconds: nanoseconds + stride.nanoseconds) }
}

/// A scheduler that a test drives. No test repeats an action.
protocol ActionScheduler: Scheduler where SchedulerTimeType == VirtualTime, SchedulerOptions == Never {
    func add(_ action: @escaping () -> Void, at date: VirtualTime)
}

extension ActionScheduler {
    var minimumTolerance: VirtualTime.Stride { .nanoseconds(0) }

    func schedule(options: Never?, _ action: @escaping () -> Void) { add(action, at: now) }

    func schedule(
        after date: VirtualTime,
        tolerance: VirtualTime.Stride,
        options: Never?,
        _ action: @escaping () -> Void
    ) {
        add(action, at: date)
    }

    func schedule(
        after date: VirtualTime,
        interval: VirtualTime.Stride,
        tolerance: VirtualTime.Stride,
        options: Never?,
        _ action: @escaping () -> Void
    ) -> any Cancellable {
        preconditionFailure("no test repeats an action")
    }
}

/// A scheduler whose time a test advances. Actions that are due at the same time run in the order in which they were
/// scheduled.
final class VirtualScheduler: ActionScheduler {
    private(set) var now = VirtualTime()
    private var actions: [(due: VirtualTime, run: () -> Void)] = []

    func add(_ action: @escaping () -> Void, at date: VirtualTime) { actions.append((max(date, now), action)) }

    /// Advances the time, and runs the actions that become due.
    func advance(by stride: VirtualTime.Stride) {
        let end = now.advanced(by: stride)
        while let next = actions.indices.min(by: { actions[$0].due < actions[$1].due }), actions[next].due <= end {
            let action = actions.remove(at: next)
            now = action.due
            action.run()
        }
        now = end
    }
}
