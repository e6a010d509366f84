/// The durations and repetitions of the measurements.
struct Scale {
    /// The number of turns of subject and reference; the shortest time of each counts.
    var repetitions: Int
    /// The minimum duration of a turn.
    var turn: Duration
    /// For how long idle processes are observed.
    var watch: Duration
    /// The pause before idle processes are observed.
    var settling: Duration
    /// The number of activities in progress when memory is measured.
    var liveActivities: Int
    /// The number of tracked objects when the longest wait is measured.
    var trackedObjects = 100_000
    /// The number of begins and ends when allocations and system calls are counted.
    var countedPairs: Int
    /// The number of launches when start-up is measured.
    var launches: Int

    /// For reliable figures.
    static let full = Scale(
        repetitions: 15,
        turn: .milliseconds(25),
        watch: .seconds(10),
        // Longer than libdispatch keeps idle threads: 5 s.
        settling: .seconds(7),
        liveActivities: 1_000_000,
        countedPairs: 100_000,
        launches: 7
    )

    /// To check that everything works.
    static let quick = Scale(
        repetitions: 5,
        turn: .milliseconds(1),
        watch: .seconds(1),
        settling: .milliseconds(500),
        liveActivities: 100_000,
        countedPairs: 10_000,
        launches: 2
    )
}
