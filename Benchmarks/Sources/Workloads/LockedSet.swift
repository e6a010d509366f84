import Foundation

/// The peer: the activities are a set behind a recursive lock, as in the classic indicator managers.
final class LockedSet<ID: Hashable>: @unchecked Sendable {
    // `@unchecked`: `lock` protects the other properties.

    private let lock = NSRecursiveLock()
    private var active: Set<ID>
    private var isBusy = false

    init(inProgress: [ID] = []) {
        active = Set(inProgress)
    }

    func start(_ id: ID) {
        lock.lock()
        defer { lock.unlock() }
        active.insert(id)
        update()
    }

    func stop(_ id: ID) {
        lock.lock()
        defer { lock.unlock() }
        active.remove(id)
        update()
    }

    private func update() {
        let isBusy = !active.isEmpty
        if isBusy != self.isBusy { self.isBusy = isBusy }
    }
}
