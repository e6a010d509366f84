import Foundation

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
    package func join() async { for await _ in done {} }
}
