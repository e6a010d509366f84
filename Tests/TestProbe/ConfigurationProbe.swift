import Foundation
import IndicatorBackends
import IndicatorTesting
import Logging

/// An app with a config file and nothing else, for tests that send real signals to a process.
///
/// Usage: `test-probe configuration FILE [MODE…]`; with `-` for FILE it searches the standard locations. It prints `pid
/// N` and `ready` once it accepts commands, `delay S` and `count N` whenever the start delay changes, and its log. One
/// activity is in progress all the time. A line on standard input is a command: `shutdown`, `disposition` (of SIGHUP:
/// `default`, `ignore` or `handler`), `backends` (their names), `shared` (configures the shared indicator again and
/// prints its state), `quit`.
///
/// Modes: `ignore` and `own` ignore or handle SIGHUP before the indicator is created; `two` creates two indicators;
/// `idle` does not poll the start delay; `terminal` only waits, without reading standard input; `standard` uses the
/// built-in backend kinds and the process's environment; `shared` configures the shared indicator after an activity has
/// begun on it; `plain` is an app that proposes backends, leaves the rest at its defaults, shows an activity, and ends.
enum ConfigurationProbe {
    static func run(_ arguments: [String]) async throws {
        let path = arguments[0]
        let modes = Set(arguments.dropFirst())
        if modes.contains("plain") { return await runPlain(path) }
        if modes.contains("ignore") { signal(SIGHUP, SIG_IGN) }
        if modes.contains("own") { signal(SIGHUP) { _ in } }

        var registry = modes.contains("standard") ? BackendRegistry.standard : BackendRegistry()
        registry.register(
            BackendKind(name: "memory", summary: "keeps what it is shown", settings: { _ in }) { context, _ in
                InMemoryBackend(name: context.name)
            }
        )
        let make = { name, isShared in
            IndicatorManager.configured(
                from: ConfigurationSource(
                    for: name,
                    path: path == "-" ? nil : path,
                    environment: modes.contains("standard") ? ProcessInfo.processInfo.environment : [:],
                    registry: registry,
                    logger: Logger(label: "helper") { StreamLogHandler.standardOutput(label: $0) }
                ),
                asShared: isShared
            )
        }
        let isShared = modes.contains("shared")
        let early = isShared ? ManagedActivity(in: IndicatorManager.shared) : nil
        defer { withExtendedLifetime(early) {} }
        let indicator = make("probe", isShared)
        let second = modes.contains("two") ? make("probe", false) : nil
        let activity = ManagedActivity(in: indicator)
        // Read before "ready" is printed: a test may change the delay right after that.
        let firstDelay = indicator.delays.startDelay
        say("pid \(getpid())")
        say("ready")

        let watch = Task {
            var last = firstDelay
            while !Task.isCancelled {
                if indicator.delays.startDelay != last {
                    last = indicator.delays.startDelay
                    say("delay \(last)")
                    say("count \(indicator.activityCount)")
                }
                try await Task.sleep(for: .milliseconds(5))
            }
        }
        if modes.contains("terminal") { try await Task.sleep(for: .seconds(120)) }
        if modes.contains("idle") { watch.cancel() }
        // On its own thread: `readLine` blocks.
        let (lines, continuation) = AsyncStream<String>.makeStream()
        Thread {
            while let line = readLine() { continuation.yield(line) }; continuation.finish()
        }.start()
        for await line in lines {
            switch line {
            case "shutdown":
                await indicator.shutdown()
                say("shut down")
            case "shutdown second":
                await second?.shutdown()
                say("shut down")
            case "disposition": say(disposition(of: SIGHUP))
            case "shared":
                let shared = make("again", true)
                let enabled = shared.isEnabled ? "enabled" : "disabled"
                say("shared: delay \(shared.delays.startDelay), \(enabled), count \(shared.activityCount)")
            case "backends":
                say("backends " + indicator.backendStatuses.map(\.name).joined(separator: ","))
            default: withExtendedLifetime(activity) { exit(0) }
            }
        }
    }

    private static func runPlain(_ path: String) async {
        let backends: SettingValue = ["terminalTitle", "dbusProperty", "desktopNotification", "desktopJob"]
        let indicator = IndicatorManager.configured(
            from: ConfigurationSource(
                for: "probe",
                path: path == "-" ? nil : path,
                overrides: ["startDelay": 0],
                defaults: ["backends": backends]
            )
        )
        await indicator.withActivity("Working") {
            for await snapshot in indicator.snapshots where snapshot.isVisible { break }
        }
        await indicator.shutdown()
        say("done")
    }
}
