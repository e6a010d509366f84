import Foundation
import IndicatorCore
import IndicatorThreads

/// A separate thread for code that blocks, as the runner of a backend has one: pass it to `Task(executorPreference:)`.
///
/// Blocking the threads that all tests share would delay other tests, and on a small machine all of them.
package final class OwnThread: TaskExecutor {
    private let queue = DispatchQueue(label: "own thread")
    /// The folder in `/proc` of the thread that runs a job now.
    private let runningThread = Locked<String?>(nil)

    package init() {}

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { [self] in
            let thread = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")) ?? ""
            runningThread.withLock { $0 = "/proc/" + thread }
            job.runSynchronously(on: asUnownedTaskExecutor())
            runningThread.withLock { $0 = nil }
        }
    }

    /// Whether the code on the thread has begun and is blocked in the kernel.
    package var isBlocked: Bool {
        guard let folder = runningThread.withLock({ $0 }),
            let status = try? String(contentsOfFile: folder + "/stat", encoding: .utf8),
            // The state follows the name, which is in parentheses and may have any character in it.
            let state = status.split(separator: ")").last?.split(separator: " ").first
        else { return false }
        return state == "S"
    }
}

/// A thread that can be joined: tasks share too few threads to cause contention.
package final class JoinableThread: Sendable {
    private let done: AsyncStream<Void>

    package init(_ body: @escaping @Sendable () -> Void) {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        done = stream
        Thread.detachNewThread {
            body()
            continuation.finish()
        }
    }

    /// Returns when its body has returned.
    package func join() async {
        for await _ in done {}
    }
}
