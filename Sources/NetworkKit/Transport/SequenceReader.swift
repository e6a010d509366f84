import Foundation
import IndicatorThreads

/// Iterates over an asynchronous sequence of bytes for one attempt, one element ahead of libcurl.
final class SequenceReader: Sendable {
    private struct State {
        var bytes = Data()
        var end: Result<Void, any Error>?
        /// Resumed when the bytes were read.
        var waiter: CheckedContinuation<Void, Never>?
        var isCancelled = false
        var work: Task<Void, Never>?
    }

    private let state = Locked(State())

    /// Starts to iterate. `wake` is called when there are bytes, and at the end.
    func start(_ produce: @escaping RequestBody.Producer, wake: @escaping @Sendable () -> Void) {
        let work = Task {
            do {
                try await produce { try await self.pass($0, wake) }
                state.withLock { $0.end = .success(()) }
            } catch {
                state.withLock { $0.end = .failure(error) }
            }
            wake()
        }
        let isCancelled = state.withLock { state in
            state.work = work
            return state.isCancelled
        }
        if isCancelled { work.cancel() }
    }

    private func pass(_ bytes: Data, _ wake: @Sendable () -> Void) async throws {
        guard !bytes.isEmpty else { return }
        await withCheckedContinuation { continuation in
            let isCancelled = state.withLock { state in
                guard !state.isCancelled else { return true }
                (state.bytes, state.waiter) = (bytes, continuation)
                return false
            }
            if isCancelled { continuation.resume() } else { wake() }
        }
        if state.withLock({ $0.isCancelled }) { throw CancellationError() }
    }

    /// Reads some bytes; 0 at the end, and `nil` if there are none yet.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int? {
        let (count, waiter) = try state.withLock { state -> (Int?, CheckedContinuation<Void, Never>?) in
            guard !state.bytes.isEmpty else {
                try state.end?.get()
                return (state.end == nil ? nil : 0, nil)
            }
            let count = state.bytes.copyBytes(to: buffer)
            state.bytes = state.bytes.dropFirst(count)
            return (count, state.bytes.isEmpty ? state.waiter.take() : nil)
        }
        waiter?.resume()
        return count
    }

    func cancel() {
        let (work, waiter) = state.withLock { state in
            state.isCancelled = true
            return (state.work, state.waiter.take())
        }
        work?.cancel()
        waiter?.resume()
    }
}
