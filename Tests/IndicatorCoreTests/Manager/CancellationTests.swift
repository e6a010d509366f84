import Foundation
import IndicatorThreads
import TestSupport
import Testing

@testable import IndicatorCore

/// Requests of the user to cancel what the indicator shows.
@Suite struct CancellationTests {
    /// A backend with a button.
    private final class Button: IndicatorBackend {
        let name = "button"
        private let control = Locked<IndicatorControl?>(nil)

        func attach(to control: IndicatorControl) { self.control.withLock { $0 = control } }
        func start() async throws {}
        func update(_ snapshot: IndicatorSnapshot) async throws {}
        func stop() async {}

        var isThere: Bool { control.withLock { $0 }?.isCancellable() ?? false }
        func press(_ label: String? = nil) { control.withLock { $0 }?.requestCancellation(label) }
    }

    /// Waits until the task is cancelled.
    private static func wait() async throws {
        let (stream, _) = AsyncStream<Void>.makeStream()
        for await _ in stream {}
        try Task.checkCancellation()
    }

    @Test("A request cancels all cancellable tasks, and only those")
    func tasks() async throws {
        let button = Button()
        let indicator = IndicatorManager(backends: [button])
        #expect(!button.isThere)
        let other = Task { try await indicator.withActivity("other") { try await Self.wait() } }
        let cancellable = (0..<3).map { index in
            Task { try await indicator.withActivity("\(index)", cancellable: true) { try await Self.wait() } }
        }
        #expect(await eventually { button.isThere && indicator.activityCount == 4 })
        button.press()
        for task in cancellable {
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        #expect(!button.isThere && indicator.activityCount == 1)
        #expect(!other.isCancelled)
        other.cancel()
        _ = await other.result
        await indicator.shutdown()
    }

    @Test("The outcome is that the activity was cancelled")
    func outcome() async throws {
        let button = Button()
        let indicator = IndicatorManager(backends: [button])
        let finished = Task {
            for await snapshot in indicator.snapshots {
                if let first = snapshot.finished.first { return first.outcome }
            }
            return ActivityOutcome.unspecified
        }
        let task = Task { try await indicator.withActivity("Uploading", cancellable: true) { try await Self.wait() } }
        #expect(await eventually { button.isThere && indicator.snapshot.label == "Uploading" })
        button.press()
        _ = await task.result
        #expect(await finished.value == .cancelled)
        await indicator.shutdown()
    }

    @Test("Each subscriber gets each request, until it ends or the indicator is shut down")
    func subscribers() async throws {
        let button = Button()
        let indicator = IndicatorManager(backends: [button])
        var first = indicator.cancellationRequests.makeAsyncIterator()
        let labels = Locked<[String?]>([])
        let second = Task { [requests = indicator.cancellationRequests] in
            for await request in requests { labels.withLock { $0.append(request.label) } }
        }
        #expect(button.isThere)
        button.press("Uploading")
        #expect(await first.next() == CancellationRequest(label: "Uploading"))
        button.press()
        #expect(await first.next() == CancellationRequest(label: nil))
        // A request that is on its way at the shutdown may be lost.
        #expect(await eventually { labels.withLock { $0 } == ["Uploading", nil] })
        await indicator.shutdown()
        await second.value
        #expect(await first.next() == nil)
        var late = indicator.cancellationRequests.makeAsyncIterator()
        #expect(await late.next() == nil)
        #expect(!button.isThere)
    }

    @Test("A subscriber that has ended leaves no button")
    func endedSubscriber() async throws {
        let button = Button()
        let indicator = IndicatorManager(backends: [button])
        let task = Task { for await _ in indicator.cancellationRequests {} }
        #expect(await eventually { button.isThere })
        task.cancel()
        await task.value
        #expect(await eventually { !button.isThere })
        await indicator.shutdown()
    }

    @Test("A handler that blocks delays its own function only, which keeps its task alive")
    func blockingHandler() async throws {
        let button = Button()
        let indicator = IndicatorManager(backends: [button])
        let isBlocked = Locked(false)
        let goOn = DispatchSemaphore(value: 0)
        let (stream, continuation) = AsyncStream<Void>.makeStream()
        let task = Task {
            await indicator.withActivity("blocks", cancellable: true) {
                await withTaskCancellationHandler {
                    for await _ in stream {}
                } onCancel: {
                    isBlocked.withLock { $0 = true }
                    continuation.finish()
                    goOn.wait()
                }
            }
        }
        #expect(await eventually { button.isThere })
        button.press()
        #expect(await eventually { isBlocked.withLock { $0 } })
        // Others go on.
        let other = Task { try await indicator.withActivity("other", cancellable: true) { try await Self.wait() } }
        #expect(await eventually { indicator.activityCount == 2 })
        button.press()
        await #expect(throws: CancellationError.self) { try await other.value }
        #expect(indicator.activityCount == 1)
        goOn.signal()
        await task.value
        #expect(indicator.activityCount == 0 && !button.isThere)
        await indicator.shutdown()
    }

    @Test("A function returns while the handler of one that began before it blocks")
    func blockingHandlerBefore() async throws {
        let button = Button()
        let indicator = IndicatorManager(backends: [button])
        let isBlocked = Locked(false)
        let goOn = DispatchSemaphore(value: 0)
        let (stream, continuation) = AsyncStream<Void>.makeStream()
        let first = Task {
            await indicator.withActivity("blocks", cancellable: true) {
                await withTaskCancellationHandler {
                    // Goes on after the handler: until then, it would block a thread.
                    await Task { for await _ in stream {} }.value
                } onCancel: {
                    isBlocked.withLock { $0 = true }
                    goOn.wait()
                }
            }
        }
        #expect(await eventually { indicator.activityCount == 1 })
        let (otherStream, end) = AsyncStream<Void>.makeStream()
        let second = Task {
            await indicator.withActivity("other", cancellable: true) { for await _ in otherStream {} }
        }
        #expect(await eventually { indicator.activityCount == 2 })
        button.press()
        #expect(await eventually { isBlocked.withLock { $0 } })
        end.finish()
        await second.value
        #expect(indicator.activityCount == 1 && !second.isCancelled)
        goOn.signal()
        continuation.finish()
        await first.value
        await indicator.shutdown()
    }

    /// Runs the jobs of a task when the test says so.
    private final class StepExecutor: TaskExecutor {
        private let jobs = Locked<[UnownedJob]>([])

        var isReady: Bool { jobs.withLock { !$0.isEmpty } }

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            jobs.withLock { $0.append(job) }
        }

        func step() { jobs.withLock { $0.popLast() }?.runSynchronously(on: asUnownedTaskExecutor()) }
    }

    @Test("A task whose end waited for a cancellation is not cancelled again: it may be gone")
    func endAfterCancellation() async throws {
        let cancellation = Cancellation()
        let isBlocked = Locked(false)
        let goOn = DispatchSemaphore(value: 0)
        let number = Locked<UInt64?>(nil)
        let (stream, continuation) = AsyncStream<Void>.makeStream()
        let task = Task { @Sendable in
            await withTaskCancellationHandler {
                number.withLock { $0 = cancellation.beginTask() }
                await Task { for await _ in stream {} }.value
            } onCancel: {
                isBlocked.withLock { $0 = true }
                goOn.wait()
            }
        }
        #expect(await eventually { cancellation.isPossible })
        cancellation.request(CancellationRequest())
        #expect(await eventually { isBlocked.withLock { $0 } })
        let executor = StepExecutor()
        let begun = try #require(number.withLock { $0 })
        let end = Task(executorPreference: executor) { @Sendable in await cancellation.end(begun) }
        #expect(await eventually { executor.isReady })
        executor.step()
        #expect(!executor.isReady)
        goOn.signal()
        #expect(await eventually { executor.isReady })
        // The cancellation has returned, and the end has not gone on since.
        #expect(!cancellation.isPossible)
        executor.step()
        await end.value
        continuation.finish()
        await task.value
    }

    @Test("Requests and ends at the same time: every task ends, and none is cancelled after its end")
    func races() async throws {
        let button = Button()
        let indicator = IndicatorManager(backends: [button])
        await withTaskGroup { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<500 {
                        async let child: Void = indicator.withActivity("child", cancellable: true) {
                            await Task.yield()
                        }
                        await child
                    }
                }
            }
            group.addTask {
                for _ in 0..<2000 {
                    button.press()
                    await Task.yield()
                }
            }
        }
        #expect(indicator.activityCount == 0)
        #expect(await eventually { !button.isThere })
        await indicator.shutdown()
    }
}
