import TestSupport

/// Records the indicator's notifications, which are posted to a separate notification center.
final class NotificationRecorder: Sendable {
    struct Note: Equatable, Sendable {
        var name: String
        var task: ObjectIdentifier?
        var label: String?
    }

    let center: NotificationCenter
    private let notes = Locked<[Note]>([])
    private let bytes = Locked<[Int]>([])
    private let waiting = Locked<[Bool]>([])

    init(_ center: NotificationCenter = NotificationCenter()) {
        self.center = center
        _ = center.addObserver(forName: nil, object: nil, queue: nil) { [weak self] notification in
            let task = (notification.object as AnyObject?).map(ObjectIdentifier.init)
            let label = notification.userInfo?[TaskNotifications.labelKey] as? String
            if let isWaiting = notification.userInfo?[TaskNotifications.waitingKey] as? Bool {
                self?.waiting.withLock { $0.append(isWaiting) }
            }
            if notification.name != .indicatorTaskDidProgress {
                self?.notes.withLock { $0.append(Note(name: notification.name.rawValue, task: task, label: label)) }
            } else if let count = notification.userInfo?[TaskNotifications.completedBytesKey] as? Int {
                self?.bytes.withLock { $0.append(count) }
            }
        }
    }

    /// The names without their common prefix: `Resume`, `Suspend`, `Complete`.
    var names: [String] { all.map { String($0.name.dropFirst("indicatorTaskDid".count)) } }

    /// The completed bytes in each notification of progress.
    var progress: [Int] { bytes.withLock { $0 } }

    /// Whether the request waits, in each notification that says so.
    var waits: [Bool] { waiting.withLock { $0 } }

    var all: [Note] { notes.withLock { $0 } }
}
