#if THREAD_SANITIZER
import Foundation

/// A value protected by a lock: a replacement of `Synchronization.Mutex` for the thread sanitizer, with a POSIX mutex.
///
/// The sanitizer supports POSIX mutexes, but not the futex calls of the standard library's `Mutex`, so it would report
/// every critical section as a race. `Scripts/thread-sanitizer` defines `THREAD_SANITIZER` for that build only.
public struct Locked<Value>: ~Copyable, @unchecked Sendable {
    // `@unchecked`: `value` is only accessed while `mutex` is locked.
    private final class Storage {
        var mutex = pthread_mutex_t()
        var value: Value

        init(_ value: consuming sending Value) {
            self.value = value
            pthread_mutex_init(&mutex, nil)
        }

        deinit {
            pthread_mutex_destroy(&mutex)
        }
    }

    private let storage: Storage

    /// Protects a value.
    public init(_ value: consuming sending Value) {
        storage = Storage(value)
    }

    /// Calls a function with the value, and with the lock held.
    public borrowing func withLock<Result: ~Copyable, E: Error>(
        _ body: (inout sending Value) throws(E) -> sending Result
    ) throws(E) -> sending Result {
        pthread_mutex_lock(&storage.mutex)
        defer { pthread_mutex_unlock(&storage.mutex) }
        return try body(&storage.value)
    }
}
#else
public import Synchronization

/// A value protected by a lock: `Synchronization.Mutex`.
///
/// Public, since nothing of `package` access is inlined into other modules. This module is not a product.
@frozen
public struct Locked<Value>: ~Copyable, Sendable {
    @usableFromInline let mutex: Mutex<Value>

    /// Protects a value.
    @inlinable @inline(__always)
    public init(_ value: consuming sending Value) {
        mutex = Mutex(value)
    }

    /// Calls a function with the value, and with the lock held.
    @inlinable @inline(__always)
    public borrowing func withLock<Result: ~Copyable, E: Error>(
        _ body: (inout sending Value) throws(E) -> sending Result
    ) throws(E) -> sending Result {
        try mutex.withLock(body)
    }
}
#endif
