import IndicatorBackends
import IndicatorCommands

/// Prints the progress of a run: a line whenever a step ends or the indicator is shown or hidden. On a terminal the
/// lines are above the bars of the requests in progress.
struct ProgressDisplay {
    private let titles: [String]
    private let style: TerminalStyle
    private let output: Output
    private let recorder: RunRecorder

    init(plan: DemoPlan, recorder: RunRecorder, style: TerminalStyle, output: Output) {
        titles = plan.titles
        self.recorder = recorder
        self.style = style
        self.output = output
    }

    /// Prints until the run is over.
    func follow() async throws {
        for await moment in recorder.stream { try show(moment) }
    }

    private func show(_ moment: RunRecorder.Moment) throws {
        switch moment.event {
        case .request(_, .began), .request(_, .ended): break
        case .request(let id, .suspended):
            try line(at: moment.time, " ", "\(titles[id.row]) is suspended")
        case .request(let id, .resumed):
            try line(at: moment.time, " ", "\(titles[id.row]) is resumed")
        case .result(let row, let result):
            let mark = result.outcomes == [.cancelled] ? "-" : result.problem == nil ? tick : cross
            try line(at: moment.time, mark, "\(titles[row]): \(result.text)")
        case .visibility(let isVisible):
            let text = isVisible ? "indicator shown" : "indicator hidden"
            try line(at: moment.time, style.styled(light(isVisible), .cyan), style.styled(text, .cyan))
        case .enabled(let isEnabled):
            try line(at: moment.time, " ", "indicator \(isEnabled ? "enabled" : "disabled")")
        }
    }

    private func line(at time: Duration, _ mark: String, _ text: String) throws {
        let line = "\(Self.column(time))  \(mark) \(text)"
        if style.isTerminal {
            print(line, to: &TerminalOutput.shared)
        } else {
            try output.write(line + "\n")
        }
    }

    private var tick: String { style.styled(style.usesUnicode ? "✓" : "+", .green) }
    private var cross: String { style.styled(style.usesUnicode ? "✗" : "x", .yellow) }

    private func light(_ isOn: Bool) -> String {
        switch (isOn, style.usesUnicode) {
        case (true, true): "●"
        case (false, true): "○"
        case (true, false): "#"
        case (false, false): "."
        }
    }

    private static func column(_ time: Duration) -> String {
        let text = time.hundredthsText
        return String(repeating: " ", count: max(8 - text.count, 0)) + text
    }
}
