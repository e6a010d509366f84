import TestSupport

@testable import IndicatorCore

@Suite struct EarlyCompletionsTests {
    private final class Object {}

    private static func consumes(_ completions: inout EarlyCompletions, _ key: ActivityKey, at milliseconds: Int)
        -> Bool
    {
        completions.consume(key) { .milliseconds(milliseconds) }
    }

    @Test func `The memory is bounded and the oldest is forgotten`() {
        let capacity = EarlyCompletions.capacity
        var completions = EarlyCompletions()
        for number in 0..<(3 * capacity) { completions.remember(.number(number), isEnd: false, at: .zero) }
        #expect(Self.consumes(&completions, .number(3 * capacity - 1), at: 0))
        #expect(Self.consumes(&completions, .number(3 * capacity - capacity / 2), at: 0))
        #expect(!Self.consumes(&completions, .number(2 * capacity - 1), at: 0))
        #expect(!Self.consumes(&completions, .number(0), at: 0))
    }

    /// The list was shared: the completion that came first was forgotten, and its beginning counted for ever.
    @Test func `Many ends forget no completion`() {
        var completions = EarlyCompletions()
        completions.remember(.number(0), isEnd: false, at: .zero)
        for number in 1...2 * EarlyCompletions.capacity {
            completions.remember(.number(number), isEnd: true, at: .zero)
        }
        #expect(Self.consumes(&completions, .number(0), at: 100))
    }

    /// 1,024 dead identities stayed in memory while nothing happened.
    @Test func `What is out of date is forgotten`() {
        var completions = EarlyCompletions()
        for number in 0..<10 { completions.remember(.number(number), isEnd: false, at: .milliseconds(100 * number)) }
        completions.forget(at: .milliseconds(1149))
        #expect(!completions.isEmpty)
        #expect(Self.consumes(&completions, .number(9), at: 1149))
        completions.forget(at: .milliseconds(1399))
        #expect(completions.isEmpty)
    }

    @Test func `A deallocated object has no successor at its address while it is remembered`() {
        var completions = EarlyCompletions()
        weak var last: Object?
        var wrong = 0
        for index in 0..<1000 {
            let isEnd = index.isMultiple(of: 2)
            let object = Object()
            last = object
            let key = ActivityKey.object(ActivityObject(object: object, role: .notified))
            // Otherwise, objects of one size reuse an address immediately.
            if Self.consumes(&completions, key, at: 0) { wrong += 1 }
            completions.remember(key, isEnd: isEnd, at: .zero)
            if Self.consumes(&completions, key, at: 0) == isEnd { wrong += 1 }
            completions.remember(key, isEnd: false, at: .zero)
        }
        #expect(wrong == 0)
        #expect(last == nil)
    }
}
