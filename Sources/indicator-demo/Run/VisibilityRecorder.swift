import IndicatorCore
import IndicatorThreads

/// A backend that records when the indicator is shown and hidden, for the verdict.
final class VisibilityRecorder: IndicatorBackend {
    static let recorderName = "indicator-demo.recorder"

    let name = recorderName
    let delivery = BackendDelivery(mode: .everyTransition(capacity: 1024), includesHidden: true)
    private let recorder: RunRecorder
    private let latest = Locked<(isVisible: Bool, isEnabled: Bool?)>((false, nil))

    init(recorder: RunRecorder) {
        self.recorder = recorder
    }

    func start() async throws {}

    func update(_ snapshot: IndicatorSnapshot) async throws {
        let time = recorder.now
        let previous = latest.withLock { latest in
            let previous = latest
            latest = (snapshot.isVisible, snapshot.isEnabled)
            return previous
        }
        if let wasEnabled = previous.isEnabled, wasEnabled != snapshot.isEnabled {
            recorder.note(.enabled(snapshot.isEnabled), at: time)
        }
        if previous.isVisible != snapshot.isVisible { recorder.note(.visibility(snapshot.isVisible), at: time) }
    }

    func stop() async {}
}
