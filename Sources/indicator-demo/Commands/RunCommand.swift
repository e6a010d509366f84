import ArgumentParser
import Foundation
import IndicatorBackends
import IndicatorCommands
import IndicatorCore
import Logging

/// `indicator-demo run`: real requests, shown by the indicator.
struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Make real HTTP requests, and show them.",
        discussion: """
            Makes the requests with NetworkKit to a server inside the demo: some are too short to show, one is long, \
            some overlap, two have a short gap between them, one is not found, one is refused, one is cancelled, one \
            is suspended and resumed, one is an upload. Then it loads an app store's feeds concurrently, the icons \
            from the server and again from the cache, and posts JSON and a picture. Watch the terminal's title and \
            the bars. The timeline at the end shows when each request ran and when the indicator was shown.

            --base-url selects another server, such as one started with 'serve', or httpbin, which has no store. \
            Requests that it does not support are left out.

            The backends are those of the config file; see 'indicator-demo check-config'. Without a config file, they \
            are the terminal's title and bars, a notification, D-Bus and the log, as far as they can run here; the log \
            is $XDG_STATE_HOME/indicator-demo/indicator.log. '--backend auto' chooses what fits here.

            The status is 1 when the indicator was not shown and hidden as the rules require, or when a response was \
            not as expected.

            EXAMPLES
              indicator-demo
              indicator-demo run --backend terminalTitle --start-delay 0.3
              indicator-demo run --json | jq .visibility
            """
    )

    @Option(
        help: ArgumentHelp("The config file to use instead of those at the default locations.", valueName: "file"),
        completion: .file(extensions: ["yaml", "yml"])
    )
    var config: String?

    @Option(
        name: .customLong("backend"),
        help: ArgumentHelp(
            "A backend to use instead of those of the config file; may be repeated.",
            valueName: "name"
        )
    )
    var backends: [String] = []

    // Unconditional: "-1" is an invalid number, not another option.
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Seconds of work before the indicator is shown.", valueName: "seconds"),
        transform: Duration.seconds
    )
    var startDelay: Duration?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Seconds without work before it is hidden.", valueName: "seconds"),
        transform: Duration.seconds
    )
    var completionDelay: Duration?

    @Option(
        name: .customLong("base-url"),
        help: ArgumentHelp("Use another server, such as one started with 'serve', or httpbin.", valueName: "url"),
        transform: { text in
            guard let url = URL(string: text), ["http", "https"].contains(url.scheme?.lowercased()), url.host != nil
            else { throw ValidationError("expected a URL such as http://127.0.0.1:8080") }
            return url
        }
    )
    var baseURL: URL?

    @Flag(help: "Only print one JSON object at the end.")
    var json = false

    func run() async throws {
        // Otherwise a closed pipe would end the demo without restoring the terminal's title.
        signal(SIGPIPE, SIG_IGN)
        let source = source
        let configuration = try source.loadForCommand()
        let indicator = IndicatorManager.configured(from: source)
        do {
            try await run(configuration, indicator)
        } catch {
            await indicator.shutdown()
            throw error
        }
    }

    private var source: ConfigurationSource {
        let bars = BackendKind.terminalProgress.name
        var usual = ["terminalTitle", "desktopNotification", "dbusProperty", "logFile"]
        // Bars, but no plain lines, which would repeat the program's own output.
        if Self.showsBars { usual.append(bars) }
        usual.removeAll { BackendRegistry.standard.kind(named: $0) == nil }
        // The demo's requests are announced by these notifications.
        var overrides: [String: SettingValue] = ["observe": ["indicator"]]
        overrides["startDelay"] = startDelay.map { .string($0.secondsText) }
        overrides["completionDelay"] = completionDelay.map { .string($0.secondsText) }
        overrides["backends"] = backends.isEmpty ? nil : .list(backends)
        return ConfigurationSource(
            for: Program.name,
            path: config,
            overrides: overrides,
            // The program itself prints the outcomes.
            defaults: ["backends": .list(usual), "\(bars).finished": "none"],
            logger: Logger(label: "indicator", factory: { _ in SwiftLogNoOpLogHandler() })
        )
    }

    /// Whether standard output and standard error are a terminal that shows bars.
    private static var showsBars: Bool {
        let environment = ProcessInfo.processInfo.environment
        return isatty(STDOUT_FILENO) == 1
            && TerminalProgressBackend.display(.init(), descriptor: STDERR_FILENO, environment: environment) == .live
    }

    private func run(_ configuration: IndicatorConfiguration, _ indicator: IndicatorManager) async throws {
        let (url, features, server): (URL, ServerFeatures, DemoServer?)
        if let baseURL {
            (url, features, server) = (baseURL, try await ServerFeatures.of(baseURL), nil)
        } else {
            // libcurl also sends requests for this machine to the proxy of `http_proxy`, which cannot reach it.
            for name in ["no_proxy", "NO_PROXY"] { setenv(name, "127.0.0.1", 1) }
            let own = try await DemoServer()
            (url, features, server) = (own.url, .all, own)
        }
        let demo = DemoRun(plan: DemoPlan(server: url, features: features), indicator: indicator)
        let backends = await BackendAvailability.all(configuration.backends)
        let printer = RunPrinter(style: .standardOutput(), plan: demo.plan)
        if json {
            let result = await demo.run()
            try Output.standard.write("\(result.report(backends, omissions: features.omissions))\n")
            for problem in result.verdict.differences + result.problems {
                try? Output.error.write("indicator-demo: \(problem)\n")
            }
            if !result.isSuccess { throw ExitCode.failure }
        } else {
            try printer.printHeading(configuration, backends, server: url, omissions: features.omissions)
            async let running = demo.run()
            for await moment in demo.recorder.stream { try printer.printProgress(moment) }
            let result = await running
            try printer.printResult(result, backends)
            if !result.isSuccess { throw ExitCode.failure }
        }
        await server?.stop()
    }
}
