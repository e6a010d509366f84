import CIndicatorLinux
public import Synchronization

/// A value protected by a lock.
///
/// Unlike the standard library's `Mutex`, it is not fair: a running thread takes a free lock before a thread that was
/// waiting for it has woken up. `Mutex` hands itself to the thread that waits longest; with more threads than
/// processors, each critical section then costs a switch of threads, and throughput falls to a hundredth.
@frozen @usableFromInline
package struct Locked<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
    // `@unchecked`: `value` is only accessed while `lock` is held.
    @usableFromInline let lock = FutexLock()
    /// The storage that `Mutex` and `Atomic` use: part of their frozen layout, although its name has an underscore.
    @usableFromInline let value: _Cell<Value>

    /// Protects a value.
    @inlinable @inline(__always)
    package init(_ value: consuming sending Value) {
        self.value = _Cell(value)
    }

    /// Calls a function with the value, and with the lock held.
    @inlinable @inline(__always)
    package borrowing func withLock<Result: ~Copyable, E: Error>(
        _ body: (inout sending Value) throws(E) -> sending Result
    ) throws(E) -> sending Result {
        lock.lock()
        defer { lock.unlock() }
        // In one expression, the thread sanitizer would take it for a change of the whole of `self`.
        let address = value._address
        return try body(&address.pointee)
    }

    /// Whether a thread may sleep until the lock is released. Read it with the lock held.
    package var isAwaited: Bool { lock.isAwaited }
}

/// A lock of one atomic and futex(2), which the thread sanitizer understands: `mutex2` of Ulrich Drepper's "Futexes Are
/// Tricky", whose threads look before they sleep.
@frozen @usableFromInline
struct FutexLock: ~Copyable, Sendable {
    /// 0: free. 1: locked. 2: locked, and a thread may sleep until it is released.
    @usableFromInline let state = Atomic<UInt32>(0)

    @inlinable @inline(__always)
    init() {}

    @inlinable @inline(__always)
    borrowing func lock() {
        if !state.compareExchange(expected: 0, desired: 1, ordering: .acquiring).exchanged { lockOrWait() }
    }

    @inlinable @inline(__always)
    borrowing func unlock() {
        if state.exchange(0, ordering: .releasing) == 2 { wakeOne() }
    }

    var isAwaited: Bool { state.load(ordering: .relaxed) == 2 }

    /// Looks five times, and pauses twice as long each time: two threads that look often take the lock from each other
    /// in turns, and each section then waits for the memory that the other core has changed.
    @usableFromInline @inline(never)
    borrowing func lockOrWait() {
        for look in 0..<5 {
            for _ in 0..<(4 << look) { linux_pause() }
            guard state.load(ordering: .relaxed) == 0 else { continue }
            if state.compareExchange(expected: 0, desired: 1, ordering: .acquiring).exchanged { return }
        }
        // Whether others sleep is not known to the thread that wakes up: it wakes one when it unlocks.
        while state.exchange(2, ordering: .acquiring) != 0 {
            withUnsafePointer(to: state) { linux_futex_wait($0, 2) }
        }
    }

    @usableFromInline @inline(never)
    borrowing func wakeOne() { withUnsafePointer(to: state) { linux_futex_wake_one($0) } }
}
