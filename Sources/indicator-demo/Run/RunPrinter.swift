import Foundation
import IndicatorBackends
import IndicatorCommands
import IndicatorCore
import NetworkKit

/// Prints the heading, the progress and the result of a run.
struct RunPrinter: Sendable {
    let style: TerminalStyle
    let plan: DemoPlan

    /// Prints the configuration, delays, server and backends.
    func printHeading(
        _ configuration: IndicatorConfiguration,
        _ backends: [BackendAvailability],
        server: URL,
        omissions: [String]
    ) throws {
        let delays = configuration.delays
        let start = "shown after \(delays.startDelay.secondsText) s of work"
        let end = "hidden after \(delays.completionDelay.secondsText) s without"
        let rows =
            [
                ("config", configuration.file ?? "none found"),
                ("delays", configuration.isEnabled ? "\(start), \(end)" : "the indicator is disabled"),
                ("server", server.absoluteString),
            ] + omissions.map { ("left out", $0) }
        let lines = rows.map { style.look.styled(TextWidth.padded($0, to: 10), .faint) + QuotedText.escaped($1) + "\n" }
        let table = BackendTable(style: style).text(of: backends)
        try Output.standard.write("indicator-demo \(Program.version)\n\n\(lines.joined())\n\(table)\n")
    }

    // MARK: - Progress

    /// Prints a line if a step has ended or the indicator was shown or hidden. On a terminal, it is above the bars of
    /// the requests in progress.
    func printProgress(_ moment: RunRecorder.Moment) throws {
        func title(_ row: Int) -> String { plan.steps[row].title }
        let text: String? =
            switch moment.event {
            case .request(_, .began), .request(_, .ended): nil
            case .request(let id, .suspended): "  \(title(id.row)) is suspended"
            case .request(let id, .resumed): "  \(title(id.row)) is resumed"
            case .result(let row, let result):
                "\(result.outcomes == [.cancelled] ? "-" : mark(result.problem == nil)) \(title(row)): \(result.text)"
            case .visibility(true):
                style.look.styled(style.look.usesUnicode ? "● indicator shown" : "# indicator shown", .accent)
            case .visibility(false):
                style.look.styled(style.look.usesUnicode ? "○ indicator hidden" : ". indicator hidden", .accent)
            }
        guard let text else { return }
        let time = moment.time.hundredthsText
        let line = String(repeating: " ", count: max(8 - time.count, 0)) + "\(time)  \(text)"
        if style.isTerminal {
            print(line, to: &TerminalOutput.shared)
        } else {
            try Output.standard.write(line + "\n")
        }
    }

    private func mark(_ isGood: Bool) -> String {
        isGood
            ? style.look.styled(style.look.usesUnicode ? "✓" : "+", .success)
            : style.look.styled(style.look.usesUnicode ? "✗" : "x", .warning)
    }

    // MARK: - Result

    /// Prints the timeline, the statuses of the backends that can run here, and the verdict.
    func printResult(_ result: DemoRun.Result, _ backends: [BackendAvailability]) throws {
        let timeline = TimelineRenderer(style: style).render(Timeline(plan: plan, moments: result.moments))
        let statuses = result.statuses.filter { status in
            backends.contains { $0.name == status.name && $0.reason == nil }
        }
        let lines = statuses.map { status in
            let state = status.state == .running ? "" : ", \(status.state)"
            let error = status.lastError.map { state.contains($0) ? "" : ", last error: \($0)" } ?? ""
            return "\(status.name): \(status.updatesDelivered) updates\(state)\(error)"
        }
        let text = [""] + timeline + [""] + lines + [verdict(result)] + problems(result.problems)
        try Output.standard.write(text.map { $0 + "\n" }.joined())
    }

    private func problems(_ problems: [String]) -> [String] {
        guard !problems.isEmpty else { return ["All responses were as expected."] }
        return [style.look.styled("Some responses were not as expected:", .failure)] + problems.map { "  \($0)" }
    }

    private func verdict(_ result: DemoRun.Result) -> String {
        guard result.verdict.isAsExpected else {
            let differences = result.verdict.differences.map { "\n  \($0)" }.joined()
            return style.look.styled("The indicator was not shown and hidden as expected:", .failure) + differences
        }
        let milliseconds = Int((result.verdict.largestDeviation / .milliseconds(1)).rounded(.up))
        let count = result.observed.count { $0.isVisible }
        guard count > 0 else { return "The indicator was never shown, as expected." }
        let times = count == 1 ? "once" : count == 2 ? "twice" : "\(count) times"
        let text = "The indicator was shown \(times), as expected (deviation at most \(milliseconds) ms)."
        return style.look.styled(text, .success)
    }
}

extension Timeline {
    /// Creates the timeline of a run: one row per step, in the order of the plan.
    init(plan: DemoPlan, moments: [RunRecorder.Moment]) {
        var rows = plan.steps.map { Row($0.title) }
        var indicator = Row("indicator")
        for moment in moments {
            switch moment.event {
            case .request(let id, .began), .request(let id, .resumed): rows[id.row].change(by: 1, at: moment.time)
            case .request(let id, .suspended), .request(let id, .ended): rows[id.row].change(by: -1, at: moment.time)
            case .result(let row, let result):
                rows[row].note = result.problem == nil ? result.summary : "wrong"
                rows[row].isGood = result.problem == nil
            case .visibility(let isVisible): indicator.change(by: isVisible ? 1 : -1, at: moment.time)
            }
        }
        let end = moments.last?.time ?? .zero
        indicator.end(at: end)
        self.init(rows: rows, indicator: indicator, end: end / .seconds(1))
    }
}

extension DemoRun.Result {
    /// The output of `run --json`.
    ///
    /// - Parameter omissions: the parts that were left out because the server does not support them.
    func report(_ backends: [BackendAvailability], omissions: [String]) -> JSON {
        let outcomes = moments.flatMap { moment -> [RequestOutcome] in
            if case .result(_, let result) = moment.event { result.outcomes } else { [] }
        }
        func count(_ condition: (RequestOutcome) -> Bool) -> JSON { JSON(outcomes.count(where: condition)) }
        func list(_ changes: [VisibilityChange]) -> JSON {
            .array(
                changes.map { change in
                    let seconds = (change.instant / .seconds(1) * 1e6).rounded() / 1e6
                    return ["atSeconds": JSON(seconds), "visible": .bool(change.isVisible)]
                }
            )
        }
        let states = backends.map { backend -> JSON in
            let status = statuses.first { $0.name == backend.name }
            let error = status?.lastError ?? backend.reason
            return [
                "name": JSON(backend.name), "kind": JSON(backend.kind),
                "state": JSON(status?.state.name ?? "unavailable"), "updates": JSON(status?.updatesDelivered ?? 0),
                "error": error.map { JSON($0) } ?? .null,
            ]
        }
        let requests: JSON = [
            "total": JSON(outcomes.count), "succeeded": count(\.isSuccess), "cancelled": count { $0 == .cancelled },
            "failed": count { !$0.isSuccess && $0 != .cancelled }, "fromCache": count(\.isFromCache),
        ]
        return [
            "requests": requests, "visibility": list(observed), "expectedVisibility": list(expected),
            "backends": .array(states), "problems": .array(problems.map { JSON($0) }),
            "omissions": .array(omissions.map { JSON($0) }),
        ]
    }
}
