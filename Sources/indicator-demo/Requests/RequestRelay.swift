import Foundation
import IndicatorCore
import IndicatorThreads
import IndicatorTracking
import NetworkKit

/// Connects the requests to the indicator: records the requests' notifications, and forwards each once.
///
/// The client posts to the relay's own notification center. The relay announces a request in one of two ways, never
/// both: by the same notification in the center that the indicator observes, or as an activity of the tracker that is
/// attached to the indicator.
final class RequestRelay: Sendable {
    /// How a request is announced to the indicator.
    enum Announcement: Sendable, Hashable {
        /// By the notifications of `TaskNotifications.indicator`.
        case notifications
        /// By the tracker, whose values are the request's steps.
        case steps
    }

    /// The description of a request before it begins.
    struct Request: Sendable {
        var id: RequestID
        var title: String
        var announcement = Announcement.notifications
        /// Whether it has a body that is sent before the response arrives.
        var isUpload = false
    }

    private struct Running: Sendable {
        var request: Request
        /// `nil` unless the request's steps are tracked.
        var activity: ManagedTrackedActivity<RequestStep>?
    }

    /// The request of the current Swift task. The client posts its first notification in that task.
    @TaskLocal static var current: Request?

    /// The center that the client posts to.
    let center = NotificationCenter()
    private let observed: NotificationCenter
    private let recorder: RunRecorder
    /// Drives the indicator for the requests whose steps are tracked.
    private let tracker = ActivityTracker<RequestStep>()
    private let running = Locked<[ObjectIdentifier: Running]>([:])

    /// Creates a relay.
    ///
    /// - Parameters:
    ///   - indicator: the indicator.
    ///   - observed: the center in which the indicator observes `TaskNotifications.indicator`.
    ///   - recorder: records the notifications.
    init(indicator: IndicatorManager, observing observed: NotificationCenter = .default, recorder: RunRecorder) {
        self.observed = observed
        self.recorder = recorder
        tracker.attach(to: indicator, label: { $0.label }, progress: { $0.progress })
        let names: [Notification.Name] = [
            .indicatorTaskDidResume, .indicatorTaskDidProgress, .indicatorTaskDidSuspend, .indicatorTaskDidComplete,
        ]
        for name in names {
            _ = center.addObserver(forName: name, object: nil, queue: nil) { [weak self] in self?.pass($0) }
        }
    }

    /// Reports the progress of a request whose steps are tracked.
    func progressed(_ id: RequestID, to progress: TransferProgress) {
        let entry = running.withLock { $0.values.first { $0.request.id == id } }
        guard let entry, let activity = entry.activity else { return }
        activity.update(RequestStep(title: entry.request.title, phase: .init(progress)))
    }

    /// Forwards a notification.
    ///
    /// Under one lock, so that the record has the same order as the indicator. The observers of that center and of the
    /// tracker never call the relay.
    private func pass(_ notification: Notification) {
        guard let task = notification.object as? NetworkTask else { return }
        let key = ObjectIdentifier(task)
        running.withLock { running in
            switch notification.name {
            case .indicatorTaskDidResume:
                if let entry = running[key] {
                    note(.resumed, of: entry) { observed.post(notification) }
                } else if let request = Self.current {
                    running[key] = begin(request, notification)
                }
            case .indicatorTaskDidSuspend:
                guard let entry = running[key] else { return }
                note(.suspended, of: entry) { observed.post(notification) }
            case .indicatorTaskDidComplete:
                guard let entry = running.removeValue(forKey: key) else { return }
                note(.ended, of: entry) { end(entry, notification) }
            default:
                guard running[key]?.request.announcement == .notifications else { return }
                observed.post(notification)
            }
        }
    }

    private func note(_ step: RunRecorder.Step, of entry: Running, announce: () -> Void) {
        recorder.note(.request(entry.request.id, step), announce: announce)
    }

    private func begin(_ request: Request, _ notification: Notification) -> Running {
        var entry = Running(request: request)
        note(.began, of: entry) {
            switch request.announcement {
            case .notifications:
                observed.post(notification)
            case .steps:
                let phase = request.isUpload ? RequestStep.Phase.sending(fraction: 0) : .awaitingAnswer
                let step = RequestStep(title: request.title, phase: phase)
                entry.activity = ManagedTrackedActivity(step, in: tracker)
            }
        }
        return entry
    }

    private func end(_ entry: Running, _ notification: Notification) {
        switch entry.request.announcement {
        case .notifications: observed.post(notification)
        case .steps: entry.activity?.end()
        }
    }
}

extension RequestStep.Phase {
    /// The phase of a request with this progress.
    init(_ progress: TransferProgress) {
        if progress.bytesSent < progress.bytesToSend {
            self = .sending(fraction: Double(progress.bytesSent) / Double(progress.bytesToSend))
        } else if progress.bytesReceived > 0, let total = progress.bytesToReceive, total > 0 {
            self = .receiving(fraction: Double(progress.bytesReceived) / Double(total))
        } else {
            self = .awaitingAnswer
        }
    }
}

/// The current step of a request: its value in the demo's tracker, which the backends show.
struct RequestStep: Sendable, Hashable {
    enum Phase: Sendable, Hashable {
        case sending(fraction: Double)
        case awaitingAnswer
        case receiving(fraction: Double)
    }

    /// The title of the request for the user.
    var title: String
    var phase: Phase

    /// The label of the indicator.
    var label: String {
        switch phase {
        case .sending: "\(title): sending"
        case .awaitingAnswer: "\(title): awaiting the answer"
        case .receiving: "\(title): receiving"
        }
    }

    /// The progress of the indicator.
    var progress: Double? {
        switch phase {
        case .sending(let fraction), .receiving(let fraction): fraction
        case .awaitingAnswer: nil
        }
    }
}

/// The identity of a request: its row in the plan, and its index among that row's requests.
struct RequestID: Sendable, Hashable {
    var row: Int
    var index = 0
}

extension RequestID: CustomStringConvertible {
    var description: String { "\(row).\(index)" }
}
