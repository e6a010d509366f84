import TestSupport
import Testing

@testable import IndicatorCore

@Suite struct OrderedSlotsTests {
    @Test func theFirstRankedValueIsThatOfLowestOrder() {
        var generator = SplitMix(state: 7)
        var slots = OrderedSlots<UInt64>()
        var model: [(slot: Int32, order: UInt64, isRanked: Bool)] = []
        for round in 0..<20_000 {
            let choice = Int.random(in: 0..<10, using: &generator)
            if model.isEmpty || (choice < 5 && model.count < 50) {
                let order = UInt64(round)
                let isRanked = Bool.random(using: &generator)
                model.append((slots.insert(order, order: order, isRanked: isRanked), order, isRanked))
            } else {
                let index = Int.random(in: 0..<model.count, using: &generator)
                if choice < 7 {
                    model[index].isRanked.toggle()
                    slots.setRanked(model[index].isRanked, slot: model[index].slot)
                } else {
                    #expect(slots.remove(model[index].slot) == model[index].order)
                    model.remove(at: index)
                }
            }
            let ranked = model.filter(\.isRanked).map(\.order).sorted()
            #expect(slots.firstRanked == ranked.first)
            #expect(slots.firstRanked(16) == Array(ranked.prefix(16)))
            #expect(slots.count == model.count)
        }
    }
}
