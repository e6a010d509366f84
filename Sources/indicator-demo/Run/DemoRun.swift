import Foundation
import IndicatorCore

/// A run of the demo: the requests, the indicator, and the record of both.
final class DemoRun: Sendable {
    /// The result of a run.
    struct Result: Sendable {
        var moments: [RunRecorder.Moment]
        var observed: [VisibilityChange]
        var expected: [VisibilityChange]
        var verdict: RunVerdict
        var statuses: [BackendStatus]
        /// The unexpected responses: titles of steps, and what was wrong.
        var problems: [String]

        /// Whether everything was as expected.
        var isSuccess: Bool { verdict.isAsExpected && problems.isEmpty }
    }

    let recorder = RunRecorder()
    let plan: DemoPlan
    private let indicator: IndicatorManager
    private let client: RequestClient
    private let delays: IndicatorDelays
    private let isEnabled: Bool

    /// Creates a run.
    ///
    /// - Parameters:
    ///   - plan: the requests.
    ///   - indicator: the indicator that shows them, with its backends.
    init(plan: DemoPlan, indicator: IndicatorManager) {
        self.plan = plan
        self.indicator = indicator
        delays = indicator.delays
        isEnabled = indicator.isEnabled
        client = RequestClient(indicator: indicator, recorder: recorder)
        indicator.addBackend(VisibilityRecorder(recorder: recorder))
    }

    /// Makes the requests, waits for the last change of the indicator, and shuts it down.
    func run() async -> Result {
        await makeRequests()
        await settle()
        recorder.close()
        let statuses = await shutDown()
        let observed = recorder.observedVisibility()
        let expected = recorder.expectedVisibility(delays: delays, isEnabled: isEnabled)
        return Result(
            moments: recorder.moments,
            observed: observed,
            expected: expected,
            verdict: RunVerdict(observed: observed, expected: expected),
            statuses: statuses,
            problems: problems()
        )
    }

    private func makeRequests() async {
        var rows = 0
        for act in plan.acts {
            let begin = ContinuousClock.now
            await withTaskGroup { group in
                for chain in act.chains {
                    let steps = zip(rows..., chain).map { ($0, $1) }
                    rows += chain.count
                    group.addTask { await self.perform(steps, from: begin) }
                }
            }
        }
    }

    private func perform(_ chain: [(row: Int, step: PlannedStep)], from begin: ContinuousClock.Instant) async {
        var start = begin
        for (row, step) in chain {
            try? await ContinuousClock().sleep(until: start + step.delay)
            guard !Task.isCancelled else { return }
            let context = StepContext(client: client, row: row, title: step.title)
            var problem: String?
            do {
                try await step.perform(context)
            } catch {
                problem = "\(error)"
            }
            let result = StepResult(outcomes: context.outcomes, problem: problem)
            recorder.note(.result(row: row, result), at: recorder.now)
            start = ContinuousClock.now
        }
    }

    private func problems() -> [String] {
        let titles = plan.steps.map(\.title)
        return recorder.moments.compactMap { moment in
            guard case .result(let row, let result) = moment.event, let problem = result.problem else { return nil }
            return "\(titles[row]): \(problem)"
        }
    }

    /// Waits until the backends have received the last expected change, at most 2 s longer.
    private func settle() async {
        let expected = recorder.expectedVisibility(delays: delays, isEnabled: isEnabled)
        let last = max(expected.last?.instant ?? .zero, recorder.now)
        while recorder.now < last + .seconds(2), !Task.isCancelled {
            let isHidden = recorder.observedVisibility().last?.isVisible != true && !indicator.isVisible
            if isHidden, recorder.now >= expected.last?.instant ?? .zero { return }
            try? await Task.sleep(for: .milliseconds(10))
        }
    }

    /// Shuts the indicator down. Returns the statuses of the backends, with their states before that.
    private func shutDown() async -> [BackendStatus] {
        let states = indicator.backendStatuses.map(\.state)
        await indicator.shutdown()
        return zip(indicator.backendStatuses, states).map { status, state in
            var status = status
            status.state = state
            return status
        }.filter { $0.name != VisibilityRecorder.recorderName }
    }
}

/// A backend that records when the indicator is shown and hidden, for the verdict.
final class VisibilityRecorder: IndicatorBackend {
    static let recorderName = "indicator-demo.recorder"

    let name = recorderName
    let delivery = BackendDelivery(includesHidden: true)
    private let recorder: RunRecorder

    init(recorder: RunRecorder) {
        self.recorder = recorder
    }

    func show(_ updates: IndicatorUpdates) async {
        var isShown = false
        for await update in updates {
            for isVisible in update.steps.map(\.snapshot.isVisible) where isVisible != isShown {
                isShown = isVisible
                recorder.note(.visibility(isVisible), at: recorder.now)
            }
        }
    }
}
