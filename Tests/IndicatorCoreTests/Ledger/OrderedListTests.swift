import TestSupport
import Testing

@testable import IndicatorCore

@Suite struct OrderedListTests {
    @Test func `The first values are those of lowest order`() {
        var generator = SplitMix(state: 7)
        var list = OrderedList<UInt64>()
        var model: [UInt64: UInt64] = [:]
        for round in 0..<20_000 {
            // The classic managers' bits for the order ended at 2²⁸.
            let order = UInt64.random(in: (1 << 28) - 30..<(1 << 28) + 30, using: &generator)
            let value = Bool.random(using: &generator) ? UInt64(round) : nil
            let old = list.set(order, to: value)
            #expect(old == model.updateValue(value ?? 0, forKey: order))
            if value == nil { model[order] = nil }
            let sorted = model.sorted { $0.key < $1.key }
            #expect(list.first?.order == sorted.first?.key)
            #expect(list.values.prefix(16).map(\.self) == sorted.prefix(16).map(\.value))
            #expect(list.count == model.count)
        }
    }

    /// A removal in the middle moved half of the list: 141 µs with a million values; growth copied all of it.
    @Test func `A long list consists of small parts`() {
        var generator = SplitMix(state: 8)
        var list = OrderedList<UInt64>()
        let orders: [UInt64] = (0..<50_000).map { $0 * 3 }
        for order in orders.shuffled(using: &generator) { list.set(order, to: order) }
        for order in 200_000..<210_000 as Range<UInt64> { list.set(order, to: order) }
        let capacity = OrderedList<UInt64>.partCapacity
        #expect(list.partCounts.allSatisfy { (1...capacity).contains($0) })
        #expect(list.partCounts.count < 4 * list.count / capacity)
        #expect(Array(list.values) == orders + Array(200_000..<210_000))
        for order in orders.shuffled(using: &generator).prefix(49_500) { #expect(list.set(order, to: nil) == order) }
        #expect(list.count == 10_500 && Array(list.values) == list.values.sorted())
        #expect(list.partCounts.count < 10 * list.count / capacity)
        for order in Array(list.values) { list.set(order, to: nil) }
        #expect(list.partCounts == [0] && list.first == nil)
    }
}
