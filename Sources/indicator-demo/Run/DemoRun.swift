import Foundation
import IndicatorCore
import IndicatorThreads

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
    private let slack: Duration

    /// Creates a run.
    ///
    /// - Parameters:
    ///   - plan: the requests.
    ///   - indicator: the indicator that shows them, with its backends.
    ///   - slack: the additional tolerance for the times at which the indicator is shown and hidden.
    init(plan: DemoPlan, indicator: IndicatorManager, slack: Duration) {
        self.slack = slack
        self.plan = plan
        self.indicator = indicator
        delays = indicator.delays
        isEnabled = indicator.isEnabled
        client = RequestClient(indicator: indicator, recorder: recorder)
        indicator.addBackend(VisibilityRecorder(recorder: recorder))
    }

    /// Makes the requests, waits for the last change of the indicator, and shuts it down.
    func run() async -> Result {
        let probe = LatenessProbe(recorder: recorder)
        let measuring = Task(priority: .high) { await probe.run() }
        defer { measuring.cancel() }
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
            verdict: RunVerdict(
                observed: observed,
                expected: expected,
                slack: slack,
                lateness: probe.lateness(from:to:)
            ),
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

/// Measures how late this machine wakes sleeping threads.
///
/// A busy machine cannot show the indicator on time: when a hundred compilers share two cores, a thread sometimes wakes
/// 0.1 s late. The verdict does not count that delay as an error of the indicator.
final class LatenessProbe: Sendable {
    private struct Delay: Sendable {
        var from: Duration
        var to: Duration
    }

    private static let interval = Duration.milliseconds(20)

    private let delays = Locked<[Delay]>([])
    private let recorder: RunRecorder

    init(recorder: RunRecorder) {
        self.recorder = recorder
    }

    /// Measures until the task is cancelled.
    func run() async {
        while !Task.isCancelled {
            let due = recorder.now + Self.interval
            // The same path as a change of the indicator: from the timer thread to a task.
            await withCheckedContinuation { continuation in
                _ = ServiceThread.shared.call(at: ServiceThread.now + Self.interval.wholeNanoseconds) {
                    continuation.resume()
                }
            }
            let now = recorder.now
            guard now - due > .milliseconds(5) else { continue }
            delays.withLock { $0.append(Delay(from: due, to: now)) }
        }
    }

    /// The maximum delay of the machine between the time at which a change was due and that at which it was made.
    func lateness(from start: Duration, to end: Duration) -> Duration {
        let (start, end) = (min(start, end) - Self.interval, max(start, end) + Self.interval)
        return delays.withLock { delays in
            delays.filter { $0.from <= end && $0.to >= start }.map { $0.to - $0.from }.max() ?? .zero
        }
    }
}

/// A backend that records when the indicator is shown and hidden, for the verdict.
final class VisibilityRecorder: IndicatorBackend {
    static let recorderName = "indicator-demo.recorder"

    let name = recorderName
    let delivery = BackendDelivery(includesHidden: true)
    private let recorder: RunRecorder
    private let isShown = Locked(false)

    init(recorder: RunRecorder) {
        self.recorder = recorder
    }

    func start() async throws {}

    func update(_ snapshot: IndicatorSnapshot) async throws {
        for snapshot in snapshot.withTransitions {
            let wasShown = isShown.withLock { exchange(&$0, with: snapshot.isVisible) }
            if wasShown != snapshot.isVisible { recorder.note(.visibility(snapshot.isVisible), at: recorder.now) }
        }
    }

    func stop() async {}
}
