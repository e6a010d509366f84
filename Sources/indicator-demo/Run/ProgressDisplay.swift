import Foundation
import IndicatorCommands

/// Prints the progress of a run: a line whenever a step ends or the indicator is shown or hidden, and on a terminal a
/// status line with the requests in progress.
actor ProgressDisplay {
    private static let interval = Duration.milliseconds(200)

    private let titles: [String]
    private let style: TerminalStyle
    private let output: Output
    private let recorder: RunRecorder
    private var inProgress: [RequestID] = []
    private var isVisible = false
    private var isStatusLineShown = false
    private var isOver = false

    init(plan: DemoPlan, recorder: RunRecorder, style: TerminalStyle, output: Output) {
        titles = plan.titles
        self.recorder = recorder
        self.style = style
        self.output = output
    }

    /// Prints until the run is over.
    func follow() async throws {
        try await withThrowingTaskGroup { group in
            if style.isTerminal { group.addTask { try await self.refreshStatusLine() } }
            group.addTask {
                for await moment in self.recorder.stream { try await self.show(moment) }
                try await self.end()
            }
            for try await _ in group { group.cancelAll() }
        }
    }

    private func refreshStatusLine() async throws {
        while !isOver {
            try showStatusLine()
            try? await Task.sleep(for: Self.interval)
        }
    }

    private func end() throws {
        isOver = true
        try eraseStatusLine()
    }

    private func show(_ moment: RunRecorder.Moment) throws {
        switch moment.event {
        case .request(let id, .began):
            inProgress.append(id)
        case .request(let id, .suspended):
            inProgress.removeAll { $0 == id }
            try line(at: moment.time, " ", "\(titles[id.row]) is suspended")
        case .request(let id, .resumed):
            inProgress.append(id)
            try line(at: moment.time, " ", "\(titles[id.row]) is resumed")
        case .request(let id, .ended):
            inProgress.removeAll { $0 == id }
        case .result(let row, let result):
            let mark = result.outcomes == [.cancelled] ? "-" : result.problem == nil ? tick : cross
            try line(at: moment.time, mark, "\(titles[row]): \(result.text)")
        case .visibility(let isVisible):
            self.isVisible = isVisible
            let text = isVisible ? "indicator shown" : "indicator hidden"
            try line(at: moment.time, style.styled(light(isVisible), .cyan), style.styled(text, .cyan))
        case .enabled(let isEnabled):
            try line(at: moment.time, " ", "indicator \(isEnabled ? "enabled" : "disabled")")
        }
        if style.isTerminal { try showStatusLine() }
    }

    private func line(at time: Duration, _ mark: String, _ text: String) throws {
        try eraseStatusLine()
        try output.write("\(Self.column(time))  \(mark) \(text)\n")
    }

    private func showStatusLine() throws {
        guard !isOver else { return }
        var rows: [Int] = []
        for id in inProgress where !rows.contains(id.row) { rows.append(id.row) }
        let names = rows.map { titles[$0] }.joined(separator: ", ")
        let text = "\(Self.column(recorder.now))  \(light(isVisible)) \(names.isEmpty ? "nothing in progress" : names)"
        let fitted = TextWidth.fitted(text, to: max(style.width - 1, 1), usesUnicode: style.usesUnicode)
        // `EL` (ECMA-48): erases the rest of the previous line.
        try output.write("\r\(style.styled(fitted, .faint))\u{1B}[K")
        isStatusLineShown = true
    }

    private func eraseStatusLine() throws {
        guard isStatusLineShown else { return }
        isStatusLineShown = false
        try output.write("\r\u{1B}[K")
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
