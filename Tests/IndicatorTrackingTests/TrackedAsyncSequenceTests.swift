import IndicatorTracking
import TestSupport

@Suite struct TrackedAsyncSequenceTests {
    private struct SomeError: Error, Equatable {}

    private let tracker = ActivityTracker(defaultValue: "default")

    /// The status when the iteration begins, in the body of the loop, and after it.
    private func statuses<Base: AsyncSequence>(of sequence: TrackedAsyncSequence<Base>) async throws -> [String] {
        var iterator = sequence.makeAsyncIterator()
        var lines = [tracker.status.line]
        while try await iterator.next() != nil { lines.append(tracker.status.line) }
        // Not only with its iterator.
        return withExtendedLifetime(iterator) { lines + [tracker.status.line] }
    }

    @Test("The value is the initial one, by default that of the tracker, until an element changes it")
    func values() async throws {
        func track(_ initialValue: String? = nil, _ value: (@Sendable (Int) -> String?)? = nil) async throws -> String {
            let sequence = Elements(elements: [1, 2]).tracked(in: tracker, initialValue: initialValue, value: value)
            return try await statuses(of: sequence).joined(separator: ", ")
        }
        #expect(try await track() == "true default, true default, true default, false Empty")
        #expect(try await track("constant") == "true constant, true constant, true constant, false Empty")
        #expect(try await track(nil) { "element \($0)" } == "true default, true element 1, true element 2, false Empty")
        #expect(try await track("zero") { $0 == 1 ? "one" : nil } == "true zero, true one, true Empty, false Empty")
    }

    @Test func `The activity ends with the last copy of the iterator`() async {
        var first: TrackedAsyncSequence<Elements<Int>>.AsyncIterator? =
            Elements(elements: [1]).tracked(in: tracker).makeAsyncIterator()
        var second = first
        first = nil
        #expect(first == nil)
        #expect(tracker.status.isLoading)
        #expect(await second?.next() == 1)
        second = nil
        #expect(!tracker.status.isLoading)
    }

    /// As the article says: it is asked for more only when the sequence of its last element has ended.
    @Test func `The upstream of a flat map begins first, and ends last`() async {
        let tracked = Elements(elements: [1])
            .tracked(in: tracker, initialValue: "upstream")
            .flatMap { Elements(elements: [$0, $0 + 1]) }
            .tracked(in: tracker, initialValue: "flat map")
        for await _ in tracked { #expect(tracker.status.line == "true upstream") }
        #expect(!tracker.status.isLoading)
    }

    private struct TypedFailure: AsyncSequence, AsyncIteratorProtocol, Sendable {
        mutating func next(isolation actor: isolated (any Actor)?) async throws(SomeError) -> Int? { throw SomeError() }
        func makeAsyncIterator() -> Self { self }
    }

    @Test func `An error ends the activity immediately, and keeps its type`() async {
        var iterator = TypedFailure().tracked(in: tracker).makeAsyncIterator()
        do throws(SomeError) {
            _ = try await iterator.next(isolation: #isolation)
        } catch {
            #expect(error == SomeError())
        }
        withExtendedLifetime(iterator) { #expect(!tracker.status.isLoading) }
    }

    /// A sequence without `next(isolation:)`, as written before Swift 6.
    private struct OldSequence: AsyncSequence, AsyncIteratorProtocol {
        typealias Element = Int

        var count = 0

        mutating func next() async throws -> Int? {
            count += 1
            if count == 3 { throw SomeError() }
            return count
        }

        func makeAsyncIterator() -> Self { self }
    }

    @Test func `A sequence without isolation is tracked`() async {
        await #expect(throws: SomeError()) {
            for try await _ in OldSequence().tracked(in: tracker, value: { "\($0)" }) {}
        }
        #expect(!tracker.status.isLoading)
    }

    /// Its elements cannot leave the actor of the loop.
    private struct ActorOnly: AsyncSequence, AsyncIteratorProtocol {
        final class Box {
            var number = 1
        }

        var count = 0

        mutating func next(isolation actor: isolated (any Actor)?) async -> Box? {
            actor?.preconditionIsolated()
            #expect(actor === MainActor.shared)
            count += 1
            await Task.yield()
            return count < 3 ? Box() : nil
        }

        func makeAsyncIterator() -> Self { self }
    }

    @MainActor @Test func `The base is iterated on the actor of the loop`() async {
        var sum = 0
        for await box in ActorOnly().tracked(in: tracker, value: { "\($0.number)" }) {
            sum += box.number
            MainActor.assertIsolated()
        }
        #expect(sum == 2)
        #expect(!tracker.status.isLoading)
    }
}
