import BackendConfiguration
import Foundation
import IndicatorBackends
import IndicatorServiceLifecycle
import IndicatorTesting
import Logging
import ServiceLifecycle
import UnixSignals

/// An app with a config file and an activity that lasts as long as the process, for tests of its configuration and of
/// signals.
///
/// Usage: `test-probe app FILE [MODE…]`; with `-` for FILE, it searches the standard locations. It prints `pid N`,
/// `ready`, and then `shown` once the indicator is shown. Its log is on standard error.
///
/// Modes: `ignore` ignores SIGTERM and SIGHUP, and `own` handles them, SIGTERM by exiting with 7, before the indicator
/// is created; `busy-pool` keeps every thread of Swift's pool busy; `terminal` does not read standard input; `local`
/// keeps the indicator in a local variable, which deallocates it when `main` returns; `two` creates two indicators;
/// `shared` configures the shared indicator after an activity has begun on it; `delays` prints `delay S` and `count N`
/// whenever the start delay changes, instead of `shown`; `plain` proposes backends, and ends; `cancel` runs work that
/// ends when a signal cancels it, `success` work that succeeds then, and `stubborn` work that goes on; `usleep` and
/// `poll` wait on the main thread, then succeed and return from `main`, `exit` calls exit(3) instead; `print` prints
/// lines until that fails, and `print-ignored` does with SIGPIPE ignored.
///
/// `test-probe app FILE streams` prints 200 kB to each standard stream and ends. With `late`, it first closes the
/// streams after the indicator was created, and fails if one is another file then.
///
/// With `service`, the indicator is a service beside another one, which prints `finishing` when it shuts down; the end
/// of the group prints `ended`, and the states of the backends. With `failing`, a third one throws after a line.
///
/// A line on standard input is a command: `own` handles SIGTERM from now on; `child` prints the signal masks of a child
/// program; `disposition` prints that of SIGHUP: `default`, `ignore` or `handler`; `backends` prints their names;
/// `fork` forks, prints `child N`, waits for the child and prints the signal that ended it; `shutdown` and
/// `shutdown second` shut an indicator down; `shared` configures the shared indicator again and prints its state;
/// `exit` and `quick_exit` call these with 3; `closefrom` closes what it has not opened, and opens files; `return`
/// returns from `main`.
enum AppProbe {
    static func run(_ arguments: [String]) async throws {
        beginProbe()
        let path = arguments[0]
        // Beside the backend that hangs, the limit is what is tested.
        let isHanging = (try? String(contentsOfFile: path, encoding: .utf8))?.contains("hanging") == true
        if !isHanging { ProcessSignals.shutdownLimit = .seconds(60) }
        let modes = Set(arguments.dropFirst())
        if modes.contains("ignore") { for number in [SIGTERM, SIGHUP] { signal(number, SIG_IGN) } }
        if modes.contains("print-ignored") { signal(SIGPIPE, SIG_IGN) }
        if modes.contains("own") {
            handleTermination()
            signal(SIGHUP) { _ in }
        }
        let make = { name, isShared in
            let isPlain = modes.contains("plain")
            let proposed: SettingValue = ["terminalTitle", "dbusProperty", "desktopNotification", "desktopJob"]
            let source = ConfigurationSource(
                for: name,
                path: path == "-" ? nil : path,
                registry: registry,
                overrides: isPlain ? ["startDelay": 0] : [:],
                defaults: isPlain ? ["backends": proposed] : [:]
            )
            return IndicatorManager.configured(from: source, asShared: isShared)
        }
        let early = modes.contains("shared") ? ManagedActivity(in: IndicatorManager.shared) : nil
        let indicator = make("helper", modes.contains("shared"))
        let second = modes.contains("two") ? make("helper", false) : nil
        defer { withExtendedLifetime((early, indicator)) {} }
        // Like a global variable of a script.
        if !modes.contains("local") { kept = indicator }
        if modes.contains("streams") { return await useStreams(indicator, closing: false) }
        if modes.contains("late") { return await useStreams(indicator, closing: true) }
        let services: [any Service] = [indicator, Worker(indicator: indicator)]
        if modes.contains("service") { return await runServices(services, indicator) }
        if modes.contains("failing") { return await runServices(services + [Failing()], indicator) }
        say("pid \(getpid())")
        indicator.start("work", label: "Working")
        let delay = indicator.delays.startDelay
        // A test may change the delay right after that.
        say("ready")
        if modes.contains("delays") {
            reportDelays(of: indicator, after: delay)
        } else {
            for await snapshot in indicator.snapshots where snapshot.isVisible { break }
            if modes.contains("busy-pool") { occupyPool() }
            say("shown")
        }
        if modes.contains("plain") { return await indicator.shutdown() }
        if modes.contains("terminal") { while true { pause() } }
        if !modes.isDisjoint(with: ["cancel", "success", "stubborn"]) {
            return try await indicator.run {
                say("working")
                do {
                    try await Task.sleep(for: .seconds(300))
                } catch {
                    say("cancelled")
                    while modes.contains("stubborn") { usleep(100_000) }
                    indicator.stop("work", modes.contains("success") ? .succeeded : .cancelled)
                    if modes.contains("cancel") { throw error }
                }
            }
        }
        if !modes.isDisjoint(with: ["usleep", "poll", "exit"]) {
            await MainActor.run {
                say("waiting")
                if modes.contains("poll") { poll(nil, 0, 300_000) } else { usleep(300_000_000) }
                indicator.stop("work", .succeeded)
                if modes.contains("exit") { exit(3) }
            }
            return
        }
        if !modes.isDisjoint(with: ["print", "print-ignored"]) {
            while write(STDOUT_FILENO, "line\n", 5) >= 0 { usleep(10_000) }
            FileHandle.standardError.write(Data("error \(errno)\n".utf8))
            return
        }
        while let command = readLine() {
            switch command {
            case "own": handleTermination()
            case "child": try runShell("grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status")
            case "disposition": say(disposition(of: SIGHUP))
            case "backends": say("backends " + indicator.backendStatuses.map(\.name).joined(separator: ","))
            case "fork": forkChild()
            case "shutdown": await indicator.shutdown()
            case "shutdown second": await second?.shutdown()
            case "shared":
                let shared = make("again", true)
                let enabled = shared.isEnabled ? "enabled" : "disabled"
                say("shared: delay \(shared.delays.startDelay), \(enabled), count \(shared.activityCount)")
            case "exit": exit(3)
            case "quick_exit": quick_exit(3)
            case "closefrom": closeUnknown()
            case "return": return
            default: break
            }
            say("done \(command)")
        }
    }

    /// The built-in kinds, one that keeps what it is shown, and one that never returns from an update.
    private static var registry: BackendRegistry {
        var registry = BackendRegistry.standard
        registry.register(
            BackendKind(name: "memory", summary: "keeps what it is shown", settings: { _ in }) { context, _ in
                InMemoryBackend(name: context.name)
            }
        )
        registry.register(
            BackendKind(name: "hanging", summary: "never returns from an update", settings: { _ in }) { _, _ in
                HangingBackend()
            }
        )
        return registry
    }

    // Written once, before anything else happens.
    nonisolated(unsafe) private static var kept: IndicatorManager?

    private static func runServices(_ services: [any Service], _ indicator: IndicatorManager) async {
        let logger = Logger(label: "helper") { StreamLogHandler.standardError(label: $0) }
        let group = ServiceGroup(services: services, gracefulShutdownSignals: [.sigterm], logger: logger)
        do {
            try await group.run()
            say("ended")
        } catch {
            say("failed: \(error)")
        }
        say("backends \(indicator.backendStatuses.map { "\($0.state)" })")
    }

    /// On a thread of its own: the others may be busy.
    private static func reportDelays(of indicator: IndicatorManager, after first: Duration) {
        Thread.detachNewThread {
            var last = first
            while true {
                let delay = indicator.delays.startDelay
                if delay != last { say("delay \(delay)\ncount \(indicator.activityCount)") }
                last = delay
                usleep(5000)
            }
        }
    }

    /// Returns when all other threads of the pool are busy.
    private static func occupyPool() {
        let running = DispatchSemaphore(value: 0)
        for _ in 0..<64 {
            Task.detached {
                running.signal()
                while true { usleep(100_000) }
            }
        }
        for _ in 1..<ProcessInfo.processInfo.activeProcessorCount { running.wait() }
    }

    private static func useStreams(_ indicator: IndicatorManager, closing: Bool) async {
        let streams = STDIN_FILENO...STDERR_FILENO
        if closing {
            // While a library opens a descriptor, no app may close another one: it could get that number.
            while indicator.backendStatuses.contains(where: { $0.state == .starting }) { usleep(1000) }
            for stream in streams { close(stream) }
        }
        indicator.start("work", label: "Working")
        for await snapshot in indicator.snapshots where snapshot.isVisible { break }
        // Each of these bytes was signal 48, if it was read as one.
        let text = String(repeating: "0", count: 99)
        for _ in 0..<2000 {
            print(text)
            _ = write(STDERR_FILENO, text + "\n", 100)
        }
        if closing {
            // A library may have one for a moment, such as the file of the time zone.
            var rounds = 1000
            while !streams.allSatisfy({ isClosed($0) }) {
                rounds -= 1
                if rounds == 0 { _exit(9) }
                usleep(10_000)
            }
        }
        await indicator.shutdown()
    }

    /// Whether the stream is still closed, or `/dev/null`, which this package opens before a library gets the number.
    private static func isClosed(_ stream: CInt) -> Bool {
        let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(stream)")
        return path == nil || path == "/dev/null"
    }

    private static func handleTermination() { signal(SIGTERM) { _ in _exit(7) } }

    private static func closeUnknown() {
        for descriptor in 3..<CInt(256) { close(descriptor) }
        for _ in 0..<64 { _ = open("/dev/full", O_RDWR) }
    }

    private static func forkChild() {
        let child = forkProcess()
        if child == 0 { while true { pause() } }
        say("child \(child)")
        var status: CInt = 0
        waitpid(child, &status, 0)
        say("child was ended by \(status & 0x7F)")
    }
}

/// Never returns from an update.
private final class HangingBackend: IndicatorBackend {
    let name = "hanging"
    func show(_ updates: IndicatorUpdates) async { for await _ in updates { while true { pause() } } }
}

/// Works until the group shuts down.
private struct Worker: Service {
    let indicator: IndicatorManager

    func run() async throws {
        try await indicator.withActivity("Working") {
            for await snapshot in indicator.snapshots where snapshot.isVisible { break }
            say("shown")
            try await gracefulShutdown()
            say("finishing")
        }
    }
}

private struct Failing: Service {
    struct Failure: Error {}

    func run() async throws {
        _ = readLine()
        throw Failure()
    }
}
