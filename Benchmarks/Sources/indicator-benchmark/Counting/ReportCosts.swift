import Foundation
import IndicatorCore
import IndicatorReports

/// The cost of reports: of a program that reports, of the indicator that shows that, and of `indicator exec` while
/// nothing is reported.
enum ReportCosts {
    static let names = ["report-process", "report-received", "exec-launch", "wakeups-reports"]

    static let measurements = [reportProcess, received, execLaunch, wakeUps]

    /// `indicator` as it is installed, with a static runtime: that is part of what a process costs.
    private static func indicator() throws -> String {
        let path = "\(FileManager.default.currentDirectoryPath)/.build/release/indicator"
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw Child.Failure(description: "there is no \(path); run: Scripts/install --prefix FOLDER")
        }
        return path
    }

    private static func reportProcess(_ scale: Scale) throws -> Figure {
        let folder = try WorkFolder()
        guard let notify = Child.find("systemd-notify")?.path else {
            throw Child.Failure(description: "systemd-notify is not installed; run: apt-get install systemd")
        }
        let (path, socket) = (try indicator(), "\(folder.path)/socket")
        try BackendCosts.receiveStatuses(at: socket)
        let (ours, peer) = try alternating(
            scale.launches * 30,
            { try Run(path, ["report", "working", "Linking"], ["INDICATOR_SOCKET": socket]) },
            { try Run(notify, ["--no-block", "--status=Linking"], ["NOTIFY_SOCKET": socket]) }
        )
        return Figure(
            name: names[0],
            title: "`indicator report`, a process",
            peer: "`systemd-notify --no-block`",
            goal: 1,
            outcome: .time(ours: ours.wall, reference: peer.wall),
            detail: "processor time: \(ours.processor) beside \(peer.processor)"
        )
    }

    /// Many reports at once, so without the wake-up of the thread that a single one needs.
    private static func received(_ scale: Scale) throws -> Figure {
        let indicator = IndicatorManager(delays: .standard)
        let reports = try ProgramReports(on: ManagedActivity("work", in: indicator))
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        defer { close(descriptor) }
        let count = scale.countedPairs / 2
        var best = Double.infinity
        try BackendCosts.withAddress(reports.environment["INDICATOR_SOCKET"] ?? "") { address, length in
            guard connect(descriptor, address, length) == 0 else {
                throw Child.Failure(description: "could not connect to the socket for reports")
            }
            for _ in 0..<3 {
                let before = time(CLOCK_PROCESS_CPUTIME_ID) - time(CLOCK_THREAD_CPUTIME_ID)
                for number in 0..<count {
                    let report = "state=working:progress=\(number % 100):title=Q29weWluZw==:msg=Q29weQ=="
                    _ = report.withCString { send(descriptor, $0, strlen($0), 0) }
                }
                let after = time(CLOCK_PROCESS_CPUTIME_ID) - time(CLOCK_THREAD_CPUTIME_ID)
                best = min(best, (after - before) / Double(count))
            }
        }
        reports.end()
        return Figure(
            name: names[1],
            title: "a report received, parsed and applied, processor time",
            goal: 5,
            outcome: .count(best / 1000, unit: "µs"),
            detail: "of \(count) in a row; the least of three runs"
        )
    }

    /// With few descriptors, `exec` works without reports.
    private static func execLaunch(_ scale: Scale) throws -> Figure {
        let folder = try WorkFolder()
        let (path, variables) = (try indicator(), try variables(folder))
        func run(descriptors: Int) throws -> Run {
            try Run("/bin/sh", ["-c", "ulimit -n \(descriptors); exec '\(path)' exec -- /bin/true"], variables)
        }
        let (with, without) = try alternating(
            scale.launches * 30,
            { try run(descriptors: 64) },
            { try run(descriptors: 10) }
        )
        return Figure(
            name: names[2],
            title: "launch of `indicator exec`, added by the socket for reports, processor time",
            goal: 0.2,
            outcome: .count(max(with.used - without.used, 0) / 1e6, unit: "ms"),
            detail: "\(with.processor) beside \(without.processor); in all, \(Decimals.time(nanoseconds: with.wall)) "
                + "beside \(Decimals.time(nanoseconds: without.wall))"
        )
    }

    private static func wakeUps(_ scale: Scale) throws -> Figure {
        let folder = try WorkFolder()
        // The notification would look for a bus now and then.
        let words = ["exec", "--notify", "never", "--", "cat"]
        let process = try Child(URL(fileURLWithPath: try indicator()), words, environment: try variables(folder))
        Thread.sleep(forTimeInterval: scale.settling / .seconds(1))
        let before = try ProcessStatus.voluntarySwitches(process.processID)
        Thread.sleep(forTimeInterval: scale.watch / .seconds(1))
        let after = try ProcessStatus.voluntarySwitches(process.processID)
        try process.finish()
        return Figure(
            name: names[3],
            title: "wake-ups of `indicator exec` while nothing is reported",
            goal: 0,
            outcome: .count(
                Double(after.map { $0.value - before[$0.key, default: 0] }.reduce(0, +)),
                unit: "in \(Decimals.short(scale.watch / .seconds(1))) s"
            ),
            detail: "with a log file"
        )
    }

    /// The variables of an `exec` with a log file.
    private static func variables(_ folder: WorkFolder) throws -> [String: String] {
        let text = "backends: [logFile]\nlogFile: {path: \(folder.path)/log}\n"
        let file = try folder.write(text, to: "indicator.yaml")
        return ["INDICATOR_CONFIG": file, "HOME": folder.path, "XDG_RUNTIME_DIR": folder.path]
    }

    /// The least times of two processes that are run in turns.
    private static func alternating(
        _ count: Int,
        _ first: () throws -> Run,
        _ second: () throws -> Run
    ) throws -> (Run, Run) {
        var (best, other) = (try first(), try second())
        for _ in 0..<count {
            best = Run.least(best, try first())
            other = Run.least(other, try second())
        }
        return (best, other)
    }

    private static func time(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
    }

    /// A process that has run.
    private struct Run {
        /// How long it took, in nanoseconds.
        private(set) var wall: Double
        /// Its processor time, in nanoseconds.
        private(set) var used: Double

        init(_ program: String, _ arguments: [String], _ environment: [String: String]) throws {
            var process: pid_t = 0
            let words = ([program] + arguments).map { strdup($0) } + [nil]
            let variables = environment.map { strdup("\($0)=\($1)") } + [nil]
            defer { (words + variables).forEach { free($0) } }
            let began = ReportCosts.time(CLOCK_MONOTONIC)
            guard posix_spawn(&process, program, nil, nil, words, variables) == 0 else {
                throw Child.Failure(description: "\(program) could not be started")
            }
            var (status, usage): (Int32, rusage) = (0, rusage())
            guard wait4(process, &status, 0, &usage) == process, status == 0 else {
                throw Child.Failure(description: "\(program) has failed")
            }
            wall = ReportCosts.time(CLOCK_MONOTONIC) - began
            let times = [usage.ru_utime, usage.ru_stime]
            used = times.reduce(0) { $0 + Double($1.tv_sec) * 1e9 + Double($1.tv_usec) * 1e3 }
        }

        var processor: String { "\(Decimals.short(used / 1e6)) ms" }

        static func least(_ first: Run, _ second: Run) -> Run {
            var least = first
            (least.wall, least.used) = (min(first.wall, second.wall), min(first.used, second.used))
            return least
        }
    }
}
