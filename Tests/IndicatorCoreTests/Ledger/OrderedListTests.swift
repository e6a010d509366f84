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
            list.set(order, to: value)
            model[order] = value
            let sorted = model.sorted { $0.key < $1.key }
            #expect(list.first?.order == sorted.first?.key)
            #expect(list.values.prefix(16).map(\.self) == sorted.prefix(16).map(\.value))
            #expect(list.count == model.count)
        }
    }
}
