/// What came of a step of a run.
struct StepResult: Sendable, Hashable {
    /// How its requests came out, in the order in which they ended.
    var outcomes: [RequestOutcome]
    /// What came back that should not have.
    var problem: String?

    /// In a word, for the timeline: `200`, `from cache (20)`.
    var note: String {
        guard problem == nil else { return outcomes.count == 1 ? "\(outcomes[0].note), wrong" : "wrong" }
        return summary(of: outcomes.map(\.note)) { "\($0) (\($1))" }
    }

    /// In full, for the progress: `200 OK`, `20 times from cache`.
    var text: String {
        let text = summary(of: outcomes.map(\.text)) { "\($1) times \($0)" }
        // A step that did not come out as planned has a problem.
        guard let problem else { return isSuccess || outcomes.contains(.cancelled) ? text : "\(text), as planned" }
        return text.isEmpty ? problem : "\(text): \(problem)"
    }

    /// Whether the server answered with what was asked for.
    var isSuccess: Bool { problem == nil && outcomes.allSatisfy(\.isSuccess) }

    /// Equal texts that follow each other, told once.
    private func summary(of texts: [String], counted: (String, Int) -> String) -> String {
        var runs: [(text: String, count: Int)] = []
        for text in texts {
            if runs.last?.text == text { runs[runs.count - 1].count += 1 } else { runs.append((text, 1)) }
        }
        return runs.map { $0.count == 1 ? $0.text : counted($0.text, $0.count) }.joined(separator: ", ")
    }
}
