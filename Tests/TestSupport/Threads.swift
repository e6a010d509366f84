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

/// Calls a function again and again on threads, with their number, until another one has returned.
package func whileRepeating(
    on threadCount: Int = 1,
    _ repeated: @escaping @Sendable (Int) -> Void,
    _ body: () async throws -> Void
) async rethrows {
    final class Flag: Sendable { let isDone = Locked(false) }
    let flag = Flag()
    let threads = (0..<threadCount).map { number in
        JoinableThread {
            while !flag.isDone.withLock(\.self) {
                repeated(number)
                // What needs the same lock may wait long for it.
                usleep(20)
            }
        }
    }
    defer { flag.isDone.withLock { $0 = true } }
    try await body()
    flag.isDone.withLock { $0 = true }
    for thread in threads { await thread.join() }
}

/// Calls a closure when it is released, as a value may resume a task then.
package final class Token: Sendable {
    private let onRelease: @Sendable () -> Void

    package init(onRelease: @escaping @Sendable () -> Void) { self.onRelease = onRelease }

    deinit { onRelease() }
}

/// The name of the thread that releases a token, which `begin` makes and stores, when what `begin` returns is called on
/// a thread named "cancelling".
package func threadOfRelease(
    _ begin: (_ make: @escaping @Sendable () -> Token) async -> @Sendable () -> Void
) async -> String? {
    let names = Locked<[String?]>([])
    // Foundation knows only the names that it gave (proc(5)).
    let cancel = await begin {
        Token {
            let name = try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)
            names.withLock { $0.append(name.map { String($0.dropLast()) }) }
        }
    }
    let thread = JoinableThread {
        Thread.current.name = "cancelling"
        cancel()
    }
    await thread.join()
    #expect(await eventually { names.withLock { !$0.isEmpty } }, "the token was not released")
    return names.withLock { $0.first ?? nil }
}
