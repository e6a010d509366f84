import Foundation
import IndicatorCore
import IndicatorTracking
import TestSupport
import Testing

@Suite struct TrackedAsyncSequenceTests {
    private struct SomeError: Error, Equatable {}

    private let tracker = ActivityTracker(defaultValue: "default")

    /// The status when the iteration begins, in the body of the loop, and after it.
    private func statuses<Base: AsyncSequence>(of sequence: TrackedAsyncSequence<Base>) async throws -> [String] {
        var iterator = sequence.makeAsyncIterator()
        var lines = [tracker.status.line]
        while try await iterator.next() != nil { lines.append(tracker.status.line) }
        return lines + [tracker.status.line]
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

    @Test func `The value of an element is set in the body of the loop`() async {
        for await element in Elements(elements: ["a", "b"]).tracked(in: tracker, value: { $0 }) {
            #expect(tracker.status.associatedValue == element)
        }
    }

    @Test func `A break ends the activity`() async {
        for await _ in Elements(elements: [1, 2]).tracked(in: tracker) { break }
        #expect(!tracker.status.isLoading)
    }

    @Test func `The end of the sequence ends the activity immediately`() async {
        var iterator = Elements(elements: [1]).tracked(in: tracker).makeAsyncIterator()
        #expect(await iterator.next() == 1)
        #expect(tracker.status.isLoading)
        #expect(await iterator.next() == nil)
        #expect(!tracker.status.isLoading)
        #expect(await iterator.next() == nil)
    }

    @Test func `An error ends the activity and is passed on`() async throws {
        let (stream, continuation) = AsyncThrowingStream.makeStream(of: Int.self)
        continuation.yield(1)
        continuation.finish(throwing: SomeError())
        var iterator = stream.tracked(in: tracker, value: { "\($0)" }).makeAsyncIterator()
        #expect(try await iterator.next() == 1)
        #expect(tracker.status.line == "true 1")
        await #expect(throws: SomeError()) { try await iterator.next() }
        #expect(!tracker.status.isLoading)
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

    @Test func `The inner activity begins before the outer`() async {
        let tracked = Elements(elements: [1])
            .tracked(in: tracker, initialValue: "inner")
            .map { $0 + 1 }
            .tracked(in: tracker, initialValue: "outer")
        for await element in tracked {
            #expect(element == 2)
            #expect(tracker.status.line == "true inner")
        }
        #expect(!tracker.status.isLoading)
    }

    private struct TypedFailure: AsyncSequence, AsyncIteratorProtocol {
        mutating func next(isolation actor: isolated (any Actor)?) async throws(SomeError) -> Int? { throw SomeError() }
        func makeAsyncIterator() -> Self { self }
    }

    @Test func `The type of the error is kept`() async {
        do throws(SomeError) {
            for try await _ in TypedFailure().tracked(in: tracker) {}
        } catch {
            #expect(error == SomeError())
        }
        #expect(!tracker.status.isLoading)
    }

    @Test func `A sendable base makes a sendable sequence`() {
        func accept(_ sequence: some AsyncSequence & Sendable) {}
        accept(Elements(elements: [1]).tracked(in: tracker))
        accept(AsyncStream<Int> { $0.finish() }.tracked(in: tracker, value: { "\($0)" }))
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
