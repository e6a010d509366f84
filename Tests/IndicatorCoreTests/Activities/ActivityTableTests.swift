import TestSupport
import Testing

@testable import IndicatorCore

@Suite struct ActivityTableTests {
    @Test func behavesLikeADictionary() async {
        var generator = SplitMix(state: 20_261_121)
        var table = ActivityTable<Int, Int>()
        var model: [Int: Int] = [:]
        for round in 0..<200_000 {
            if round.isMultiple(of: 1000) { await Task.yield() }
            // Grows to thousands, and shrinks to nothing now and then.
            let key = Int.random(in: 0..<(round / 20_000 % 2 == 0 ? 5000 : 50), using: &generator)
            switch table.search(key) {
            case .vacant(let vacancy):
                #expect(model[key] == nil)
                table.insert(key, round, at: vacancy)
                model[key] = round
            case .found(let index):
                #expect(table[index] == model[key])
                if Bool.random(using: &generator) {
                    #expect(table.remove(at: index) == model.removeValue(forKey: key))
                } else {
                    table[index] = -round
                    model[key] = -round
                }
            }
            if round.isMultiple(of: 40_000) {
                let removed = table.removeAll { $0.isMultiple(of: 2) }
                #expect(removed.count == model.values.count { $0.isMultiple(of: 2) })
                model = model.filter { !$0.value.isMultiple(of: 2) }
            }
            #expect(table.count == model.count)
        }
        for (key, value) in model { #expect(table.index(of: key).map { table[$0] } == value) }
    }

    @Test func aCopyIsAValueOfItsOwn() {
        var first = ActivityTable<String, Int>()
        if case .vacant(let vacancy) = first.search("a") { first.insert("a", 1, at: vacancy) }
        let second = first
        if let index = first.index(of: "a") { first.remove(at: index) }
        #expect(first.index(of: "a") == nil)
        #expect(second.index(of: "a").map { second[$0] } == 1)
    }

    @Test(
        "Texts that are equal have the same hash, however they are written",
        arguments: [("\u{E9}", "e\u{301}"), ("K", "\u{212A}"), ("request \u{C5}", "request \u{212B}")]
    )
    func canonicalEquivalents(first: String, second: String) {
        #expect(first == second)
        #expect(first.tableHash(seed: 1) == second.tableHash(seed: 1))
        let indicator = IndicatorManager()
        indicator.start(first)
        indicator.stop(second)
        #expect(indicator.activityCount == 0)
    }

    @Test func hashesOfNeighboursAreSpread() {
        func fullness(_ hashes: [UInt64]) -> Double {
            let places = Set(hashes.map { (($0 >> 32) * UInt64(hashes.count)) >> 32 })
            return Double(places.count) / Double(hashes.count)
        }
        for seed in [0, 1, 0x0123_4567_89AB_CDEF, UInt64.max] {
            // By chance it would be 1 - 1/e, which is 0.63.
            #expect(fullness((0..<10_000).map { $0.tableHash(seed: seed) }) > 0.6)
            #expect(fullness((0..<10_000).map { "request-\($0)".tableHash(seed: seed) }) > 0.6)
            #expect(fullness((0..<10_000).map { "\($0)".tableHash(seed: seed) }) > 0.6)
            #expect(
                fullness((0..<10_000).map { "https://example.org/items/\($0)/icon.png".tableHash(seed: seed) }) > 0.6
            )
        }
    }
}
