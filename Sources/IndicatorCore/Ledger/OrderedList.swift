/// Values in the order of the activities that they belong to.
///
/// Each activity has an order, a unique number that grows with each activity. So new values are nearly always appended.
struct OrderedList<Value> {
    /// A value and its order.
    struct Element {
        let order: UInt64
        fileprivate(set) var value: Value
    }

    private var elements: [Element] = []

    var count: Int { elements.count }

    /// The value of lowest order, and its order.
    var first: Element? { elements.first }

    /// The values in order.
    var values: some Sequence<Value> { elements.lazy.map(\.value) }

    /// Sets or removes the value of an order.
    mutating func set(_ order: UInt64, to value: Value?) {
        let index = index(of: order)
        let isThere = index < elements.count && elements[index].order == order
        switch (isThere, value) {
        case (true, let value?): elements[index].value = value
        // Much faster than to insert at the end.
        case (false, let value?) where index == elements.count: elements.append(Element(order: order, value: value))
        case (false, let value?): elements.insert(Element(order: order, value: value), at: index)
        case (false, nil): break
        case (true, nil):
            elements.remove(at: index)
            // Many may have been listed once.
            if elements.isEmpty, elements.capacity > 1024 { elements = [] }
        }
    }

    /// The index of an order, or of the next one.
    private func index(of order: UInt64) -> Int {
        guard let last = elements.last, last.order >= order else { return elements.count }
        var (low, high) = (0, elements.count - 1)
        while low < high {
            let middle = (low + high) / 2
            if elements[middle].order < order { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

extension OrderedList: Sendable where Value: Sendable {}
extension OrderedList.Element: Sendable where Value: Sendable {}
