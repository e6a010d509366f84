import TestSupport

@testable import IndicatorCore

extension ActivityList.Entry {
    fileprivate init(order: UInt64) {
        let record = ActivityRecord()
        record.begin(order: order, at: .zero)
        self.init(record: record)
    }
}

@Suite struct OrderedObjectsTests {
    private final class Object {}

    @Test("Random objects, added and removed in any order, are in the order of their numbers")
    func order() {
        var generator = SplitMix(state: 3)
        var (ordered, present) = (OrderedObjects(), [UInt64: Object]())
        for round in 0..<20_000 {
            // Mostly behind all others; shrinks and grows by turns.
            let number = round % 3 == 0 ? UInt64.random(in: 0..<3000, using: &generator) : UInt64(3000 + round)
            if present[number] == nil {
                let object = Object()
                present[number] = object
                ordered.insert(object, at: number)
            } else {
                ordered.remove(at: number)
                present[number] = nil
            }
            if round / 4000 % 2 == 1, let number = present.keys.randomElement(using: &generator) {
                ordered.remove(at: number)
                present[number] = nil
            }
            guard round % 100 == 0 else { continue }
            let expected = present.keys.sorted().compactMap { present[$0] }
            #expect(ordered.first === expected.first)
            #expect(ordered.prefix(400).map(ObjectIdentifier.init) == expected.prefix(400).map(ObjectIdentifier.init))
        }
        for number in present.keys.sorted() { ordered.remove(at: number) }
        #expect(ordered.first == nil && ordered.prefix(1).isEmpty)
    }
}

@Suite struct IdentitiesTests {
    @Test func `Many identities begin and end once`() {
        var identities = ActivityList.Identities<Int>()
        func insert(_ key: Int, _ order: UInt64) -> Bool {
            identities.insert(key, ActivityList.Entry(order: order))
        }
        for key in 0..<100_000 { #expect(insert(key, UInt64(key))) }
        #expect(identities.count == 100_000)
        for key in stride(from: 0, to: 100_000, by: 997) {
            #expect(!insert(key, 0))
            #expect(identities.update(key) { $0.record?.order } == UInt64(key))
        }
        for key in 0..<100_000 where key % 10 != 0 {
            #expect(identities.remove(key)?.entry.record?.order == UInt64(key))
        }
        #expect(identities.count == 10_000)
        for key in stride(from: 0, to: 100_000, by: 10) { #expect(!insert(key, 0)) }
        for key in stride(from: 0, to: 100_000, by: 10) { #expect(identities.remove(key) != nil) }
        #expect(identities.count == 0)
        #expect(identities.remove(1) == nil)
        #expect(identities.update(1) { $0.record } == nil)
    }
}

@Suite struct ObservedObjectsTests {
    private final class Object {}

    private static func endedCount(_ objects: inout ObservedObjects) -> Int {
        objects.tables.reduce(0) { $0 + objects.removeEnded($1).ended.count }
    }

    private static func insert(
        _ object: Object,
        _ role: ActivityObject.Role,
        order: UInt64 = 0,
        into objects: inout ObservedObjects
    ) -> Bool {
        objects.insert(ActivityObject(object: object, role: role), ActivityList.Entry(order: order))
    }

    @Test(arguments: [ActivityObject.Role.tracked, .notified])
    func `An object without other references has ended`(role: ActivityObject.Role) {
        var objects = ObservedObjects()
        let kept = Object()
        let isNew = Self.insert(kept, role, into: &objects)
        let isNewAgain = Self.insert(kept, role, order: 1, into: &objects)
        #expect(isNew && !isNewAgain)
        for order in 0..<100 {
            // Otherwise, objects of one size reuse an address immediately.
            let isNew = Self.insert(Object(), role, order: UInt64(order), into: &objects)
            #expect(isNew)
        }
        #expect(Self.endedCount(&objects) > 0)
        #expect(objects.count == 1)
        let removed = objects.remove(ActivityObject(object: kept, role: role))
        #expect(removed != nil)
        withExtendedLifetime(kept) {}
    }

    /// Checking all objects in one go held the lock for 68 ms with 100 000 of them, and tables never shrank.
    @Test func `Tables are small and shrink`() {
        var objects = ObservedObjects()
        var all = (0..<100_000).map { _ in Object() }
        for object in all { _ = Self.insert(object, .notified, into: &objects) }
        #expect((objects.items.map(\.count).max() ?? 0) < 8 * 100_000 / ObservedObjects.tableCount)
        all.removeAll()
        #expect(Self.endedCount(&objects) == 100_000)
        #expect(objects.count == 0)
        #expect(objects.items.allSatisfy { $0.capacity == 0 })
    }
}
