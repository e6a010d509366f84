import ArgumentParser
import Dispatch
import Foundation
import IndicatorBackends
import IndicatorCommands
import IndicatorCore

/// `indicator-demo run`: real requests, shown by the indicator.
struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Make real HTTP requests and show the indicator on every available backend.",
        discussion: """
            Makes the requests with NetworkKit to a server inside the demo: some are too short to show, one is long, \
            some overlap, two have a short gap between them, one is not found, one is refused, one is cancelled, one \
            is suspended and resumed, one is an upload. Then it loads an app store's feeds concurrently, the icons \
            from the server and again from the cache, and posts JSON and a picture. Watch the terminal's title and \
            the bars. The timeline at the end shows when each request ran and when the indicator was shown.

            --base-url selects another server, such as one started with 'serve', or httpbin, which has no store. \
            Requests that it does not support are left out.

            The backends are those of the config file; see 'indicator-demo check-config'. Without a config file, \
            the terminal's title, a notification, D-Bus, the log and what else fits are used, as far as they can run \
            here; the log is $XDG_STATE_HOME/indicator-demo/indicator.log.

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
        help: ArgumentHelp("Seconds of work before the indicator is shown.", valueName: "seconds")
    )
    var startDelay: Seconds?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Seconds without work before it is hidden.", valueName: "seconds")
    )
    var completionDelay: Seconds?

    @Option(
        name: .customLong("base-url"),
        help: ArgumentHelp(
            "Use another server, such as one started with 'serve', or httpbin.",
            valueName: "url"
        )
    )
    var baseURL: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Additional tolerance in seconds, beyond 0.1, for a busy machine.",
            valueName: "seconds"
        )
    )
    var slack = 0.0

    @Flag(help: "Only print one JSON object at the end.")
    var json = false

    func validate() throws {
        _ = try overrides()
        _ = try serverURL()
        guard (0...3600).contains(slack) else {
            throw ValidationError("--slack is '\(slack)'; it must be a number of seconds from 0 to 3600")
        }
    }

    func run() async throws {
        // Otherwise a closed pipe would end the demo without restoring the terminal's title.
        signal(SIGPIPE, SIG_IGN)
        let signals = Signals.caught()
        var setup = try await ProgramSetup.forCommand(
            ProgramSetup.Options(
                config: config,
                backends: backends,
                delays: try overrides(),
                // The demo's requests are announced by these notifications.
                observe: [TaskNotifications.indicator.name]
            )
        )
        let indicator = setup.makeIndicator()
        guard indicator.configurationProblems.isEmpty else {
            let problems = indicator.configurationProblems
            await indicator.shutdown()
            throw ProgramSetup.status(for: problems)
        }
        setup.backends = await setup.backends(of: indicator)
        let recorder = RunRecorder()
        let watching = Task {
            for await signal in signals {
                // First, so that the effects of the shutdown are not recorded as part of the run.
                recorder.close()
                await indicator.shutdown()
                Signals.end(by: signal)
            }
        }
        defer { watching.cancel() }
        try await Output.guarding {
            do {
                try await run(setup, indicator: indicator, recorder: recorder)
            } catch {
                await indicator.shutdown()
                throw error
            }
        }
    }

    private func run(_ setup: ProgramSetup, indicator: IndicatorManager, recorder: RunRecorder) async throws {
        let site = try await Site(baseURL: try serverURL())
        let plan = DemoPlan(server: site.url, features: site.features)
        let style = TerminalStyle.standardOutput()
        let printer = RunPrinter(style: style, output: .standard)
        let omissions = site.features.omissions
        if !json {
            try printer.printHeading(
                setup,
                serverURL: site.url.absoluteString,
                omissions: omissions,
                delays: indicator.delays
            )
        }
        let demo = DemoRun(plan: plan, indicator: indicator, recorder: recorder, slack: .seconds(slack))
        let result = try await result(of: demo, plan: plan, style: style)
        await site.stop()
        if json {
            try Output.standard.write(RunReport(result, setup: setup, omissions: omissions).json() + "\n")
            for problem in result.verdict.differences + result.problems {
                try? Output.error.write("indicator-demo: \(problem)\n")
            }
        } else {
            try printer.printResult(result, setup: setup, plan: plan)
        }
        guard result.isSuccess else { throw ExitCode.failure }
    }

    private func result(of demo: DemoRun, plan: DemoPlan, style: TerminalStyle) async throws -> DemoRun.Result {
        guard !json else { return await demo.run() }
        let display = ProgressDisplay(plan: plan, recorder: demo.recorder, style: style, output: .standard)
        async let result = demo.run()
        try await display.follow()
        return await result
    }

    private func overrides() throws -> DelayOverrides {
        try DelayOverrides(startDelay: startDelay, completionDelay: completionDelay)
    }

    private func serverURL() throws -> URL? {
        guard let baseURL else { return nil }
        guard let url = URL(string: baseURL), ["http", "https"].contains(url.scheme?.lowercased()), url.host != nil
        else {
            throw ValidationError("--base-url is '\(baseURL)'; it must be a URL such as http://127.0.0.1:8080")
        }
        return url
    }
}

extension RunReport {
    /// The report of a run.
    init(_ result: DemoRun.Result, setup: ProgramSetup, omissions: [String]) {
        self.omissions = omissions
        problems = result.problems
        requests = Requests(result.moments)
        visibility = result.observed.map(Change.init)
        expectedVisibility = result.expected.map(Change.init)
        backends = setup.backends.map { backend in
            guard let status = result.statuses.first(where: { $0.name == backend.name }) else {
                return Backend(
                    name: backend.name,
                    kind: backend.kind,
                    state: "unavailable",
                    updates: 0,
                    error: backend.reason
                )
            }
            return Backend(
                name: backend.name,
                kind: backend.kind,
                state: status.state.name,
                updates: status.updatesDelivered,
                error: status.lastError ?? backend.reason
            )
        }
    }
}

/// The server of a run: the demo's own, or another.
struct Site: Sendable {
    let url: URL
    /// The features of the server.
    let features: ServerFeatures
    private let server: DemoServer?

    /// Probes a server, or starts one. On failure, prints the error and ends the command.
    ///
    /// - Parameter baseURL: the server; `nil` for the demo's own.
    init(baseURL: URL?) async throws {
        do {
            if let baseURL {
                url = baseURL
                features = try await ServerFeatures.of(baseURL)
                server = nil
            } else {
                Self.bypassProxy()
                let server = try await DemoServer()
                url = server.url
                features = .all
                self.server = server
            }
        } catch let error as any CustomStringConvertible & Error {
            try? Output.error.write("indicator-demo: error: \(error)\n")
            throw ExitCode.failure
        }
    }

    /// Stops the server, if it is the demo's own.
    func stop() async {
        await server?.stop()
    }

    /// libcurl also sends requests for this machine to the proxy of `http_proxy`, which cannot reach it.
    private static func bypassProxy() {
        setenv("no_proxy", "127.0.0.1", 1)
        setenv("NO_PROXY", "127.0.0.1", 1)
    }
}

/// The signals that request termination: SIGINT and SIGTERM.
enum Signals {
    /// Catches the signals until the process ends, and yields their numbers.
    static func caught() -> AsyncStream<Int32> {
        AsyncStream { continuation in
            for number in [SIGINT, SIGTERM] {
                let source = DispatchSource.makeSignalSource(signal: number)
                // The handler retains the source, which would otherwise be deallocated here.
                source.setEventHandler { _ = (source, continuation.yield(number)) }
                source.activate()
            }
        }
    }

    /// Ends the process by a signal, so that a shell sees the reason.
    static func end(by number: Int32) -> Never {
        signal(number, SIG_DFL)
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, number)
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
        raise(number)
        _exit(128 + number)
    }
}
