import Foundation
import IndicatorCore

/// Posts the indicator's notifications of one request, each exactly once and in order, whichever threads things happen on.
///
/// Whoever brings an event while another thread is posting leaves it to that thread, so that no lock is held while observers run
/// and none hears of an end before its beginning.
final class TaskAnnouncer: Sendable {
    private enum Phase {
        /// Not begun.
        case waiting
        /// Announced as going on.
        case running
        /// Announced as paused.
        case suspended
        /// Its end was announced.
        case completed
    }

    private struct Event: Sendable {
        var name: Notification.Name
        var userInfo: [String: any Sendable] = [:]
    }

    private struct State {
        var phase = Phase.waiting
        var outbox = Outbox<Event>()
        var fraction = 0.0
    }

    private let center: NotificationCenter
    private let label: String
    private let state = Locked(State())

    init(center: NotificationCenter, label: String) {
        self.center = center
        self.label = label
    }

    func resumed(_ task: NetworkTask) {
        announce(task) { [label] state in
            guard state.phase == .waiting || state.phase == .suspended else { return nil }
            state.phase = .running
            return Event(name: .indicatorTaskDidResume, userInfo: [TaskNotifications.labelKey: label])
        }
    }

    func suspended(_ task: NetworkTask) {
        announce(task) { state in
            guard state.phase == .running else { return nil }
            state.phase = .suspended
            return Event(name: .indicatorTaskDidSuspend)
        }
    }

    func completed(_ task: NetworkTask) {
        announce(task) { state in
            guard state.phase != .completed else { return nil }
            state.phase = .completed
            return Event(name: .indicatorTaskDidComplete)
        }
    }

    /// Tells how much is done, in steps of a hundredth, and never less than before.
    func progressed(_ task: NetworkTask, to fraction: Double) {
        announce(task) { state in
            guard state.phase == .running, fraction >= state.fraction + 0.01 || (fraction == 1 && state.fraction < 1)
            else {
                return nil
            }
            state.fraction = fraction
            return Event(name: .indicatorTaskDidProgress, userInfo: [TaskNotifications.progressKey: fraction])
        }
    }

    private func announce(_ task: NetworkTask, _ change: @Sendable (inout State) -> Event?) {
        let isPoster = state.withLock { state in
            guard let event = change(&state) else { return false }
            state.outbox.append(event)
            return state.outbox.attend()
        }
        guard isPoster else { return }
        while let batch = state.withLock({ $0.outbox.nextBatch() }) {
            for event in batch {
                center.post(name: event.name, object: task, userInfo: event.userInfo.isEmpty ? nil : event.userInfo)
            }
        }
    }
}
