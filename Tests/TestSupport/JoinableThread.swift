import Foundation

/// A thread of its own that can be waited for, because tasks share too few to get into each other's way.
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

    /// Returns when its body has.
    package func join() async {
        for await _ in done {}
    }
}
