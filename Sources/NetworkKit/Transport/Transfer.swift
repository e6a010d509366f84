import Foundation
import HTTPTypes
import IndicatorCore

/// What brings the response of a transfer: libcurl, or a stub.
package protocol ResponseSource: Sendable {
    /// Begins, pauses, continues or ends a transfer, as its ``TransferStateMachine`` requires. Called on any thread.
    func attend(to transfer: Transfer)
}

/// What has happened in a transfer.
enum TransferEvent: Sendable {
    case sent(Int64)
    /// A response has begun: its head, and the length of its body, if known.
    case began(ResponseHead, bodyCount: Int64?)
    case received(Int)
    case ended(bytesReceived: Int64, (any Error)?)
}

/// One request and its response, without redirects: the lock around a ``TransferStateMachine``.
package final class Transfer: Sendable {
    package typealias Machine = TransferStateMachine<@Sendable () -> Void>

    package let request: NetworkRequest
    let body: PreparedBody?
    /// The scheme, host and port of the URL.
    let origin: [String]
    /// The longest body that is kept in memory.
    private let limit: Int?
    private let source: any ResponseSource
    /// Called on the network's thread, or the one that cancels.
    let onEvent: @Sendable (TransferEvent) -> Void
    private let machine: Locked<Machine>

    /// Creates a transfer. `setSuspended(false)` starts it.
    init(
        _ request: NetworkRequest,
        body: PreparedBody?,
        delivery: Machine.Delivery,
        source: any ResponseSource,
        onEvent: @escaping @Sendable (TransferEvent) -> Void
    ) {
        (self.request, self.body, self.source, self.onEvent) = (request, body, source, onEvent)
        origin = request.url.origin
        limit = if case .whole(let limit) = delivery { limit } else { nil }
        machine = Locked(Machine(request.url, delivery))
    }

    // MARK: - Callers

    /// Pauses, starts or resumes the transfer.
    func setSuspended(_ isSuspended: Bool) {
        machine.withLock { $0.isSuspended = isSuspended }
        attend()
    }

    /// Ends the transfer and its connection.
    func cancel() {
        if finish(throwing: CancellationError()) { attend() }
    }

    func attend() { source.attend(to: self) }

    /// Waits for the head of the response. Cancelling the Swift task cancels the transfer.
    func head() async throws -> ResponseHead {
        await wait(for: .head)
        return try machine.withLock { try $0.takeHead() }
    }

    /// Waits for bytes of the body; `nil` at its end.
    func next() async throws -> Data? {
        await wait(for: .piece)
        let (piece, mayContinue) = try machine.withLock { try $0.takePiece() }
        if mayContinue { attend() }
        return piece
    }

    /// Waits for the whole response.
    func whole() async throws -> (ResponseHead, Data) {
        await wait(for: .end)
        return try machine.withLock { (try $0.takeHead(), try $0.takePiece().0 ?? Data()) }
    }

    private func wait(for part: Machine.Part) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // An executor of the app must not hold up the network's thread.
                let isForeign = withUnsafeCurrentTask { $0?.unownedTaskExecutor != nil }
                let resume = { @Sendable in
                    if isForeign { RequestThreads.run { continuation.resume() } } else { continuation.resume() }
                }
                machine.withLock { $0.wait(for: part, resume) }?()
            }
        } onCancel: {
            cancel()
        }
    }

    package func failure(_ kind: TransportFailure.Kind, _ reason: String) -> NetworkError {
        .transport(TransportFailure(url: request.url, kind: kind, reason: reason))
    }

    // MARK: - The source

    var hasEnded: Bool { machine.withLock { $0.hasEnded } }
    var isPaused: Bool { machine.withLock { $0.isPaused } }

    package func command() -> Machine.Command { machine.withLock { $0.command() } }
    package func begin() -> Bool { machine.withLock { $0.begin() } }
    package func mayTransfer(sends: Bool) -> Bool { machine.withLock { $0.mayTransfer(sends: sends) } }

    /// Takes the final head.
    package func received(_ head: ResponseHead) {
        let count = request.method == .head || !head.mayHaveBody ? 0 : head.bodyCount
        onEvent(.began(head, bodyCount: count))
        do {
            let next = try request.redirected(by: head)
            // A body that is compressed is not longer than what it says, but for a few bytes in a thousand.
            let least = count ?? head.length.map { $0 / 1010 * 1000 }
            if next == nil, let limit, let least, least > limit {
                throw NetworkError.responseTooLarge(request.url, limit: limit)
            }
            machine.withLock { $0.receive(head, isFollowed: next != nil) }?()
        } catch {
            // Its body may never end.
            finish(throwing: error)
            attend()
        }
    }

    /// Takes a piece of the body. Returns whether it was accepted.
    @discardableResult
    package func received(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let (reception, waiter) = machine.withLock { $0.receive(bytes) }
        // Before the waiting task continues, which may end this transfer and begin another one.
        switch reception {
        case .accepted: onEvent(.received(bytes.count))
        case .tooLong(let limit): finish(throwing: NetworkError.responseTooLarge(request.url, limit: limit))
        case .enough: finish(throwing: nil)
        case .stop: break
        }
        waiter?()
        return reception == .accepted
    }

    /// The error of a transfer that has taken longer than its time limit.
    var overdueFailure: NetworkError? {
        guard let deadline = request.deadline, deadline <= .now else { return nil }
        return failure(.timeLimitExceeded, "the request took longer than its time limit")
    }

    /// Ends the transfer and resumes the task that waits. Returns whether this was the first end, which counts.
    @discardableResult
    package func finish(throwing error: (any Error)?) -> Bool {
        let (end, count) = machine.withLock { machine in (machine.end(throwing: error), machine.bytesReceived) }
        if end.isFirst { onEvent(.ended(bytesReceived: count, error)) }
        end.1?()
        return end.isFirst
    }
}

/// The threads on which requests call their observers and access files.
enum RequestThreads {
    /// What blocks does not delay the rest, unless it blocks all of them at the same time.
    private static let threads = ServiceThread(name: "network-calls", limit: 256)
    /// Whether there is at least one, from then on.
    private static let hasThread = Locked(false)

    /// Calls a function on one of the threads; on the caller's while the process can have none.
    static func run(_ body: @escaping @Sendable () -> Void) {
        let hasThread = hasThread.withLock { hasThread in
            // Under the lock: nobody else may rely on a thread before it has been started.
            hasThread = hasThread || threads.start()
            return hasThread
        }
        if hasThread { threads.call(at: .min, body) } else { body() }
    }
}

/// Runs blocking work, such as file access, outside Swift's cooperative thread pool.
func blocking<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        RequestThreads.run { continuation.resume(with: Result(catching: work)) }
    }
}
