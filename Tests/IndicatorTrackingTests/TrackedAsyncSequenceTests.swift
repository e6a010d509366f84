import Foundation
import IndicatorCore
import IndicatorThreads
import IndicatorTracking
import TestSupport
import Testing

@Suite struct TrackedAsyncSequenceTests {
    private struct SomeError: Error, Equatable {}

    private let tracker = ActivityTracker(defaultValue: "default")
    private let recorder = StatusRecorder<String>()

    init() {
        tracker.subscribe(recorder)
    }

    private var lines: [String] { recorder.statuses.map(\.line) }

    @Test func theFourFormsDifferInTheSourceOfTheValue() async {
        let elements = Elements(elements: [1, 2])
        for await _ in elements.trackActivity(in: tracker) {}
        for await _ in elements.trackActivity(in: tracker, value: "constant") {}
        for await _ in elements.trackActivity(in: tracker, value: { "element \($0)" }) {}
        for await _ in elements.trackActivity(in: tracker, initialValue: nil, value: { $0 == 1 ? "one" : nil }) {}
        #expect(
            lines == [
                "false Empty",
                "true default", "false Empty",
                "true constant", "false Empty",
                "true default", "true element 1", "true element 2", "false Empty",
                "true Empty", "true one", "true Empty", "false Empty",
            ]
        )
    }

    @Test func theValueOfAnElementIsSetInTheBodyOfTheLoop() async {
        for await element in Elements(elements: ["a", "b"]).trackActivity(in: tracker, value: { $0 }) {
            #expect(tracker.status.associatedValue == element)
        }
    }

    @Test func breakEndsTheActivity() async {
        for await _ in Elements(elements: [1, 2]).trackActivity(in: tracker) { break }
        #expect(!tracker.status.isLoading)
    }

    @Test func theEndOfTheSequenceEndsTheActivityImmediately() async {
        var iterator = Elements(elements: [1]).trackActivity(in: tracker).makeAsyncIterator()
        #expect(await iterator.next() == 1)
        #expect(tracker.status.isLoading)
        #expect(await iterator.next() == nil)
        #expect(!tracker.status.isLoading)
        #expect(await iterator.next() == nil)
        #expect(recorder.statuses.count == 3)
    }

    @Test func anErrorEndsTheActivityAndIsPassedOn() async throws {
        let (stream, continuation) = AsyncThrowingStream.makeStream(of: Int.self)
        continuation.yield(1)
        continuation.finish(throwing: SomeError())
        var iterator = stream.trackActivity(in: tracker, value: { "\($0)" }).makeAsyncIterator()
        #expect(try await iterator.next() == 1)
        #expect(tracker.status.isLoading)
        await #expect(throws: SomeError()) { try await iterator.next() }
        #expect(!tracker.status.isLoading)
        #expect(lines == ["false Empty", "true default", "true 1", "false Empty"])
    }

    @Test func theActivityEndsWithTheLastCopyOfTheIterator() async {
        var first: TrackedAsyncSequence<Elements<Int>>.AsyncIterator? =
            Elements(elements: [1]).trackActivity(in: tracker).makeAsyncIterator()
        var second = first
        first = nil
        #expect(first == nil)
        #expect(tracker.status.isLoading)
        #expect(await second?.next() == 1)
        second = nil
        #expect(!tracker.status.isLoading)
        #expect(recorder.statuses.count == 3)
    }

    @Test func theInnerActivityBeginsBeforeTheOuter() async {
        let tracked = Elements(elements: [1])
            .trackActivity(in: tracker, value: "inner")
            .map { $0 + 1 }
            .trackActivity(in: tracker, value: "outer")
        for await element in tracked { #expect(element == 2) }
        #expect(lines == ["false Empty", "true inner", "true outer", "false Empty"])
    }

    // MARK: - Properties of the base that are kept

    private struct TypedFailure: AsyncSequence, AsyncIteratorProtocol {
        mutating func next(isolation actor: isolated (any Actor)?) async throws(SomeError) -> Int? { throw SomeError() }
        func makeAsyncIterator() -> Self { self }
    }

    @Test func theTypeOfTheErrorIsKept() async {
        do throws(SomeError) {
            for try await _ in TypedFailure().trackActivity(in: tracker) {}
        } catch {
            #expect(error == SomeError())
        }
        #expect(!tracker.status.isLoading)
    }

    @Test func aSendableBaseMakesASendableSequence() {
        func accept(_ sequence: some AsyncSequence & Sendable) {}
        accept(Elements(elements: [1]).trackActivity(in: tracker))
        accept(AsyncStream<Int> { $0.finish() }.trackActivity(in: tracker, value: { "\($0)" }))
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

    @Test func aSequenceWithoutIsolationIsTracked() async {
        await #expect(throws: SomeError()) {
            for try await _ in OldSequence().trackActivity(in: tracker, value: { "\($0)" }) {}
        }
        #expect(lines == ["false Empty", "true default", "true 1", "true 2", "false Empty"])
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

    @MainActor @Test func theBaseIsIteratedOnTheActorOfTheLoop() async {
        var sum = 0
        for await box in ActorOnly().trackActivity(in: tracker, value: { "\($0.number)" }) {
            sum += box.number
            MainActor.assertIsolated()
        }
        #expect(sum == 2)
        #expect(lines == ["false Empty", "true default", "true 1", "false Empty"])
    }
}
