import Foundation
import IndicatorCore
import IndicatorThreads
import IndicatorTracking
import Logging
import Synchronization

/// A process for the tests of the core: it forks, or its clocks are moved.
///
/// Usage: `test-probe core fork CHILDREN`, `… suspend`, `… step` or `… log`.
enum CoreProbe {
    static func run(_ arguments: [String]) async throws {
        // Ends the process if a failed test leaves it running.
        alarm(300)
        switch arguments.first {
        case "fork": try fork(arguments.last.flatMap { Int($0) } ?? 1)
        case "step": try await step()
        case "log": await log()
        default: try await suspend()
        }
    }

    // MARK: - The end of the process

    /// Logs a message, shuts the indicator down, and exits.
    private static func log() async {
        struct Unnamed: IndicatorBackend {
            let name = "twice"

            func start() async throws {}
            func update(_ snapshot: IndicatorSnapshot) async throws {}
            func stop() async {}
        }
        let indicator = IndicatorManager(backends: [Unnamed(), Unnamed()])
        await indicator.shutdown()
        exit(0)
    }

    // MARK: - A step of the wall clock

    /// Prints, in hours, by how much dates differ from the wall clock, before and after a step of an hour.
    private static func step() async throws {
        guard let step = symbol("realtime_step", as: UnsafeMutablePointer<Int>.self) else {
            return say("not preloaded")
        }
        let indicator = IndicatorManager(delays: try IndicatorDelays(startDelay: .zero))
        let first = indicator.begin("First")
        func print() {
            let snapshot = indicator.snapshot
            let dates = [snapshot.since] + snapshot.activities.map(\.since)
            say("\(dates.map { Int((Date().timeIntervalSince($0) / 3_600).rounded()) })")
        }
        print()
        let before = indicator.snapshot
        step.pointee = 3_600
        print()
        // What a backend shows that has not got another snapshot.
        let elapsed = [before.elapsed(at: Date())] + before.activities.map { $0.elapsed(at: Date()) }
        say("\(elapsed.map { Int(($0 / 3_600).rounded()) })")
        let second = indicator.begin("Second")
        print()
        second.end()
        first.end()
    }

    // MARK: - A suspend of the machine

    /// Prints `late` after half a minute, and before that, unless something is wrong, `shown` and `hidden`.
    ///
    /// Meanwhile, the preloaded library adds an hour to `CLOCK_BOOTTIME`, as a suspend does.
    private static func suspend() async throws {
        guard let step = symbol("boottime_step", as: UnsafeMutablePointer<Int>.self) else {
            return say("not preloaded")
        }
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

    private static func isWaiting(threadNamed name: String) -> Bool {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        return threads.contains { thread in
            let stat = (try? String(contentsOfFile: "/proc/self/task/\(thread)/stat", encoding: .utf8)) ?? ""
            return stat.contains("(\(name)) S")
        }
    }

    // MARK: - fork(2) without exec(3)

    /// Forks while other threads use the indicator, whose lock they often hold. Prints how many children ended with
    /// status 0, and how the others ended; their log goes to standard error.
    private static func fork(_ count: Int) throws {
        guard let fork = symbol("fork", as: (@convention(c) () -> Int32).self) else { return say("no fork") }
        let logger = Logger(label: "probe") { StreamLogHandler.standardError(label: $0) }
        let indicator = IndicatorManager(logger: logger)
        let tracker = ActivityTracker<String>()
        // The Swift runtime has locks, too: a type that is used for the first time takes one.
        use(IndicatorManager(logger: logger), tracker)
        let rounds = Rounds()
        for number in 0..<2 * ProcessInfo.processInfo.activeProcessorCount {
            Thread.detachNewThread {
                while true {
                    indicator.start("thread \(number)", label: "Working")
                    indicator.stop("thread \(number)")
                    let activity = indicator.begin("Working")
                    activity.progress = 0.5
                    activity.end()
                    tracker.begin("Working").end()
                    // Its end is reported on a thread of the indicator.
                    _ = tracker.statuses
                    rounds.count.wrappingAdd(1, ordering: .relaxed)
                }
            }
        }
        while rounds.count.load(ordering: .relaxed) < 1_000 { usleep(1_000) }
        let own = ManagedActivity("Own", in: indicator)
        var ends: [String: Int] = [:]
        for _ in 0..<count {
            let child = fork()
            if child == 0 { finish(indicator, tracker, own, logger) }
            var status: Int32 = 0
            waitpid(child, &status, 0)
            ends[status == 0 ? "normally" : "with \(status)", default: 0] += 1
        }
        say("\(ends)")
        exit(0)
    }

    private final class Rounds: Sendable {
        let count = Atomic(0)
    }

    /// Uses everything in a child, and ends it, with status 0 if the indicator is off.
    private static func finish(
        _ indicator: IndicatorManager,
        _ tracker: ActivityTracker<String>,
        _ own: ManagedActivity,
        _ logger: Logger
    ) -> Never {
        alarm(60)
        for manager in [indicator, IndicatorManager(logger: logger)] {
            use(manager, tracker)
            guard !tracker.status.isLoading else { _exit(1) }
            let snapshot = manager.snapshot
            guard !manager.isEnabled, !manager.isVisible, !snapshot.isEnabled, snapshot.activityCount == 0 else {
                _exit(1)
            }
        }
        own.label = "Child"
        own.end()
        exit(0)
    }

    private static func use(_ manager: IndicatorManager, _ tracker: ActivityTracker<String>) {
        let attachment = tracker.attach(to: manager)
        tracker.begin("Child").end()
        attachment.detach()
        let activity = manager.begin("Child")
        activity.progress = 0.1
        activity.end()
        manager.start("id", label: "Child")
        manager.stop("id", .succeeded)
        manager.incrementActivityCount()
        manager.decrementActivityCount()
        let object = Rounds()
        manager.track(object)
        manager.observe(.indicator)
        manager.isEnabled = true
        manager.delays.startDelay = .zero
        _ = manager.snapshots
        _ = manager.snapshot
        _ = tracker.statuses
    }

    private static func symbol<Symbol>(_ name: String, as type: Symbol.Type) -> Symbol? {
        dlsym(nil, name).map { unsafeBitCast($0, to: type) }
    }

    private static func say(_ text: String) {
        FileHandle.standardOutput.write(Data("\(text)\n".utf8))
    }
}
