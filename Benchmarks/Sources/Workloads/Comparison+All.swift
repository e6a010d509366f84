extension Comparison {
    /// The comparisons that need only this process.
    public static let all: [Comparison] = [
        .beginEnd, .beginEndOnTwoThreads, .idleEdge, .identified, .identifiedInCrowd, .labelled, .labelledInCrowd,
        .labelledOldest, .advance, .trackedElement, .notifications, .tracker, .tracker10000, .snapshot,
    ]

    fileprivate static let atomicPair = "atomic add and subtract"
    fileprivate static let lockedSet = "a set behind a recursive lock"
    /// The fastest form of that.
    fileprivate static let lockedNumbers = "a set of numbers behind a recursive lock"

    private static let beginEnd = Comparison(
        "begin-end",
        "begin and end, others in progress",
        peer: atomicPair,
        goal: 3
    ) {
        Contestants(
            Workload(BusyIndicator(.shown).beginAndEnd),
            reference: Workload(AtomicCount().addAndSubtract)
        )
    }

    private static let beginEndOnTwoThreads = Comparison(
        "begin-end-2-threads",
        "begin and end on two threads, others in progress",
        peer: "\(atomicPair), on two threads",
        goal: 3.5
    ) {
        Contestants(
            .on(threads: 2, BusyIndicator(.shown).beginAndEnd),
            reference: .on(threads: 2, AtomicCount().addAndSubtract)
        )
    }

    private static let idleEdge = Comparison(
        "idle-edge",
        "begin and end, nothing else in progress",
        peer: atomicPair,
        goal: 10,
        variants: Situation.allCases.map { situation in
            Variant(situation.rawValue) {
                Contestants(
                    Workload(IdleIndicator(situation).beginAndEnd),
                    reference: Workload(AtomicCount().addAndSubtract)
                )
            }
        }
    )

    private static let identified = Comparison(
        "start-stop-id",
        "start and stop by identity",
        peer: lockedSet,
        goal: 0.8,
        variants: [Names.otherCount, 10_000].map { others in
            Variant("\(others) others in progress") {
                Contestants(
                    Workload(BusyIndicator(.shown, others: others).startAndStop),
                    reference: Workload(BusySet(others: others).startAndStop)
                )
            }
        }
    )

    private static let identifiedInCrowd = Comparison(
        "start-stop-id-crowd",
        "start and stop by identity, on twice as many threads as cores",
        peer: "\(lockedSet), on as many",
        goal: 1.5
    ) {
        Contestants(
            .on(threads: Threads.crowd, BusyIndicator(.shown).startAndStop),
            reference: .on(threads: Threads.crowd, BusySet().startAndStop)
        )
    }

    private static let labelledInCrowd = Comparison(
        "labelled-begin-end-crowd",
        "begin with a label, and end, on twice as many threads as cores",
        peer: "\(lockedNumbers), on as many",
        goal: 1.5
    ) {
        Contestants(
            .on(threads: Threads.crowd, BusyIndicator(.shown).beginAndEndWithLabel),
            reference: .on(threads: Threads.crowd, BusyNumbers().startAndStop)
        )
    }

    private static let labelledOldest = Comparison(
        "labelled-end-oldest",
        "begin with a label, and end the oldest of a million",
        peer: "the same, and end the newest",
        goal: 2
    ) {
        Contestants(
            Workload(BusyLabels(count: 1_000_000, endsOldest: true).beginAndEnd),
            reference: Workload(BusyLabels(count: 1_000_000, endsOldest: false).beginAndEnd)
        )
    }

    private static let labelled = Comparison(
        "labelled-begin-end",
        "begin with a label, and end",
        peer: lockedNumbers,
        goal: 1.5
    ) {
        Contestants(
            Workload(BusyIndicator(.shown).beginAndEndWithLabel),
            reference: Workload(BusyNumbers().startAndStop)
        )
    }

    private static let advance = Comparison(
        "advance",
        "advance by a step",
        peer: "an atomic add",
        goal: 5
    ) {
        Contestants(
            Workload(BusyIndicator(.shown, label: "Downloading").advance),
            reference: Workload(AtomicCount().add)
        )
    }

    private static let notifications = Comparison(
        "notification-pair",
        "two notifications, observed",
        peer: "the same posts with empty observers",
        goal: 1.5,
        variants: [true, false].map { areOthersInProgress in
            Variant(areOthersInProgress ? "others in progress" : "nothing else in progress") {
                Contestants(
                    Workload(ObservedPosts(areOthersInProgress: areOthersInProgress).post),
                    reference: Workload(EmptilyObservedPosts().post)
                )
            }
        }
    )

    private static let trackedElement = Comparison(
        "tracked-element",
        "an element of a tracked sequence",
        peer: "the same of the sequence, up to 5 ns",
        goal: 20,
        variants: TrackedLoop.Kind.allCases.map { kind in
            Variant(kind.rawValue) {
                let loop = TrackedLoop(kind)
                return Contestants(Workload(loop.iterateTracked), reference: Workload(loop.iteratePlain))
            }
        }
    )

    private static let tracker = Comparison(
        "tracker-pair",
        "tracker: begin and end, attached",
        peer: lockedSet,
        goal: 5,
        variants: [
            Variant("nothing else in progress") {
                Contestants(
                    Workload(BusyTracker(count: 0, ending: .newest).beginAndEnd),
                    reference: Workload(BusySet().startAndStop)
                )
            }
        ]
            + BusyTracker.End.allCases.map { end in
                Variant("10 in progress, \(end.rawValue)") {
                    Contestants(
                        Workload(BusyTracker(count: 10, ending: end).beginAndEnd),
                        reference: Workload(BusySet().startAndStop)
                    )
                }
            }
    )

    private static let tracker10000 = Comparison(
        "tracker-10000",
        "tracker: begin and end, 10 000 in progress",
        peer: "the same with 10",
        goal: 2,
        variants: BusyTracker.End.allCases.map { end in
            Variant(end.rawValue) {
                Contestants(
                    Workload(BusyTracker(count: 10_000, ending: end).beginAndEnd),
                    reference: Workload(BusyTracker(count: 10, ending: end).beginAndEnd)
                )
            }
        }
    )

    private static let snapshot = Comparison(
        "snapshot-read",
        "reading the snapshot",
        peer: "an uncontended lock and unlock",
        goal: 5,
        variants: [nil, "GET /items"].map { label in
            Variant(label == nil ? "without a label" : "with a label") {
                Contestants(
                    Workload(BusyIndicator(.shown, label: label).readSnapshot),
                    reference: Workload(UncontendedLock().lockAndUnlock)
                )
            }
        }
    )
}
