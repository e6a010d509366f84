/// Things to do in the order in which a lock was held, outside that lock, and without a thread that waits for another.
///
/// A plain value beside what the lock protects. The thread that appends something asks ``attend()``; the one that gets
/// `true` takes batches until there are none:
///
/// ```swift
/// let mustDeliver = state.withLock { $0.outbox.append(event); return $0.outbox.attend() }
/// if mustDeliver {
///     while let batch = state.withLock({ $0.outbox.nextBatch() }) { batch.forEach(deliver) }
/// }
/// ```
package struct Outbox<Element> {
    private var elements: [Element] = []
    private var isAttended = false

    package init() {}

    /// Adds something to do.
    package mutating func append(_ element: Element) {
        elements.append(element)
    }

    /// Whether something waits and no thread takes care of it. The caller does from now on.
    package mutating func attend() -> Bool {
        guard !isAttended, !elements.isEmpty else { return false }
        isAttended = true
        return true
    }

    /// What is to be done next; `nil` when nothing waits, and the caller is done.
    package mutating func nextBatch() -> [Element]? {
        guard !elements.isEmpty else {
            isAttended = false
            return nil
        }
        defer { elements = [] }
        return elements
    }
}

extension Outbox: Sendable where Element: Sendable {}
