import TestSupport

/// Records the indicator's notifications, which are posted to a separate notification center.
final class NotificationRecorder: Sendable {
    struct Note: Sendable {
        /// Without the common prefix: `Resume`, `Suspend`, `Progress`, `Complete`.
        var name: String
        var task: ObjectIdentifier?
        var label: String?
        var bytes: Int?
        var isWaiting: Bool?
    }

    let center: NotificationCenter
    private let notes = Locked<[Note]>([])

    init(_ center: NotificationCenter = NotificationCenter()) {
        self.center = center
        _ = center.addObserver(forName: nil, object: nil, queue: nil) { [weak self] notification in
            let note = Note(
                name: String(notification.name.rawValue.dropFirst("indicatorTaskDid".count)),
                task: (notification.object as AnyObject?).map(ObjectIdentifier.init),
                label: notification.userInfo?[TaskNotifications.labelKey] as? String,
                bytes: notification.userInfo?[TaskNotifications.completedBytesKey] as? Int,
                isWaiting: notification.userInfo?[TaskNotifications.waitingKey] as? Bool
            )
            self?.notes.withLock { $0.append(note) }
        }
    }

    /// All but those of progress.
    var all: [Note] { notes.withLock { $0 }.filter { $0.name != "Progress" } }
    var names: [String] { all.map(\.name) }

    /// The completed bytes in each notification of progress.
    var progress: [Int] { notes.withLock { $0 }.filter { $0.name == "Progress" }.compactMap(\.bytes) }

    /// Whether the request waits, in each notification that says so.
    var waits: [Bool] { notes.withLock { $0 }.compactMap(\.isWaiting) }
}
