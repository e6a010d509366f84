import Testing

@testable import IndicatorCore

@Suite struct ActivityRegistryTests {
    private typealias Registry = ActivityRegistry<Int, Int>

    @Test func countsIdentitiesAndNotCalls() {
        var registry = Registry()
        #expect(registry.start(1, at: .zero, entry: 10) == true)
        #expect(registry.start(1, at: .zero, entry: 11) == false)
        #expect(registry.count == 1)
        #expect(registry.stop(1, at: .zero) == 10)
        #expect(registry.stop(1, at: .zero) == nil)
        #expect(registry.count == 0)
    }

    @Test func aStopThatOvertakesItsStartSwallowsItOnce() {
        var registry = Registry()
        #expect(registry.stop(1, at: .seconds(1)) == nil)
        #expect(registry.start(1, at: .milliseconds(1249), entry: 0) == false)
        #expect(registry.start(1, at: .milliseconds(1249), entry: 0) == true)
    }

    @Test func aStartExactlyTheWindowLaterIsAStart() {
        var registry = Registry()
        #expect(registry.stop(1, at: .seconds(1)) == nil)
        #expect(registry.start(1, at: .milliseconds(1250), entry: 0) == true)
    }

    @Test func theLatestOfSeveralStopsCounts() {
        var registry = Registry()
        _ = registry.stop(1, at: .seconds(1))
        _ = registry.stop(1, at: .milliseconds(1200))
        _ = registry.stop(2, at: .milliseconds(1300))
        #expect(registry.start(1, at: .milliseconds(1449), entry: 0) == false)
    }

    @Test func theMemoryIsBoundedAndTheOldestGoes() {
        var stops = OvertakenStarts<Int>()
        for key in 0..<(3 * OvertakenStarts<Int>.capacity) { stops.remember(key, at: .zero) }
        let newest = 3 * OvertakenStarts<Int>.capacity - 1
        #expect(stops.swallowsStart(of: newest, at: .zero) == true)
        #expect(stops.swallowsStart(of: newest - OvertakenStarts<Int>.capacity + 1, at: .zero) == true)
        #expect(stops.swallowsStart(of: newest - OvertakenStarts<Int>.capacity, at: .zero) == false)
        #expect(stops.swallowsStart(of: 0, at: .zero) == false)
    }

    @Test func aStopOfAnObjectThatIsGoneDoesNotSwallowTheStartOfItsSuccessor() {
        var stops = OvertakenStarts<Int>()
        do {
            let object = ManagedBuffer<Int, Int>.create(minimumCapacity: 1) { _ in 0 }
            stops.remember(1, object: ObservedObject(object), at: .zero)
        }
        #expect(stops.swallowsStart(of: 1, at: .zero) == false)
    }
}
