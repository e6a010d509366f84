/// How long and how often things are measured.
struct Scale {
    /// How many times subject and reference take turns; the shortest time of each counts.
    var repetitions: Int
    /// How long a turn takes at least.
    var turn: Duration
    /// How long processes are watched that have nothing to do.
    var watch: Duration
    /// How long they are left alone before.
    var settling: Duration
    /// How many activities are in progress at once when memory is counted.
    var liveActivities: Int
    /// How many objects are tracked at once when the longest wait is measured.
    var trackedObjects = 100_000
    /// How many times activities begin and end when allocations and system calls are counted.
    var countedPairs: Int
    /// How many times a process is started whose start is measured.
    var launches: Int

    /// For figures to rely on.
    static let full = Scale(
        repetitions: 15,
        turn: .milliseconds(25),
        watch: .seconds(10),
        // Longer than libdispatch keeps threads that have nothing to do: 5 s.
        settling: .seconds(7),
        liveActivities: 1_000_000,
        countedPairs: 100_000,
        launches: 7
    )

    /// To see that everything works.
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
