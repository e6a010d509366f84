import TestSupport

/// Loops as activities.
@Suite struct TrackedSequenceTests {
    private struct Failure: Error, CustomStringConvertible {
        var description: String { "the disk is full" }
    }

    private let surface = InMemoryBackend()
    private let manager: IndicatorManager

    init() throws { manager = IndicatorManager(delays: .zero, backends: [surface]) }

    private func outcomes() async -> [ActivityOutcome] {
        await manager.shutdown()
        return surface.finished.map(\.outcome)
    }

    @Test func `A loop advances with each element`() async {
        var progress: [Double?] = []
        for _ in ["a", "b", "c", "d"].tracked("Compressing", in: manager) {
            progress.append(manager.snapshot.progress)
            #expect(manager.snapshot.label == "Compressing")
        }
        #expect(progress == [0, 0.25, 0.5, 0.75])
        #expect(manager.activityCount == 0)
        #expect(await outcomes() == [.succeeded])
    }

    @Test func `A break and a throw are cancellations`() async {
        for number in (1...9).tracked("breaking", in: manager) where number == 3 { break }
        #expect(manager.activityCount == 0)
        do {
            for number in [1, 2].tracked("throwing", in: manager) where number == 2 { throw Failure() }
        } catch {}
        #expect(manager.activityCount == 0)
        #expect(await outcomes() == [.cancelled, .cancelled])
    }

    /// A loop that throws looks like one that is left.
    @Test func `forEach knows the error of its body`() async throws {
        #expect(throws: Failure.self) {
            try [1, 2].tracked("one", in: manager).forEach { if $0 == 2 { throw Failure() } }
        }
        await #expect(throws: Failure.self) {
            try await [1, 2].tracked("two", in: manager).forEach { number async throws in
                await Task.yield()
                if number == 2 { throw Failure() }
            }
        }
        let numbers = AsyncStream<Int> { continuation in
            for number in 1...3 { continuation.yield(number) }
            continuation.finish()
        }
        await #expect(throws: Failure.self) {
            try await numbers.tracked("three", in: manager).forEach { if $0 == 2 { throw Failure() } }
        }
        #expect(throws: CancellationError.self) {
            try [1].tracked("four", in: manager).forEach { _ in throw CancellationError() }
        }
        #expect(manager.activityCount == 0)
        var sum = 0
        [1, 2].tracked("five", in: manager).forEach { sum += $0 }
        await [1, 2].tracked("six", in: manager).forEach {
            await Task.yield()
            sum += $0
        }
        try await numbers.tracked("seven", in: manager).forEach { sum += $0 }
        #expect(sum == 9)
        // Of a task that was cancelled, whatever its function throws.
        let task = Task { [manager] in
            try await AsyncStream<Int> { $0.yield(1) }.tracked("eight", in: manager).forEach { _ in
                withUnsafeCurrentTask { $0?.cancel() }
                throw Failure()
            }
        }
        await #expect(throws: Failure.self) { try await task.value }
        let failure = ActivityOutcome.failed("the disk is full")
        let outcomes = await outcomes()
        #expect(outcomes == [failure, failure, failure, .cancelled, .succeeded, .succeeded, .succeeded, .cancelled])
    }

    @Test func `An element may count as several steps`() async {
        var progress: [Double?] = []
        for _ in ["aaa", "b"].tracked("Writing", in: manager, total: 4, unit: .bytes, by: \.utf8.count) {
            progress.append(manager.snapshot.progress)
        }
        #expect(progress == [0, 0.75])
        // Without a total there is no progress: the number of elements would be wrong.
        for _ in ["aaa", "b"].tracked("Writing", in: manager, by: \.utf8.count) {
            #expect(manager.snapshot.progress == nil)
        }
    }

    @Test func `An empty sequence succeeds`() async {
        for _ in [Int]().tracked("nothing", in: manager) {}
        #expect(await outcomes() == [.succeeded])
    }

    @Test func `An asynchronous sequence has the outcome of its end`() async throws {
        let chunks = AsyncThrowingStream<[UInt8], any Error> { continuation in
            continuation.yield([1, 2, 3])
            continuation.yield([4])
            continuation.finish()
        }
        var progress: [Double?] = []
        for try await _ in chunks.tracked("Downloading", in: manager, total: 4, unit: .bytes, by: \.count) {
            progress.append(manager.snapshot.progress)
        }
        #expect(progress == [0, 0.75])
        let failing = AsyncThrowingStream<Int, any Error> { $0.finish(throwing: Failure()) }
        await #expect(throws: Failure.self) {
            for try await _ in failing.tracked("failing", in: manager) {}
        }
        let endless = AsyncStream<Int> { continuation in
            for number in 1...3 { continuation.yield(number) }
        }
        for await number in endless.tracked("breaking", in: manager) where number == 2 { break }
        #expect(manager.activityCount == 0)
        #expect(await outcomes() == [.succeeded, .failed("the disk is full"), .cancelled])
    }

    @Test func `A cancelled task cancels its loop`() async {
        let manager = manager
        let steps = AsyncStream {
            // The only thread of tasks, with one core, is also for the test.
            await Task.yield()
            return 1
        }
        let task = Task { for await _ in steps.tracked("endless", in: manager) {} }
        #expect(await eventually { manager.activityCount == 1 })
        task.cancel()
        await task.value
        #expect(await outcomes() == [.cancelled])
    }

    @Test func `A loop can be a member of a group`() async {
        manager.withActivity("Group", total: 2) { group in
            for _ in [1, 2].tracked("loop", in: group) {
                #expect(manager.snapshot.activities.map(\.depth) == [0, 1])
                #expect(manager.activityCount == 1)
            }
            #expect(manager.snapshot.progress == 0.5)
        }
    }
}
