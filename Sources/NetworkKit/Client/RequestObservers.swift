import Foundation
import HTTPTypes
import IndicatorCore
import Logging
import Synchronization

/// Where a request is seen: an activity of its own, or notifications, and the app's functions.
struct RequestObservers: ~Copyable, Sendable {
    /// Contains the activity; `nil`: notifications are posted instead.
    let container: ActivityContainer?
    let center: NotificationCenter
    let onProgress: (@Sendable (TransferProgress) -> Void)?
    /// The activity in `container`. Only the thread that posts events changes it.
    private let activity = Locked<ManagedActivity?>(nil)

    /// Begins or continues.
    func begin(_ task: NetworkTask, _ label: String) {
        guard let container else { return post(task, .indicatorTaskDidResume, [TaskNotifications.labelKey: label]) }
        guard activity.withLock({ $0 == nil }) else { return }
        let begun = ManagedActivity(label, unit: .bytes, in: container)
        activity.withLock { $0 = begun }
    }

    func suspend(_ task: NetworkTask) { post(task, .indicatorTaskDidSuspend) }

    func end(_ task: NetworkTask, _ outcome: ActivityOutcome) {
        post(task, .indicatorTaskDidComplete, [TaskNotifications.outcomeKey: outcome])
        activity.withLock { $0.take() }?.end(outcome)
    }

    private func post(_ task: NetworkTask, _ name: Notification.Name, _ userInfo: [AnyHashable: Any]? = nil) {
        if container == nil { center.post(name: name, object: task, userInfo: userInfo) }
    }

    /// Shows progress, in the activity as an observer of the notification would.
    func show(
        _ task: NetworkTask,
        _ progress: TransferProgress,
        _ label: String? = nil,
        _ isWaiting: Bool? = nil
    ) {
        let (count, total) = (Int(progress.shown.count), progress.shown.total.map { Int($0) })
        guard container != nil else {
            var userInfo: [AnyHashable: Any] = [TaskNotifications.completedBytesKey: count]
            if let total { userInfo[TaskNotifications.totalBytesKey] = total }
            if let label { userInfo[TaskNotifications.labelKey] = label }
            if let isWaiting { userInfo[TaskNotifications.waitingKey] = isWaiting }
            return post(task, .indicatorTaskDidProgress, userInfo)
        }
        guard let activity = activity.withLock({ $0 }) else { return }
        if label != nil || activity.total != total {
            activity.update { details in
                details.label = label ?? details.label
                details.isWaiting = isWaiting ?? details.isWaiting
                details.total = total
            }
        }
        // What was received earlier does not count for the rate.
        if activity.completed == 0 { activity.completed = Int(progress.bytesReceivedEarlier) }
        let step = count - activity.completed
        // A retry starts again from a lower count.
        if step < 0 { activity.completed += step } else { activity.advance(by: step) }
    }
}

/// The progress of a request.
public struct TransferProgress: Hashable, Sendable {
    /// The number of bytes sent of the request's body.
    public internal(set) var bytesSent: Int64 = 0
    /// The length of the request's body in bytes; 0 without one.
    public internal(set) var bytesToSend: Int64 = 0
    /// The number of bytes received of the response's body, after decompression. A retry begins again at 0, or, if it
    /// resumes a download, with the bytes of the earlier attempts. The page of an error, with a status of 400 or more,
    /// does not count.
    public internal(set) var bytesReceived: Int64 = 0
    /// The length of the response's body in bytes; `nil` when the server does not send it, or compresses the body.
    public internal(set) var bytesToReceive: Int64?
    /// How many of the received bytes were received by an earlier download that is resumed.
    var bytesReceivedEarlier: Int64 = 0
    /// Whether the response is not what was requested.
    var isErrorPage = false

    /// The completed fraction, 0…1: of the upload if there is one, else of the download. `nil` when it is unknown.
    public var fractionCompleted: Double? {
        let (count, total) = shown
        guard let total else { return nil }
        return total == 0 ? 1 : min(1, Double(count) / Double(total))
    }

    /// What the indicator shows.
    var shown: (count: Int64, total: Int64?) {
        bytesToSend > 0 ? (bytesSent, bytesToSend) : (bytesReceived, bytesToReceive)
    }
}

/// Posts the events of a request in order.
final class EventQueue: Sendable {
    /// Calls observers.
    typealias Event = @Sendable () -> Void

    /// The events that are not posted yet, and whether a thread posts them.
    private let state = Locked((events: [Event](), arePosted: false))

    /// Adds an event, which ``post(here:)`` posts.
    func add(_ event: @escaping Event) { state.withLock { $0.events.append(event) } }

    /// Posts the events on another thread, or on this one. A thread that is posting events posts these, too: no lock is
    /// held while observers run, and the events stay in order.
    func post(here isHere: Bool) {
        let mustPost = state.withLock { !$0.events.isEmpty && !exchange(&$0.arePosted, with: true) }
        guard mustPost, !isHere || postBatch() else { return }
        // What follows meanwhile is posted on another thread in any case.
        RequestThreads.run { [self] in while postBatch() {} }
    }

    /// Posts what waits. Returns whether more waits then.
    private func postBatch() -> Bool {
        for event in state.withLock({ exchange(&$0.events, with: []) }) { event() }
        return state.withLock { state in
            state.arePosted = !state.events.isEmpty
            return state.arePosted
        }
    }
}

/// Logs an exchange with a server, without secrets: see ``NetworkClient/Options/logger``.
struct ExchangeLog: Sendable {
    let logger: Logger
    let request: NetworkRequest
    /// Unique in the process.
    let number = Self.counter.wrappingAdd(1, ordering: .relaxed).newValue
    private static let counter = Atomic(0)

    /// Logs what has happened; at first, that the request is ready to be sent.
    func write(_ text: String = "", _ headers: HTTPFields = [:]) {
        let fields = headers.map { field in
            let isURL = [.location, .contentLocation].contains(field.name)
            let plain = isURL ? URL(string: field.value)?.withoutSecrets : field.value
            let isSecret = !isURL && request.isSensitive(field.name)
            return (field.name.canonicalName, isSecret ? "…" : plain?.withoutControls ?? "…")
        }
        let values = Dictionary(grouping: fields, by: \.0).mapValues { fields in
            Logger.MetadataValue.string(fields.map(\.1).joined(separator: ", "))
        }
        let metadata: Logger.Metadata? = values.isEmpty ? nil : ["headers": .dictionary(values)]
        logger.debug("#\(number) \(request)\(text.withoutControls)", metadata: metadata)
    }
}
