import IndicatorBackends
import IndicatorCommands
import IndicatorCore

/// Prints the heading and the result of a run.
struct RunPrinter: Sendable {
    let style: TerminalStyle
    let output: Output

    /// Prints the configuration, delays, backends and server.
    func printHeading(
        _ setup: ProgramSetup,
        serverURL: String,
        omissions: [String],
        delays: IndicatorDelays
    ) throws {
        var lines = ["indicator-demo \(Program.version)", ""]
        let noFile = setup.usesDefaultBackends ? "none found; what can run here and fits" : "none found"
        lines += rows("config", setup.configuration.file ?? noFile)
        var delayText =
            "shown after \(delays.startDelay.secondsText) s of work, "
            + "hidden after \(delays.completionDelay.secondsText) s without"
        let minimum = delays.minimumVisibleTime
        if minimum > .zero { delayText += ", for at least \(minimum.secondsText) s" }
        lines += rows("delays", setup.configuration.isEnabled ? delayText : "the indicator is disabled")
        let nameWidth = setup.backends.map(\.name.count).max() ?? 0
        for (index, backend) in setup.backends.enumerated() {
            lines += backendLines(backend, title: index == 0 ? "backends" : "", nameWidth: nameWidth)
        }
        if setup.backends.isEmpty { lines.append(row("backends", "none")) }
        lines.append(row("server", serverURL))
        lines += omissions.enumerated().flatMap { rows($0 == 0 ? "left out" : "", $1) }
        try output.write(lines.joined(separator: "\n") + "\n\n")
    }

    /// Prints the timeline, the statuses of the backends, and the verdict.
    func printResult(_ result: DemoRun.Result, setup: ProgramSetup, plan: DemoPlan) throws {
        var lines = [""]
        lines += TimelineRenderer(style: style).render(Timeline(plan: plan, moments: result.moments))
        lines.append("")
        for status in result.statuses {
            lines += statusLines(status, setup)
        }
        lines += verdictLines(result)
        try output.write(lines.joined(separator: "\n") + "\n")
    }

    private func backendLines(_ backend: ProgramBackend, title: String, nameWidth: Int) -> [String] {
        let name = backend.name + String(repeating: " ", count: nameWidth - backend.name.count)
        let indent = String(repeating: " ", count: nameWidth + 4)
        let width = style.width - 10 - indent.count
        let mark: String
        var texts = backend.problemLines(width: width, style: style)
        if case .success(let detail) = backend.availability {
            mark = style.styled(style.usesUnicode ? "✓" : "+", .green)
            texts = TextWidth.wrapped(detail ?? "", to: width, splitsWords: style.isTerminal)
        } else {
            mark = style.styled(style.usesUnicode ? "✗" : "-", .yellow)
        }
        return [row(title, "\(mark) \(name)  \(texts[0])")] + texts.dropFirst().map { row("", indent + $0) }
    }

    private func statusLines(_ status: BackendStatus, _ setup: ProgramSetup) -> [String] {
        var text = "\(status.name): \(status.updatesDelivered) updates"
        if status.state != .running {
            let backend = setup.backends.first { $0.name == status.name }
            let isFailing = backend?.updated(by: status).isAvailable == false
            let reason = isFailing ? backend?.updated(by: status).reason : nil
            text += ", unavailable: \(reason ?? status.state.description)"
        } else if let error = status.lastError {
            text += ", last error: \(error)"
        }
        let lines = TextWidth.wrapped(text, to: style.width - 2, splitsWords: style.isTerminal)
        return [lines[0]] + lines.dropFirst().map { "  \($0)" }
    }

    private func verdictLines(_ result: DemoRun.Result) -> [String] {
        indicatorLines(result) + problemLines(result)
    }

    private func problemLines(_ result: DemoRun.Result) -> [String] {
        guard !result.problems.isEmpty else { return ["All responses were as expected."] }
        return [style.styled("Some responses were not as expected:", .red)]
            + result.problems.map { "  \($0)" }
    }

    private func indicatorLines(_ result: DemoRun.Result) -> [String] {
        guard result.verdict.isAsExpected else {
            return [style.styled("The indicator was not shown and hidden as expected:", .red)]
                + result.verdict.differences.map { "  \($0)" }
        }
        let milliseconds = Int((result.verdict.largestDeviation / .milliseconds(1)).rounded(.up))
        let count = result.observed.count { $0.isVisible }
        let times = count == 1 ? "once" : count == 2 ? "twice" : "\(count) times"
        guard count > 0 else { return ["The indicator was never shown, as expected."] }
        let text = "The indicator was shown \(times), as expected (deviation at most \(milliseconds) ms)."
        return [style.styled(text, .green)]
    }

    private func rows(_ title: String, _ text: String) -> [String] {
        TextWidth.wrapped(text, to: style.width - 10, splitsWords: style.isTerminal).enumerated().map { index, line in
            row(index == 0 ? title : "", line)
        }
    }

    private func row(_ title: String, _ text: String) -> String {
        let padded = title + String(repeating: " ", count: max(10 - title.count, 0))
        return style.styled(padded, .faint) + text
    }
}

extension Timeline {
    /// Creates the timeline of a run: one row per step, in the order of the plan.
    init(plan: DemoPlan, moments: [RunRecorder.Moment]) {
        var rows = plan.titles.map { Row(label: $0, spans: []) }
        var open: [RequestID: (start: Double, kind: Kind)] = [:]
        var indicator = SpanRecorder(kind: .shown)
        var end = Duration.zero
        func change(_ id: RequestID, to kind: Kind?, at time: Double) {
            if let (start, kind) = open.removeValue(forKey: id) {
                rows[id.row].spans.append(Span(start: start, end: time, kind: kind))
            }
            open[id] = kind.map { (time, $0) }
        }
        for moment in moments {
            let time = moment.time / .seconds(1)
            end = max(end, moment.time)
            switch moment.event {
            case .request(let id, .began), .request(let id, .resumed): change(id, to: .busy, at: time)
            case .request(let id, .suspended): change(id, to: .suspended, at: time)
            case .request(let id, .ended): change(id, to: nil, at: time)
            case .result(let row, let result):
                rows[row].note = result.note
                rows[row].outcome = result.problem == nil ? .good : .bad
            case .visibility(let isVisible): indicator.change(by: isVisible ? 1 : -1, at: moment.time)
            case .enabled: break
            }
        }
        self.init(rows: rows, indicator: indicator.row("indicator", end: end), end: end / .seconds(1))
    }
}
