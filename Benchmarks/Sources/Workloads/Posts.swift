import Foundation
import IndicatorCore

/// A task of a library.
private final class LibraryTask: Sendable {}

/// A library that posts notifications for its tasks.
private struct PostingLibrary: @unchecked Sendable {
    // `@unchecked`: a notification center may be used on any thread.

    let center = NotificationCenter()
    private let task = LibraryTask()

    func post(_ times: Int) {
        for _ in 0..<times {
            center.post(name: .indicatorTaskDidResume, object: task)
            center.post(name: .indicatorTaskDidComplete, object: task)
        }
    }
}

/// Notifications that an indicator observes.
final class ObservedPosts: Sendable {
    private let library = PostingLibrary()
    private let manager = IndicatorManager.measured(.shown)
    private let other: ManagedActivity?

    init(areOthersInProgress: Bool) {
        manager.observe(.indicator, in: library.center)
        other = areOthersInProgress ? ManagedActivity(in: manager) : nil
    }

    func post(_ times: Int) { library.post(times) }
}

/// Notifications with empty observers.
final class EmptilyObservedPosts: @unchecked Sendable {
    // `@unchecked`: the tokens are stored but never accessed.

    private let library = PostingLibrary()
    private let tokens: [any NSObjectProtocol]

    init() {
        let center = library.center
        tokens = [.indicatorTaskDidResume, .indicatorTaskDidComplete].map { (name: Notification.Name) in
            center.addObserver(forName: name, object: nil, queue: nil) { _ in }
        }
    }

    func post(_ times: Int) { library.post(times) }
}
