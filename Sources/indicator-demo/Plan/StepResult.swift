/// The result of a step.
struct StepResult: Sendable, Hashable {
    /// The outcomes of its requests, in the order of their ends.
    var outcomes: [RequestOutcome]
    /// The unexpected response, if there was one.
    var problem: String?

    /// Short, for the timeline: `200`, `from cache (20)`.
    var note: String {
        guard problem == nil else { return outcomes.count == 1 ? "\(outcomes[0].note), wrong" : "wrong" }
        return summary(of: outcomes.map(\.note)) { "\($0) (\($1))" }
    }

    /// Complete, for the progress: `200 OK`, `20 times from cache`.
    var text: String {
        let text = summary(of: outcomes.map(\.text)) { "\($1) times \($0)" }
        // A failure without a problem is part of the plan.
        guard let problem else { return isSuccess || outcomes.contains(.cancelled) ? text : "\(text), as planned" }
        return text.isEmpty ? problem : "\(text): \(problem)"
    }

    /// Whether all requests were successful.
    var isSuccess: Bool { problem == nil && outcomes.allSatisfy(\.isSuccess) }

    /// Joins texts. Repeated ones are counted.
    private func summary(of texts: [String], counted: (String, Int) -> String) -> String {
        var runs: [(text: String, count: Int)] = []
        for text in texts {
            if runs.last?.text == text { runs[runs.count - 1].count += 1 } else { runs.append((text, 1)) }
        }
        return runs.map { $0.count == 1 ? $0.text : counted($0.text, $0.count) }.joined(separator: ", ")
    }
}
