import IndicatorCore
import IndicatorThreads

/// Measures how late this machine wakes sleeping threads.
///
/// A busy machine cannot show the indicator on time: when a hundred compilers share two cores, a thread sometimes wakes
/// 0.1 s late. The verdict does not count that delay as an error of the indicator.
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
            // The same path as a change of the indicator: from the timer thread to a task.
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

    /// The maximum delay of the machine between the time at which a change was due and that at which it was made.
    func lateness(from start: Duration, to end: Duration) -> Duration {
        let (start, end) = (min(start, end) - Self.interval, max(start, end) + Self.interval)
        return delays.withLock { delays in
            delays.filter { $0.from <= end && $0.to >= start }.map { $0.to - $0.from }.max() ?? .zero
        }
    }
}
