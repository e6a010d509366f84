import IndicatorCore
import TestSupport
import Testing

/// Many activities in progress cost those that come and go no more than a few do.
///
/// Each cost is the least of many short measurements, taken in turn with those that it is compared to, because the machine has other
/// things to do: the least is what the work takes when it is left alone.
@Suite struct TrackingCostTests {
    private static let few = 10
    private static let many = 10_000

    /// Which activity of those in progress goes when another has come.
    enum Leaver: CaseIterable {
        case newest, oldest, any
    }

    // The thread sanitizer makes memory dear, and so measures something else.
    #if !THREAD_SANITIZER
    @Test(arguments: Leaver.allCases, [false, true])
    func addingAndRemovingOneCostsTheSame(leaver: Leaver, hasSubscriber: Bool) async {
        let few = Population(of: Self.few, leaver: leaver, hasSubscriber: hasSubscriber)
        let many = Population(of: Self.many, leaver: leaver, hasSubscriber: hasSubscriber)
        var costs: (few: Duration, many: Duration) = (.seconds(60), .seconds(60))
        for _ in 0..<25 {
            await Task.yield()
            costs.few = min(costs.few, few.cost(ofRounds: 300))
            costs.many = min(costs.many, many.cost(ofRounds: 300))
        }
        #expect(costs.many <= costs.few * 2)
    }
    #endif

    private final class Population {
        private let tracker = ActivityTracker<Int>()
        private let recorder = CountingReceiver()
        private let leaver: Leaver
        private var activities: [ManagedTrackedActivity<Int>]
        private var oldest = 0
        private var generator = SplitMix(state: 4)

        init(of count: Int, leaver: Leaver, hasSubscriber: Bool) {
            let tracker = tracker
            self.leaver = leaver
            activities = (0..<count).map { ManagedTrackedActivity($0, in: tracker) }
            if hasSubscriber { tracker.subscribe(recorder) }
        }

        func cost(ofRounds rounds: Int) -> Duration {
            ContinuousClock().measure {
                for round in 0..<rounds {
                    let newcomer = ManagedTrackedActivity(round, in: tracker)
                    switch leaver {
                    case .newest: newcomer.end()
                    case .oldest:
                        activities[oldest].end()
                        activities[oldest] = newcomer
                        oldest = (oldest + 1) % activities.count
                    case .any:
                        let index = Int.random(in: activities.indices, using: &generator)
                        activities[index].end()
                        activities[index] = newcomer
                    }
                }
            }
        }
    }

    private final class CountingReceiver: ActivityStatusReceiver {
        private let count = Locked(0)

        func receive(_ status: ActivityStatus<Int>) {
            count.withLock { $0 += 1 }
        }

        func finish() {}
    }
}
