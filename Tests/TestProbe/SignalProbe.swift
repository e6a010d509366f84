import Foundation
import IndicatorBackends
import Logging

/// An app with a config file and an activity that lasts as long as the process, for tests of signals.
///
/// Usage: `test-probe signals FILE [MODE]`. It prints `pid N`, and `shown` once the indicator is shown.
///
/// Modes: `ignore` ignores SIGTERM, and `own` handles it by exiting with 7, before the indicator is created;
/// `busy-pool` keeps every thread of Swift's pool busy; `terminal` does not read standard input; `local` keeps the
/// indicator in a local variable, which deallocates it when `main` returns; `cancel` runs work that ends when a signal
/// cancels it, `success` work that succeeds then, and `stubborn` work that goes on; `usleep` and `poll` wait on the
/// main thread, then succeed and return from `main`, `exit` calls exit(3) instead; `print` prints lines until that
/// fails, and `print-ignored` does with SIGPIPE ignored.
///
/// `test-probe signals FILE streams` prints 200 kB to each standard stream and ends. With `late`, it first closes the
/// streams after the indicator was created, and fails if one is another file then.
///
/// A line on standard input is a command: `own` handles SIGTERM from now on; `child` prints the signal masks of a child
/// program; `fork` forks, prints `child N`, waits for the child and prints the signal that ended it; `exit` and
/// `quick_exit` call these with 3; `closefrom` closes what it has not opened, and opens files; `return` returns from
/// `main`.
enum SignalProbe {
    static func run(_ arguments: [String]) async throws {
        let path = arguments[0]
        let mode = arguments.dropFirst().first
        beginProbe()
        if mode == "ignore" { signal(SIGTERM, SIG_IGN) }
        if mode == "print-ignored" { signal(SIGPIPE, SIG_IGN) }
        if mode == "own" { handleTermination() }

        var registry = BackendRegistry.standard
        registry.register(
            BackendKind(name: "hanging", summary: "never returns from an update", settings: { _ in }) { _, _ in
                HangingBackend()
            }
        )
        let indicator = IndicatorManager.configured(
            from: ConfigurationSource(
                for: "helper",
                path: path,
                registry: registry,
                logger: Logger(label: "helper") { StreamLogHandler.standardError(label: $0) }
            )
        )
        defer { withExtendedLifetime(indicator) {} }
        // Like a global variable of a script.
        if mode != "local" { kept = indicator }
        if mode == "streams" || mode == "late" { return await useStreams(indicator, closing: mode == "late") }
        say("pid \(getpid())")
        indicator.start("work", label: "Working")
        for await snapshot in indicator.snapshots where snapshot.isVisible { break }
        if mode == "busy-pool" { occupyPool() }
        say("shown")
        if mode == "terminal" { while true { pause() } }
        if ["cancel", "success", "stubborn"].contains(mode) {
            return try await indicator.run {
                say("working")
                do {
                    try await Task.sleep(for: .seconds(300))
                } catch {
                    say("cancelled")
                    while mode == "stubborn" { usleep(100_000) }
                    indicator.stop("work", mode == "success" ? .succeeded : .cancelled)
                    if mode == "cancel" { throw error }
                }
            }
        }
        if ["usleep", "poll", "exit"].contains(mode) {
            await MainActor.run {
                say("waiting")
                if mode == "poll" { poll(nil, 0, 300_000) } else { usleep(300_000_000) }
                indicator.stop("work", .succeeded)
                if mode == "exit" { exit(3) }
            }
            return
        }
        if mode?.hasPrefix("print") == true {
            while write(STDOUT_FILENO, "line\n", 5) >= 0 { usleep(10_000) }
            FileHandle.standardError.write(Data("error \(errno)\n".utf8))
            return
        }
        while let command = readLine() {
            switch command {
            case "own": handleTermination()
            case "child": try runShell("grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status")
            case "fork": forkChild()
            case "exit": exit(3)
            case "quick_exit": quick_exit(3)
            case "closefrom": closeUnknown()
            case "return": return
            default: break
            }
            say("done \(command)")
        }
    }

    // Written once, before anything else happens.
    nonisolated(unsafe) private static var kept: IndicatorManager?

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
