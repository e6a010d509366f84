import IndicatorCore
import IndicatorThreads

/// Measures how late this machine wakes threads that sleep.
///
/// An indicator cannot be shown on time by a machine that does nothing on time: when a hundred compilers share two
/// cores, a thread wakes a tenth of a second late now and then. What the machine was late by at a moment is no fault of
/// the indicator.
final class LatenessProbe: Sendable {
    private struct Delay: Sendable {
        var from: Duration
        var to: Duration
    }

    private static let interval = Duration.milliseconds(20)

    private let delays = Locked<[Delay]>([])
    private let recorder: RunRecorder

    init(recorder: RunRecorder) {
        self.recorder = recorder
    }

    /// Measures until the task is cancelled.
    func run() async {
        while !Task.isCancelled {
            let due = recorder.now + Self.interval
            // The way of a change: from the thread of the timers to a task.
            await withCheckedContinuation { continuation in
                _ = ServiceThread.shared.call(at: ServiceThread.now + Self.interval.wholeNanoseconds) {
                    continuation.resume()
                }
            }
            let now = recorder.now
            guard now - due > .milliseconds(5) else { continue }
            delays.withLock { $0.append(Delay(from: due, to: now)) }
        }
    }

    /// The most that the machine was late by while a change was due and until it was made.
    func lateness(from start: Duration, to end: Duration) -> Duration {
        let (start, end) = (min(start, end) - Self.interval, max(start, end) + Self.interval)
        return delays.withLock { delays in
            delays.filter { $0.from <= end && $0.to >= start }.map { $0.to - $0.from }.max() ?? .zero
        }
    }
}
