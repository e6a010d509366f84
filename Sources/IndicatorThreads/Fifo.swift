/// A queue of two arrays: elements are added at the end of one and taken from the end of the other, so both take O(1)
/// on average.
package struct Fifo<Element> {
    private var added: [Element] = []
    /// The first elements, in reverse.
    private var next: [Element] = []

    package init() {}

    package var count: Int { added.count + next.count }
    package var first: Element? { next.last ?? added.first }
    package var isEmpty: Bool { added.isEmpty && next.isEmpty }

    package mutating func append(_ element: Element) { added.append(element) }

    package mutating func popFirst() -> Element? {
        if next.isEmpty {
            next = added.reversed()
            added.removeAll(keepingCapacity: added.count < 64)
        }
        return next.popLast()
    }
}

extension Fifo: Sendable where Element: Sendable {}
