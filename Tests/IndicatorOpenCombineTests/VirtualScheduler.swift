import OpenCombine

/// A scheduler whose time a test advances. Actions that are due at the same time run in the order in which they were
/// scheduled.
final class VirtualScheduler: Scheduler {
    struct Time: Strideable {
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

    typealias SchedulerTimeType = Time
    typealias SchedulerOptions = Never

    private struct Action {
        var due: Time
        var run: () -> Void
    }

    private(set) var now = Time()
    private var actions: [Action] = []

    var minimumTolerance: Time.Stride { .nanoseconds(0) }

    func schedule(options: Never?, _ action: @escaping () -> Void) {
        schedule(after: now, tolerance: minimumTolerance, options: options, action)
    }

    func schedule(after date: Time, tolerance: Time.Stride, options: Never?, _ action: @escaping () -> Void) {
        actions.append(Action(due: max(date, now), run: action))
    }

    func schedule(
        after date: Time,
        interval: Time.Stride,
        tolerance: Time.Stride,
        options: Never?,
        _ action: @escaping () -> Void
    ) -> any Cancellable {
        var isCancelled = false
        func schedule(at date: Time) {
            self.schedule(after: date, tolerance: tolerance, options: options) {
                guard !isCancelled else { return }
                action()
                schedule(at: date.advanced(by: interval))
            }
        }
        schedule(at: date)
        return AnyCancellable { isCancelled = true }
    }

    /// Advances the time, and runs the actions that become due.
    func advance(by stride: Time.Stride) {
        let end = now.advanced(by: stride)
        while let next = actions.indices.min(by: { actions[$0].due < actions[$1].due }), actions[next].due <= end {
            let action = actions.remove(at: next)
            now = action.due
            action.run()
        }
        now = end
    }

    /// Runs everything that is scheduled.
    func run() {
        while let last = actions.map(\.due).max() { advance(by: now.distance(to: max(last, now))) }
    }
}
