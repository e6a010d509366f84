import Foundation

/// A thread of its own, because tasks share too few to get into each other's way.
final class WaitableThread: Sendable {
    private let done: AsyncStream<Void>

    init(_ body: @escaping @Sendable () -> Void) {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        done = stream
        Thread.detachNewThread {
            body()
            continuation.finish()
        }
    }

    func wait() async {
        for await _ in done {}
    }
}
