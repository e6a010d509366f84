import Foundation
import IndicatorCore
import Synchronization

/// Uses the indicator on many more threads than there are cores, in a release build, and checks by counts that nothing
/// is lost and nothing stays. Ends with status 1 and the differences otherwise.
///
/// The tests are debug builds and the thread sanitizer is slow; this has the lock, the optimizer and the timing of an
/// app. A process that hangs is ended by SIGALRM.
@main
struct IndicatorStress {
    private static let threadCount = 4 * ProcessInfo.processInfo.activeProcessorCount

    static func main() async {
        alarm(300)
        for round in 0..<8 {
            for delays in Delays.allCases {
                let failures = await Round(delays: delays.value, seed: round).run(on: threadCount)
                guard failures.isEmpty else {
                    print("round \(round), \(delays): \(failures.joined(separator: "; "))")
                    exit(1)
                }
            }
        }
        print("\(threadCount) threads: all counts are as expected")
    }

    /// No delays, delays that end all the time, and delays that hardly ever end.
    private enum Delays: CaseIterable {
        case none, brief, long

        var value: IndicatorDelays {
            do {
                switch self {
                case .none: return try IndicatorDelays(startDelay: .zero, completionDelay: .zero)
                case .brief:
                    return try IndicatorDelays(startDelay: .microseconds(50), completionDelay: .microseconds(50))
                case .long: return .standard
                }
            } catch { preconditionFailure("\(error)") }
        }
    }
}

/// One indicator, used by all threads.
private final class Round: Sendable {
    private static let turns = 20_000

    private let indicator: IndicatorManager
    private let backend = CountingBackend()
    private let ready = Atomic(0)
    private let labelled = Atomic(0)
    private let seed: Int

    init(delays: IndicatorDelays, seed: Int) {
        self.seed = seed
        indicator = IndicatorManager(delays: delays, backends: [backend])
    }

    /// Returns what is wrong.
    func run(on threads: Int) async -> [String] {
        indicator.lifetimeCheckInterval = .milliseconds(5)
        let ended = AsyncStream<Void>.makeStream()
        for index in 0..<threads {
            Thread.detachNewThread { [self] in
                ready.wrappingAdd(1, ordering: .relaxed)
                while ready.load(ordering: .relaxed) < threads { sched_yield() }
                var random = Random(state: UInt64(seed * 1_000 + index))
                for turn in 0..<Self.turns { take(turn, of: index, &random) }
                ended.continuation.yield()
            }
        }
        var left = threads
        for await _ in ended.stream {
            left -= 1
            if left == 0 { break }
        }
        // The objects have been deallocated, which the indicator notices at its next check.
        while indicator.snapshot.activityCount > 0 { usleep(1_000) }
        let before = indicator.snapshot
        await indicator.shutdown(timeLimit: .seconds(60))
        var failures: [String] = []
        func expect(_ what: String, _ value: Int, _ expected: Int) {
            if value != expected { failures.append("\(what): \(value) instead of \(expected)") }
        }
        expect("labels in progress", before.activities.count, 0)
        expect("finished activities", backend.counts.finished, labelled.load(ordering: .relaxed))
        expect("shown without being hidden", backend.counts.visible, 0)
        return failures
    }

    /// One of the ways to use the indicator. Everything that begins here also ends here.
    private func take(_ turn: Int, of thread: Int, _ random: inout Random) {
        switch random.next() % 16 {
        case 0..<4:
            let activity = indicator.begin()
            activity.end()
        case 4..<8:
            let activity = indicator.begin("Working")
            activity.progress = 0.5
            activity.end(.succeeded)
            labelled.wrappingAdd(1, ordering: .relaxed)
        case 8..<11:
            // An identity of this thread, and one that all threads share.
            indicator.start(thread)
            indicator.start("shared")
            indicator.stop("shared")
            indicator.stop(thread)
        case 11:
            indicator.incrementActivityCount()
            indicator.decrementActivityCount()
        case 12:
            let activity = indicator.begin()
            activity.label = "Later"
            activity.end(.cancelled)
            labelled.wrappingAdd(1, ordering: .relaxed)
        case 13:
            let snapshot = indicator.snapshot
            precondition(snapshot.activityCount >= 0 && snapshot.activities.count <= 16)
        case 14 where turn % 64 == 0:
            indicator.isEnabled.toggle()
            indicator.isEnabled = true
        default:
            indicator.track(Object())
        }
    }

    private final class Object {}
}

/// Counts what it is shown.
private final class CountingBackend: IndicatorBackend, Sendable {
    private let finished = Atomic(0)
    private let visible = Atomic(0)

    let name = "counting"
    let delivery = BackendDelivery(includesHidden: true)

    var counts: (finished: Int, visible: Int) {
        (finished.load(ordering: .acquiring), visible.load(ordering: .acquiring))
    }

    func show(_ updates: IndicatorUpdates) async {
        for await update in updates {
            visible.store(update.snapshot.isVisible ? 1 : 0, ordering: .releasing)
            finished.wrappingAdd(update.finished.count + update.omittedFinished, ordering: .relaxed)
        }
    }
}

/// SplitMix64, so that every run takes the same turns.
private struct Random {
    var state: UInt64

    mutating func next() -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int(truncatingIfNeeded: (value ^ (value >> 31)) & 0xFFFF)
    }
}
