import Foundation

/// What a transfer does, between libcurl's thread, the task that reads, and callers that pause or cancel.
///
/// Each input returns what the caller has to do after the lock was released. `Waiter` resumes the task that
/// reads.
package struct TransferStateMachine<Waiter: Sendable>: Sendable {
    /// How the response is delivered.
    enum Delivery: Sendable {
        /// At once at its end. A body of more bytes is an error.
        case whole(limit: Int)
        /// The head first, then pieces of the body. The network is paused while so many bytes wait to be read.
        case pieces(capacity: Int)
    }

    /// The part of the response that has arrived.
    private enum Response {
        /// No head.
        case none
        /// The head, and perhaps a part of the body.
        case head(ResponseHead)
        /// The head of a redirect that is followed. Its body is not kept, and need not arrive.
        case redirect(ResponseHead, discarded: Int)
        /// All of it.
        case complete(ResponseHead)
        /// It ended with an error, perhaps after the head.
        case failed(ResponseHead?, any Error)
    }

    /// What the network has been asked for.
    private enum Network {
        /// Nothing.
        case idle
        /// To begin when the transfer's host has a connection.
        case queued
        case running
        /// To wait: the transfer is suspended, or nobody reads.
        case paused
        /// Nothing more: everything was released.
        case released
    }

    /// What the reading task waits for.
    enum Part: Sendable {
        case head
        /// A piece of the body, or its end.
        case piece
        case end
    }

    /// What the network's thread does next.
    package enum Command: Equatable, Sendable {
        case none, queue, dequeue, pause, resume, release
    }

    /// What a piece of a body leads to.
    package enum Reception: Equatable, Sendable {
        case accepted
        /// It would exceed the limit of the whole body: the transfer ends with an error.
        case tooLong(limit: Int)
        /// No more of a redirect's body is read: the transfer ends.
        case enough
        /// The transfer has ended.
        case stop
    }

    private let url: URL
    private let delivery: Delivery
    private var response = Response.none
    private var network = Network.idle
    private var reader: (part: Part, waiter: Waiter)?
    /// Also before the transfer is started.
    var isSuspended = true
    /// The bytes that were not read.
    private var buffer = Data()
    private(set) var bytesReceived: Int64 = 0

    init(_ url: URL, _ delivery: Delivery) { (self.url, self.delivery) = (url, delivery) }

    var hasEnded: Bool {
        switch response {
        case .complete, .failed: true
        case .none, .head, .redirect: false
        }
    }

    /// Whether the network waits for the reader or for the end of a suspension.
    var isPaused: Bool { if case .paused = network { true } else { false } }

    private var isFull: Bool { if case .pieces(let capacity) = delivery { buffer.count >= capacity } else { false } }

    // MARK: - The network

    /// What the network's thread has to do now.
    mutating func command() -> Command {
        switch network {
        case .idle:
            guard !hasEnded else { return .none }
            network = .queued
            return .queue
        case .queued:
            guard hasEnded else { return .none }
            network = .released
            return .dequeue
        case .running where hasEnded, .paused where hasEnded:
            network = .released
            return .release
        case .running where isSuspended:
            network = .paused
            return .pause
        case .paused where !isSuspended && !isFull:
            network = .running
            return .resume
        case .running, .paused, .released:
            return .none
        }
    }

    /// Begins; `false` unless the transfer is queued, and neither suspended nor ended.
    mutating func begin() -> Bool {
        guard case .queued = network, !isSuspended, !hasEnded else { return false }
        network = .running
        return true
    }

    /// Whether the network may send a piece of the request's body, or pass on one of the response's; otherwise it
    /// pauses. The body of a redirect is received during a pause, too.
    mutating func mayTransfer(sends: Bool) -> Bool {
        let waits = if sends { isSuspended } else if case .head = response { isSuspended || isFull } else { false }
        if waits { network = .paused }
        return !waits
    }

    /// Takes the final head, perhaps of a redirect that is followed.
    mutating func receive(_ head: ResponseHead, isFollowed: Bool) -> Waiter? {
        guard case .none = response else { return nil }
        response = isFollowed ? .redirect(head, discarded: 0) : .head(head)
        return dueWaiter()
    }

    /// Takes a piece of the body.
    mutating func receive(_ bytes: UnsafeRawBufferPointer) -> (Reception, Waiter?) {
        switch response {
        case .none, .complete, .failed:
            return (.stop, nil)
        case .redirect(let head, let discarded):
            // A short one is read to its end, so that the connection can be used again.
            guard discarded + bytes.count <= 1 << 16 else { return (.enough, nil) }
            response = .redirect(head, discarded: discarded + bytes.count)
            bytesReceived += Int64(bytes.count)
            return (.accepted, nil)
        case .head:
            if case .whole(let limit) = delivery, bytes.count > limit - buffer.count {
                return (.tooLong(limit: limit), nil)
            }
            buffer.append(contentsOf: bytes)
            bytesReceived += Int64(bytes.count)
            return (.accepted, dueWaiter())
        }
    }

    /// Ends the transfer, and returns whether it had not ended. The first end counts.
    mutating func end(throwing error: (any Error)?) -> (isFirst: Bool, Waiter?) {
        switch response {
        case .complete, .failed:
            return (false, nil)
        case .redirect(let head, _):
            response = if let error = error as? CancellationError { .failed(head, error) } else { .complete(head) }
        case .head(let head):
            response = if let error { .failed(head, error) } else { .complete(head) }
            if error != nil, case .whole = delivery { buffer = Data() }
        case .none:
            let reason = "the server sent no HTTP response"
            let failure = TransportFailure(url: url, kind: .invalidResponse, reason: reason)
            response = .failed(nil, error ?? NetworkError.transport(failure))
        }
        return (true, dueWaiter())
    }

    // MARK: - The reader

    /// Waits; returns the waiter when there is nothing to wait for.
    mutating func wait(for part: Part, _ waiter: Waiter) -> Waiter? {
        // The second of two readers, which gets an error.
        guard reader == nil else { return waiter }
        reader = (part, waiter)
        return dueWaiter()
    }

    /// The head, after the wait for it. With the head of a redirect, all of its body has arrived.
    func takeHead() throws -> ResponseHead {
        switch response {
        case .head(let head), .complete(let head), .failed(let head?, _): return head
        case .failed(nil, let error): throw error
        case .none, .redirect: throw secondReader
        }
    }

    /// The bytes that have arrived, after the wait for them; `nil` at the end of the body.
    ///
    /// - Returns: also whether the network may continue.
    mutating func takePiece() throws -> (Data?, mayContinue: Bool) {
        if buffer.isEmpty {
            switch response {
            case .complete: return (nil, false)
            case .failed(_, let error): throw error
            case .none, .head, .redirect: throw secondReader
            }
        }
        defer { buffer = Data() }
        return (buffer, isFull)
    }

    private var secondReader: NetworkError {
        .invalidRequest("two tasks read the response of '\(url.withoutSecrets)' at the same time; use one")
    }

    private mutating func dueWaiter() -> Waiter? {
        guard let (part, waiter) = reader else { return nil }
        let isDue =
            switch (part, response) {
            case (.head, .head): true
            case (.piece, _): hasEnded || !buffer.isEmpty
            default: hasEnded
            }
        guard isDue else { return nil }
        reader = nil
        return waiter
    }
}
