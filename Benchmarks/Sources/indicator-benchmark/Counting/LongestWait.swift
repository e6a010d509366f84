import Foundation
import IndicatorCore
import Synchronization
import Workloads

/// The longest wait of a call while the lifetimes of many objects are checked continuously.
enum LongestWait {
    static let name = "longest-wait"

    private final class Tracked: Sendable {}

    static func measure(_ scale: Scale) -> Figure {
        let limit = limit(scale)
        let manager = IndicatorManager()
        manager.lifetimeCheckInterval = .milliseconds(50)
        let objects = (0..<scale.trackedObjects).map { _ in Tracked() }
        for object in objects { manager.track(object) }
        let longest = longest(scale) {
            let activity = manager.begin("label")
            activity.end()
        }
        withExtendedLifetime(objects) {}
        return Figure(
            name: name,
            title: "longest wait of a call while \(Decimals.grouped(scale.trackedObjects)) objects are tracked",
            peer: "\(Decimals.count(limit)) ms, a POSIX mutex that another thread holds for 5 µs at a time",
            goal: 1,
            outcome: .count(longest, unit: "ms"),
            detail: "begin and end of an activity with a label, while all objects are checked 20 times a second; "
                + "the limit is what the kernel's scheduling costs any lock that is held as long and as often"
        )
    }

    /// The longest call in milliseconds, without those during which this thread was preempted.
    private static func longest(_ scale: Scale, _ call: () -> Void) -> Double {
        let clock = ContinuousClock()
        let end = clock.now.advanced(by: scale.watch)
        var longest = Duration.zero
        while clock.now < end {
            let preemptions = Self.preemptions
            let duration = clock.measure(call)
            if duration > longest, Self.preemptions == preemptions { longest = duration }
        }
        return longest / .milliseconds(1)
    }

    /// The same for a mutex that another thread locks as often, and for as long, as the check locks the manager.
    private static func limit(_ scale: Scale) -> Double {
        let mutex = PlainMutex()
        let isOver = Atomic(false)
        let ended = DispatchSemaphore(value: 0)
        return withExtendedLifetime(mutex) {
            let clock = ContinuousClock()
            let thread = Thread { [parts = scale.trackedObjects / 24] in
                while !isOver.load(ordering: .relaxed) {
                    for _ in 0..<parts {
                        mutex.withLock {
                            let end = clock.now.advanced(by: .microseconds(5))
                            while clock.now < end {}
                        }
                    }
                    usleep(50_000)
                }
                ended.signal()
            }
            thread.start()
            let longest = longest(scale) {
                mutex.withLock {}
                mutex.withLock {}
            }
            isOver.store(true, ordering: .relaxed)
            ended.wait()
            return longest
        }
    }

    /// A POSIX mutex.
    private final class PlainMutex: @unchecked Sendable {
        // `@unchecked`: the mutex is for use by several threads.

        private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

        init() { pthread_mutex_init(mutex, nil) }

        deinit {
            pthread_mutex_destroy(mutex)
            mutex.deallocate()
        }

        func withLock(_ body: () -> Void) {
            pthread_mutex_lock(mutex)
            body()
            pthread_mutex_unlock(mutex)
        }
    }

    /// How often this thread was preempted.
    private static var preemptions: Int {
        var usage = rusage()
        // `RUSAGE_THREAD`, which Swift's Glibc does not import.
        getrusage(__rusage_who_t(1), &usage)
        return usage.ru_nivcsw
    }
}
