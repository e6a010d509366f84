import Foundation
import IndicatorCore

/// A run of the demo: the requests, the indicator that follows them, and the record of both.
final class DemoRun: Sendable {
    /// What came of a run.
    struct Result: Sendable {
        var moments: [RunRecorder.Moment]
        var observed: [VisibilityChange]
        var expected: [VisibilityChange]
        var verdict: RunVerdict
        var statuses: [BackendStatus]
    }

    let recorder: RunRecorder
    private let plan: [PlannedRequest]
    private let indicator: IndicatorManager
    private let client: RequestClient
    private let delays: IndicatorDelays
    private let isEnabled: Bool

    /// Makes a run.
    ///
    /// - Parameters:
    ///   - plan: the requests.
    ///   - baseURL: the server.
    ///   - indicator: the indicator that is to show them, with its surfaces.
    ///   - recorder: what notes all that happens.
    init(plan: [PlannedRequest], baseURL: URL, indicator: IndicatorManager, recorder: RunRecorder) {
        self.recorder = recorder
        self.plan = plan
        self.indicator = indicator
        delays = indicator.delays
        isEnabled = indicator.isEnabled
        client = RequestClient(baseURL: baseURL, indicator: indicator, recorder: recorder)
        indicator.addBackend(VisibilityRecorder(recorder: recorder))
    }

    /// Makes the requests, waits until the indicator has followed, and shuts it down.
    func run() async -> Result {
        let probe = LatenessProbe(recorder: recorder)
        let measuring = Task(priority: .high) { await probe.run() }
        defer { measuring.cancel() }
        await withTaskCancellationHandler {
            await makeRequests()
            await settle()
        } onCancel: {
            client.invalidate()
        }
        recorder.close()
        let statuses = await shutDown()
        let observed = recorder.observedVisibility()
        let expected = recorder.expectedVisibility(delays: delays, isEnabled: isEnabled)
        return Result(
            moments: recorder.moments,
            observed: observed,
            expected: expected,
            verdict: RunVerdict(observed: observed, expected: expected, lateness: probe.lateness(from:to:)),
            statuses: statuses
        )
    }

    private func makeRequests() async {
        let origin = ContinuousClock.now - recorder.now
        await withTaskGroup { group in
            for chain in chains() {
                group.addTask { [client] in
                    for (number, request) in chain {
                        let start = request.followsPrevious ? ContinuousClock.now : origin
                        try? await ContinuousClock().sleep(until: start + request.delay)
                        guard !Task.isCancelled else { return }
                        _ = await client.perform(request, number: number)
                    }
                }
            }
        }
    }

    /// The requests with their numbers, each with those that wait for it.
    private func chains() -> [[(Int, PlannedRequest)]] {
        var chains: [[(Int, PlannedRequest)]] = []
        for (number, request) in plan.enumerated() {
            if request.followsPrevious, !chains.isEmpty {
                chains[chains.count - 1].append((number, request))
            } else {
                chains.append([(number, request)])
            }
        }
        return chains
    }

    /// Waits until the surfaces have seen the last change that there is to see, or should have.
    private func settle() async {
        let expected = recorder.expectedVisibility(delays: delays, isEnabled: isEnabled)
        let last = max(expected.last?.time ?? .zero, recorder.now)
        while recorder.now < last + .seconds(2), !Task.isCancelled {
            let isHidden = recorder.observedVisibility().last?.isVisible != true && !indicator.isVisible
            if isHidden, recorder.now >= expected.last?.time ?? .zero { return }
            try? await Task.sleep(for: .milliseconds(10))
        }
    }

    /// Shuts the indicator down, and tells what the surfaces were doing until then and all that they were shown.
    private func shutDown() async -> [BackendStatus] {
        let states = indicator.backendStatuses.map(\.state)
        await indicator.shutdown()
        client.invalidate()
        return zip(indicator.backendStatuses, states).map { status, state in
            var status = status
            status.state = state
            return status
        }.filter { $0.name != VisibilityRecorder.recorderName }
    }
}
