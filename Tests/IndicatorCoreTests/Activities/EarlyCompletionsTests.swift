import TestSupport

@testable import IndicatorCore

@Suite struct EarlyCompletionsTests {
    private final class Object {}

    private static func consumes(_ completions: inout EarlyCompletions, _ key: ActivityKey, at milliseconds: Int)
        -> Bool
    {
        completions.consume(key) { .milliseconds(milliseconds) }
    }

    /// Tasks, with times in ms: `early 1 @0` is a completion of one that is not in progress, `end 1 @0` its end.
    private static let table: Table = """
        A completion that overtakes its beginning consumes it once
            early 1 @1000, begin 2 @1249, begin 1 @1249 ignored, begin 1 @1249
        A beginning exactly the window later counts
            early 1 @1000, begin 1 @1250
        The latest of several completions counts
            early 1 @1000, early 1 @1200, early 2 @1300, begin 1 @1449 ignored
        A completion soon after the end has overtaken nothing
            end 1 @0, begin 1 @0, early 1 @249, begin 1 @249, early 1 @499, begin 1 @499 ignored
        A completion exactly the window after the end has
            end 1 @0, early 1 @250, begin 1 @250 ignored
        A completion soon after an ignored beginning has overtaken nothing
            early 1 @0, begin 1 @100 ignored, early 1 @349, begin 1 @349
        A completion exactly the window after an ignored beginning has
            early 1 @0, begin 1 @100 ignored, early 1 @350, begin 1 @350 ignored
        """

    @Test(arguments: table)
    func `Completions are remembered for a window`(sentence: String, script: String) throws {
        var completions = EarlyCompletions()
        for step in script.split(separator: ", ") {
            let words = step.split(separator: " ")
            let (task, time) = (try #require(Int(words[1])), try #require(Int(words[2].dropFirst())))
            if words[0] == "begin" {
                let isIgnored = Self.consumes(&completions, .number(task), at: time)
                #expect(isIgnored == (words.last == "ignored"), "\(sentence): \(step)")
            } else {
                completions.remember(.number(task), isEnd: words[0] == "end", at: .milliseconds(time))
            }
        }
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
