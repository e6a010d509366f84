/// Work that is added under a lock and performed outside it, in the same order, without threads waiting for each other.
///
/// The outbox is a value protected by the lock. The thread that appends an element calls ``beginDelivery()``. If the
/// result is `true`, it processes batches until there are none, or another thread continues:
///
/// ```swift
/// let mustDeliver = state.withLock { $0.outbox.append(event); return $0.outbox.beginDelivery() }
/// if mustDeliver {
///     while let batch = state.withLock({ $0.outbox.nextBatch() }) { batch.forEach(deliver) }
/// }
/// ```
package struct Outbox<Element> {
    private var elements = Fifo<Element>()
    private var isAttended = false

    package init() {}

    /// The number of elements that wait.
    package var count: Int { elements.count }

    /// Adds an element.
    package mutating func append(_ element: Element) {
        elements.append(element)
    }

    /// Returns whether elements wait and no thread processes them. The caller then must process them.
    package mutating func beginDelivery() -> Bool {
        guard !isAttended, !elements.isEmpty else { return false }
        isAttended = true
        return true
    }

    /// Removes up to 16 waiting elements. Returns `nil` when there are none, and the caller is done.
    package mutating func nextBatch() -> [Element]? {
        var batch: [Element] = []
        while batch.count < 16, let element = elements.popFirst() { batch.append(element) }
        isAttended = !batch.isEmpty
        return batch.isEmpty ? nil : batch
    }
}

extension Outbox: Sendable where Element: Sendable {}
