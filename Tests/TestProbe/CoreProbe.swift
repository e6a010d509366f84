import Foundation
import IndicatorCore
import IndicatorTracking

/// A process for the tests of the core, which ends, or whose clocks are moved.
///
/// Usage: `test-probe core suspend`, `… source`, `… step`, `… log` or `… counts`.
enum CoreProbe {
    static func run(_ arguments: [String]) async throws {
        // Ends the process if a failed test leaves it running.
        alarm(300)
        switch arguments.first {
        case "source": await source()
        case "step": try await step()
        case "log": await log()
        case "counts": try CountsProbe.run()
        default: try await suspend()
        }
    }

    // MARK: - The end of the process

    /// Logs a message, shuts the indicator down, and exits.
    private static func log() async {
        struct Unnamed: IndicatorBackend {
            let name = "twice"
            func show(_ updates: IndicatorUpdates) async { for await _ in updates {} }
        }
        let indicator = IndicatorManager(backends: [Unnamed(), Unnamed()])
        await indicator.shutdown(timeLimit: .seconds(60))
        exit(0)
    }

    // MARK: - A step of the wall clock

    /// Prints, in hours, by how much dates differ from the wall clock, before a step of an hour and with the next
    /// snapshot after it.
    private static func step() async throws {
        let step = preloaded("realtime_step", as: UnsafeMutablePointer<Int>.self)
        let indicator = IndicatorManager(delays: try IndicatorDelays(startDelay: .zero))
        let first = indicator.begin("First")
        var snapshots = indicator.snapshots.makeAsyncIterator()
        func next(count: Int) async -> IndicatorSnapshot {
            while let snapshot = await snapshots.next() {
                guard snapshot.activities.count == count else { continue }
                let dates = [snapshot.since] + snapshot.activities.map(\.since)
                say("\(dates.map { Int((Date().timeIntervalSince($0) / 3_600).rounded()) })")
                return snapshot
            }
            return IndicatorSnapshot()
        }
        let before = await next(count: 1)
        step.pointee = 3_600
        // What a backend shows that has not got another snapshot.
        let elapsed = [before.elapsed(at: Date())] + before.activities.map { $0.elapsed(at: Date()) }
        say("\(elapsed.map { Int(($0 / 3_600).rounded()) })")
        let second = indicator.begin("Second")
        _ = await next(count: 2)
        second.end()
        first.end()
    }

    // MARK: - A suspend of the machine

    /// Prints `late` after half a minute, and before that, unless something is wrong, `shown` and `hidden`.
    ///
    /// Meanwhile, the preloaded library adds an hour to `CLOCK_BOOTTIME`, as a suspend does.
    private static func suspend() async throws {
        let step = preloaded("boottime_step", as: UnsafeMutablePointer<Int>.self)
        _ = ServiceThread.shared.call(at: ServiceThread.now + 30_000_000_000) { say("late") }
        let delays = try IndicatorDelays(startDelay: .milliseconds(10), completionDelay: .milliseconds(10))
        let indicator = IndicatorManager(delays: delays)
        var snapshots = indicator.snapshots.makeAsyncIterator()
        // The thread waits for the far deadline.
        while !isWaiting(threadNamed: "indicator") { usleep(1_000) }
        step.pointee = 3_600
        let activity = indicator.begin("Working")
        while await snapshots.next()?.isVisible != true {}
        say("shown")
        // The indicator's own deadline is near when the machine is suspended again.
        step.pointee = 7_200
        activity.end()
        while await snapshots.next()?.isVisible != false {}
        say("hidden")
    }

    /// Prints how often a source was turned: when the machine was suspended for longer than until its deadline, and
    /// after a near deadline.
    private static func source() async {
        final class Source: PollSource, @unchecked Sendable {
            // `@unchecked`: only the thread uses it.
            var deadline: SuspendingClock.Instant? = .now + .seconds(1_800)
            var turns = 0

            func interest() -> (descriptors: [pollfd], deadline: SuspendingClock.Instant?) { ([], deadline) }
            func turn(_ descriptors: [pollfd]) { (deadline, turns) = (nil, turns + 1) }
        }
        let step = preloaded("boottime_step", as: UnsafeMutablePointer<Int>.self)
        let thread = ServiceThread(name: "source")
        let source = Source()
        /// The turns after a job, which ends the wait before it.
        func turns(_ job: @escaping @Sendable () -> Void = {}) async -> Int {
            await withTaskExecutorPreference(thread) {
                job()
                return source.turns
            }
        }
        _ = await turns { _ = thread.add(source) }
        while !isWaiting(threadNamed: "source") { usleep(1_000) }
        step.pointee = 3_600
        say("\(await turns())")
        _ = await turns { source.deadline = .now + .milliseconds(10) }
        while await turns() == 0 { usleep(1_000) }
        say("\(await turns())")
    }

    private static func isWaiting(threadNamed name: String) -> Bool {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        return threads.contains { thread in
            let stat = (try? String(contentsOfFile: "/proc/self/task/\(thread)/stat", encoding: .utf8)) ?? ""
            return stat.contains("(\(name)) S")
        }
    }
}

/// What activities cost other than time, counted by a preloaded library: `test-probe core counts` prints lines with a
/// name and a number.
enum CountsProbe {
    private static let pairs = 10_000
    private static let liveCount = 100_000

    static func run() throws {
        typealias Counter = @convention(c) () -> UInt
        let allocations = preloaded("counted_allocations", as: Counter.self)
        let calls = preloaded("counted_calls", as: Counter.self)
        let bytes = preloaded("counted_bytes", as: Counter.self)
        func report(_ name: String, _ body: () -> Void) {
            // What is allocated once.
            for _ in 0..<100 { body() }
            let before = (allocations(), calls())
            for _ in 0..<pairs { body() }
            let after = (allocations(), calls())
            print("allocations, \(name): \(after.0 - before.0)")
            print("system calls, \(name): \(after.1 - before.1)")
        }
        let hours = Duration.seconds(36_000)
        let shown = IndicatorManager(delays: try IndicatorDelays(startDelay: .zero, completionDelay: hours))
        let delayed = IndicatorManager(delays: try IndicatorDelays(startDelay: hours))
        let disabled = IndicatorManager(isEnabled: false)
        for (name, indicator) in [("shown", shown), ("not shown yet", delayed), ("disabled", disabled)] {
            report("begin and end, \(name)") { indicator.begin().end() }
        }
        let other = shown.begin()
        report("begin and end, others in progress") { shown.begin().end() }
        report("start and stop by a number") {
            shown.start(7)
            shown.stop(7)
        }
        report("begin with a label and end") { shown.begin("label").end() }
        other.end()
        let step = ActivityTracker<Int>().begin(0)
        report("a value in a tracker") { step.update(1) }

        func grown(_ name: String, _ begin: (IndicatorManager) -> Void) {
            let indicator = IndicatorManager()
            let before = bytes()
            begin(indicator)
            let grown = (bytes() - before) / UInt(liveCount)
            print("bytes, \(name): \(grown)")
        }
        // The caller's values do not count. They are never released: the process ends.
        grown("an activity") { indicator in
            let activities = UnsafeMutablePointer<Activity>.allocate(capacity: liveCount)
            for index in 0..<liveCount { (activities + index).initialize(to: indicator.begin()) }
        }
        grown("with a number") { indicator in for number in 0..<liveCount { indicator.start(number) } }
        grown("with a label") { indicator in
            let activities = UnsafeMutablePointer<Activity>.allocate(capacity: liveCount)
            for index in 0..<liveCount { (activities + index).initialize(to: indicator.begin("label")) }
        }
        exit(0)
    }
}
