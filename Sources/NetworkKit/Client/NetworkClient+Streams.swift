public import Foundation
public import HTTPTypes
public import IndicatorCore

/// A response whose body is read in chunks.
///
/// The transfer pauses while the chunks are not consumed. The body can be read once. The request ends with it, or when
/// the last reference to the stream is released.
public struct ResponseStream: AsyncSequence, Sendable, CustomStringConvertible {
    /// A chunk of the body, never empty.
    public typealias Element = Data

    /// The URL of the response: the request's, or that of the last redirect.
    public let url: URL
    /// The status.
    public let status: HTTPResponse.Status
    /// The header fields.
    public let headers: HTTPFields
    fileprivate let source: Source

    /// Cancels the request when it is released.
    fileprivate final class Source: Sendable {
        let transfer: Transfer
        let task: NetworkTask

        init(_ transfer: Transfer, _ task: NetworkTask) { (self.transfer, self.task) = (transfer, task) }

        deinit {
            transfer.cancel()
            task.complete(.cancelled)
        }
    }

    /// URL and status, without secrets.
    public var description: String { "\(url.withoutSecrets): status \(status.code)" }

    /// Reads the body.
    public func makeAsyncIterator() -> Iterator { Iterator(source: source) }

    /// Reads the body.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let source: Source

        /// Waits for the next chunk; `nil` at the end.
        ///
        /// - Throws: ``NetworkError``, or `CancellationError`.
        public mutating func next() async throws -> Data? {
            do {
                let piece = try await source.transfer.next()
                try source.task.checkCancellation()
                if piece == nil { await source.task.end(.succeeded) }
                return piece
            } catch {
                // Not when a second reader gets an error and the first one reads on.
                if source.transfer.hasEnded || error is CancellationError {
                    await source.task.end(ActivityOutcome(error))
                }
                throw error
            }
        }
    }
}

extension NetworkClient {
    /// Sends a request and waits for the response's head. The body is read from the returned stream.
    ///
    /// The cache is not used. Only failures before the body are retried. Parameters and errors are those of
    /// ``send(_:in:onProgress:)``.
    public func bytes(
        _ route: some RequestRoute,
        in container: ActivityContainer? = nil,
        onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> ResponseStream {
        let task = NetworkTask(route, in: container, of: self, onProgress)
        return try await task.run(isEnd: false) { [self] in
            try await perform(task) { request, body in
                let (head, transfer) = try await openChecked(request, body, task)
                let source = ResponseStream.Source(transfer, task)
                return ResponseStream(url: head.url, status: head.status, headers: head.headers, source: source)
            }
        }
    }

    /// Sends a request, waits for the response's head, and throws if the response is not accepted.
    func openChecked(
        _ request: NetworkRequest,
        _ body: PreparedBody?,
        _ task: NetworkTask
    ) async throws -> (ResponseHead, Transfer) {
        let (head, _, transfer) = try await open(request, body, task, .pieces(capacity: 1 << 18))
        // The caller judges these. A part may leave out the content type, for example.
        if request.start > 0, [.partialContent, .rangeNotSatisfiable].contains(head.status) { return (head, transfer) }
        func check(_ start: Data) throws { try self.check(NetworkResponse(head, start), to: task.request) }
        do {
            try check(Data([0]))
        } catch {
            let start = try await transfer.next()
            if start != nil { transfer.cancel() }
            try check(start ?? Data())
        }
        return (head, transfer)
    }
}
