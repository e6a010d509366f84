import Dispatch
import Foundation
import IndicatorThreads

/// Stops the threads of libcurl before the end of the process.
///
/// `exit` releases the memory of OpenSSL, which libcurl's threads use, and which a thread that ends releases, too. This
/// gate is closed before. Then no thread can enter, and the process waits until those inside have left. The threads are
/// not ended: they stop at the gate, and none of their requests ends.
enum ExitGate {
    private struct State {
        var count = 0
        var isClosed = false
    }

    private static let state = Locked(State())
    private static let allHaveLeft = DispatchSemaphore(value: 0)
    /// How long the process waits at most, for example for a file of a file system that hangs.
    private static let limit = DispatchTimeInterval.seconds(2)

    /// Begins to use libcurl, and returns `true`; `false` after the gate was closed.
    static func enter() -> Bool {
        state.withLock { state in
            if !state.isClosed { state.count += 1 }
            return !state.isClosed
        }
    }

    /// Ends using libcurl.
    static func leave() {
        let isLast = state.withLock { state in
            state.count -= 1
            return state.isClosed && state.count == 0
        }
        if isLast { allHaveLeft.signal() }
    }

    /// Begins to use libcurl on one of its threads, which stops here after the gate was closed.
    static func enterOrStop() {
        if !enter() { stop() }
    }

    /// Stops a thread inside after the gate was closed.
    static func stopIfClosed() {
        guard state.withLock({ $0.isClosed }) else { return }
        leave()
        stop()
    }

    private static func stop() -> Never {
        // All signals are blocked on the thread.
        while true { pause() }
    }

    /// Enters with a thread that leaves when it has ended, and its memory of OpenSSL was released.
    static func enterUntilThreadEnds() {
        enterOrStop()
        pthread_setspecific(key, UnsafeRawPointer(bitPattern: 1))
    }

    /// Its destructor is called at the end of a thread, like that of OpenSSL, and again after all others if it sets the
    /// value again (pthread_key_create(3)).
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key) { round in
            let round = Int(bitPattern: round)
            if round == 3 { return ExitGate.leave() }
            pthread_setspecific(ExitGate.key, UnsafeRawPointer(bitPattern: round + 1))
        }
        return key
    }()

    /// Closes the gate when the process ends. Call it after libcurl has initialized OpenSSL: `exit` calls the functions
    /// in reverse order of their registration.
    static func closeAtExit() {
        ForkedProcess.watch()
        atexit {
            // A child of fork(2) has none of the threads.
            if ForkedProcess.isChild { return }
            let isEmpty = ExitGate.state.withLock { state in
                state.isClosed = true
                return state.count == 0
            }
            if !isEmpty { _ = ExitGate.allHaveLeft.wait(timeout: .now() + ExitGate.limit) }
        }
    }
}
