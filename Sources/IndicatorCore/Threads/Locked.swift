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

    /// Whether a thread sleeps until the lock is released, or has been woken and does not have it yet.
    package var isAwaited: Bool { lock.isAwaited }
}

/// A lock of atomics and futex(2), which the thread sanitizer understands.
///
/// When the lock is released, at most one thread is woken, and no other one until that thread has the lock or waits
/// again: meanwhile, running threads lock and unlock without system calls.
@frozen @usableFromInline
struct FutexLock: ~Copyable, Sendable {
    /// Bit 0: locked. Bit 1: a woken thread is on its way. The other bits: how many threads wait.
    @usableFromInline let state = Atomic<UInt32>(0)
    /// 1 when a waiting thread may wake up. It sets it back to 0.
    @usableFromInline let permit = Atomic<UInt32>(0)

    @inlinable @inline(__always)
    init() {}

    @inlinable @inline(__always)
    borrowing func lock() {
        if !state.compareExchange(expected: 0, desired: 1, ordering: .acquiring).exchanged { lockOrWait() }
    }

    @inlinable @inline(__always)
    borrowing func unlock() {
        if state.wrappingSubtract(1, ordering: .releasing).oldValue != 1 { wakeNext() }
    }

    /// Whether a thread waits, or has been woken.
    var isAwaited: Bool { state.load(ordering: .relaxed) > Self.locked }

    private static let (locked, woken, waiter) = (UInt32(1), UInt32(2), UInt32(4))
    /// How often a thread looks before it waits. It pauses twice as long each time: two threads that look often take
    /// the lock from each other in turns, and each section then waits for the memory that the other core has changed.
    private static let looks = 5

    @usableFromInline @inline(never)
    borrowing func lockOrWait() {
        var looks = 0
        var isWoken = false
        var seen = state.load(ordering: .relaxed)
        while true {
            let next: UInt32
            if seen & Self.locked == 0 {
                next = seen | Self.locked
            } else if looks < Self.looks {
                for _ in 0..<(4 << looks) { linux_pause() }
                looks += 1
                seen = state.load(ordering: .relaxed)
                continue
            } else {
                next = seen + Self.waiter
            }
            let (isExchanged, original) = state.weakCompareExchange(
                expected: seen,
                desired: isWoken ? next & ~Self.woken : next,
                ordering: .acquiring
            )
            if !isExchanged {
                seen = original
            } else if seen & Self.locked == 0 {
                return
            } else {
                while !permit.compareExchange(expected: 1, desired: 0, ordering: .acquiring).exchanged {
                    withUnsafePointer(to: permit) { linux_futex_wait($0, 0) }
                }
                (isWoken, looks) = (true, 0)
                seen = state.load(ordering: .relaxed)
            }
        }
    }

    /// Wakes a waiting thread, unless one is on its way, or the thread that has the lock meanwhile will do so.
    @usableFromInline @inline(never)
    borrowing func wakeNext() {
        var seen = state.load(ordering: .relaxed)
        while seen >= Self.waiter, seen & (Self.locked | Self.woken) == 0 {
            let (isExchanged, original) = state.weakCompareExchange(
                expected: seen,
                desired: seen - Self.waiter + Self.woken,
                ordering: .relaxed
            )
            if isExchanged {
                permit.store(1, ordering: .releasing)
                return withUnsafePointer(to: permit) { linux_futex_wake_one($0) }
            }
            seen = original
        }
    }
}
