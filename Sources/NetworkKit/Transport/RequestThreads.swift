import DequeModule
import Dispatch
import Foundation
import IndicatorThreads

/// The threads on which requests call their observers and access files.
///
/// What blocks does not delay the rest: another thread is started when all are busy for some time, during which calls
/// usually return. A thread ends after a second without work. If none can be started, the caller's thread does the
/// work; libdispatch would wait for one without end.
enum RequestThreads {
    private struct State {
        var waiting: Deque<@Sendable () -> Void> = []
        /// The threads that wait for `work`, and have not been woken.
        var idleCount = 0
        /// All threads, with the one that is being started.
        var count = 0
        var isStarting = false

        /// Whether the caller must start a thread.
        mutating func mustStart() -> Bool {
            guard !waiting.isEmpty, idleCount == 0, !isStarting else { return false }
            isStarting = true
            count += 1
            return true
        }
    }

    /// How long all threads are busy before another one starts to work, in microseconds.
    private static let pause: UInt32 = 5000

    private static let state = Locked(State())
    private static let work = DispatchSemaphore(value: 0)

    /// Calls a function on one of the threads.
    static func run(_ body: @escaping @Sendable () -> Void) {
        let (wakesOne, startsOne) = state.withLock { state in
            state.waiting.append(body)
            defer { state.idleCount = max(state.idleCount - 1, 0) }
            return (state.idleCount > 0, state.mustStart())
        }
        if wakesOne { work.signal() }
        if startsOne { start() }
    }

    private static func start() {
        let isStarted = ThreadStarter.start(named: "network-calls") {
            if state.withLock({ $0.count > 1 }) { usleep(pause) }
            state.withLock { $0.isStarting = false }
            repeat { callWaiting() } while mayContinue()
        }
        if isStarted { return }
        // The process has reached its limits.
        state.withLock { state in
            state.isStarting = false
            state.count -= 1
        }
        callWaiting(startsOthers: false)
    }

    private static func callWaiting(startsOthers: Bool = true) {
        while true {
            let (body, startsOne) = state.withLock { ($0.waiting.popFirst(), startsOthers && $0.mustStart()) }
            guard let body else { return }
            if startsOne { start() }
            body()
        }
    }

    /// Waits for work; returns whether there is some.
    private static func mayContinue() -> Bool {
        let isIdle = state.withLock { state in
            guard state.waiting.isEmpty else { return false }
            state.idleCount += 1
            return true
        }
        guard isIdle, work.wait(timeout: .now() + .seconds(1)) == .timedOut else { return true }
        let ends = state.withLock { state in
            // Otherwise, this thread has been woken meanwhile.
            guard state.idleCount > 0 else { return false }
            state.idleCount -= 1
            state.count -= 1
            return true
        }
        if !ends { work.wait() }
        return !ends
    }
}

/// Runs blocking work, such as file access, outside Swift's cooperative thread pool.
func blocking<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        RequestThreads.run { continuation.resume(with: Result(catching: work)) }
    }
}
