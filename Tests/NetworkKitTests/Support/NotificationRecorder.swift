import Foundation
import IndicatorCore
import IndicatorThreads

/// Records the indicator's notifications, which are posted to a separate notification center.
final class NotificationRecorder: Sendable {
    struct Note: Equatable, Sendable {
        var name: String
        var task: ObjectIdentifier?
        var label: String?
    }

    private struct Tokens: @unchecked Sendable {
        // `@unchecked`: the tokens are only handed back to the notification center.
        var tokens: [any NSObjectProtocol]
    }

    let center: NotificationCenter
    private let notes = Locked<[Note]>([])
    private let tokens = Locked(Tokens(tokens: []))

    private let bytes = Locked<[Int]>([])

    init(_ center: NotificationCenter = NotificationCenter()) {
        self.center = center
        let token = center.addObserver(forName: .indicatorTaskDidProgress, object: nil, queue: nil) { [weak self] in
            guard let count = $0.userInfo?[TaskNotifications.completedBytesKey] as? Int else { return }
            self?.bytes.withLock { $0.append(count) }
        }
        let added = Tokens(tokens: [token])
        tokens.withLock { $0.tokens += added.tokens }
        let names: [Notification.Name] = [.indicatorTaskDidResume, .indicatorTaskDidSuspend, .indicatorTaskDidComplete]
        for name in names {
            let token = center.addObserver(forName: name, object: nil, queue: nil) { [weak self] notification in
                let note = Note(
                    name: name.rawValue,
                    task: (notification.object as AnyObject?).map(ObjectIdentifier.init),
                    label: notification.userInfo?[TaskNotifications.labelKey] as? String
                )
                self?.notes.withLock { $0.append(note) }
            }
            let added = Tokens(tokens: [token])
            tokens.withLock { $0.tokens += added.tokens }
        }
    }

    deinit {
        let held = tokens.withLock { $0 }
        for token in held.tokens { center.removeObserver(token) }
    }

    /// The names without their common prefix: `Resume`, `Suspend`, `Complete`.
    var names: [String] {
        notes.withLock { $0.map { String($0.name.dropFirst("indicatorTaskDid".count)) } }
    }

    /// The completed bytes in each notification of progress.
    var progress: [Int] { bytes.withLock { $0 } }

    var all: [Note] { notes.withLock { $0 } }
}
