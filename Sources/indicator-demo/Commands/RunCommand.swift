import ArgumentParser
import Foundation
import IndicatorBackends
import IndicatorCommands
import IndicatorCore

/// `indicator-demo run`: real requests, and the indicator that follows them.
struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Make real HTTP requests and show the indicator on every surface that can.",
        discussion: """
            The requests go through NetworkKit to a server that runs inside the demo: some are too short to show, one \
            is long, some overlap, two have a short gap between them, one is not found, one is refused, one is \
            cancelled, one is suspended and resumed, one is an upload. Then an app store's feeds are fetched side by \
            side, its icons from the server and again from the cache, and JSON and a picture are posted. Watch the \
            terminal's title; the timeline at the end shows when each request ran and when the indicator was shown.

            With --base-url another server answers, as far as it can: one that 'serve' runs, or httpbin, which has no \
            store.

            The surfaces are those of the config file, see 'indicator-demo check-config'. Without a config file they \
            are all that can run here, and the log goes to $XDG_STATE_HOME/indicator-demo/indicator.log.

            The status is 1 when the indicator was not shown and hidden when the rules say that it should have been, \
            and when what a server sent back is not what it was sent.

            EXAMPLES
              indicator-demo
              indicator-demo run --backend terminalTitle --start-delay 0.3
              indicator-demo run --json | jq .visibility
            """
    )

    @Option(help: ArgumentHelp("The config file to use, whatever is at the usual places.", valueName: "file"))
    var config: String?

    @Option(
        name: .customLong("backend"),
        help: ArgumentHelp(
            "A surface to use instead of those of the config file. May be given several times.",
            valueName: "name"
        )
    )
    var backends: [String] = []

    // Unconditional: "-1" is a number that is wrong, and not another option.
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Seconds of work before the indicator is shown.", valueName: "seconds")
    )
    var startDelay: Seconds?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Seconds of no work before it is hidden.", valueName: "seconds")
    )
    var completionDelay: Seconds?

    @Option(
        name: .customLong("base-url"),
        help: ArgumentHelp(
            "Use this server instead, such as one that 'serve' runs elsewhere, or httpbin.",
            valueName: "url"
        )
    )
    var baseURL: String?

    @Option(
        help: ArgumentHelp(
            "Seconds, beyond 0.1, that the indicator may be early or late by; more on a busy machine.",
            valueName: "seconds"
        )
    )
    var slack = 0.0

    @Flag(help: "Print one JSON object, at the end, and nothing else.")
    var json = false

    func validate() throws {
        _ = try overrides()
        _ = try serverURL()
        guard (0...3600).contains(slack) else {
            throw ValidationError("--slack is '\(slack)'; it must be a number of seconds from 0 to 3600")
        }
    }

    func run() async throws {
        // A reader of the output that goes away must not leave the terminal with the demo's title.
        signal(SIGPIPE, SIG_IGN)
        let signals = Signals.caught()
        var setup = try await ProgramSetup.forCommand(
            ProgramSetup.Options(
                config: config,
                backends: backends,
                delays: try overrides(),
                // The requests are announced in this way, whatever else the file has observed.
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
                // First, so that what the shutdown does to the indicator is not told as if it were part of the run.
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
            throw ValidationError("--base-url is '\(baseURL)'; it must be an address such as http://127.0.0.1:8080")
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
                    dropped: 0,
                    error: backend.reason
                )
            }
            return Backend(
                name: backend.name,
                kind: backend.kind,
                state: status.state.name,
                updates: status.updatesDelivered,
                dropped: status.updatesDropped,
                error: status.lastError ?? backend.reason
            )
        }
    }
}
