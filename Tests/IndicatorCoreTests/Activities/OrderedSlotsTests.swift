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
            if model.isEmpty || (choice < 5 && model.count < 200) {
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
            #expect(slots.firstRanked == model.filter(\.isRanked).map(\.order).min())
            #expect(slots.count == model.count)
        }
    }
}

@Suite struct ActivityDetailsTests {
    @Test func theLabelIsThatOfTheEarliestActivityThatHasOne() {
        var details = ActivityDetails()
        let third = details.insert(label: "third", progress: nil, order: 3)
        #expect(details.label == "third")
        let first = details.insert(label: nil, progress: 0.5, order: 1)
        #expect(details.label == "third")
        details.update(first, label: "first", progress: nil)
        #expect(details.label == "first")
        details.update(first, label: "", progress: nil)
        #expect(details.label == "third")
        details.remove(third)
        #expect(details.label == nil)
    }

    @Test func theProgressIsTheMeanOfThoseThatReportOne() {
        var details = ActivityDetails()
        #expect(details.progress == nil)
        let first = details.insert(label: nil, progress: 0.5, order: 1)
        let second = details.insert(label: "silent", progress: nil, order: 2)
        let third = details.insert(label: nil, progress: 7, order: 3)
        #expect(details.progress == 0.75)
        details.update(second, label: nil, progress: -1)
        #expect(details.progress == 0.5)
        details.update(third, label: nil, progress: .nan)
        #expect(details.progress == 0.25)
        for _ in 0..<1000 { details.update(first, label: nil, progress: 0.1) }
        details.update(second, label: nil, progress: .nan)
        #expect(abs((details.progress ?? 0) - 0.1) < 1e-9)
        details.remove(first)
        #expect(details.progress == nil)
    }
}
