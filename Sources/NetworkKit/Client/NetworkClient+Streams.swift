public import Foundation
public import HTTPTypes
public import IndicatorCore

/// A response whose body arrives piece by piece.
///
/// The transfer pauses while nobody takes the pieces, so that a body of any length needs little memory. It can be read
/// once. The request ends with the body, or when the last reference to the stream is released.
public struct ResponseStream: AsyncSequence, Sendable, CustomStringConvertible {
    /// Pieces of the body, none of them empty.
    public typealias Element = Data

    /// The URL that answered: the request's, or the one that it was redirected to.
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

        init(_ transfer: Transfer, _ task: NetworkTask) {
            self.transfer = transfer
            self.task = task
        }

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

        /// Waits for the next piece; `nil` at the end.
        ///
        /// - Throws: ``NetworkError``, or `CancellationError`.
        public mutating func next() async throws -> Data? {
            do {
                let piece = try await source.transfer.next()
                if piece == nil { source.task.complete(.succeeded) }
                return piece
            } catch {
                source.task.complete(ActivityOutcome(error))
                throw error
            }
        }
    }
}

extension NetworkClient {
    /// Sends a request, and waits for the head of its response. The body is read from what is returned.
    ///
    /// The cache is not used. A failure before the body is retried as the client's policy says, one within it is not.
    ///
    /// - Parameters:
    ///   - route: what to ask for.
    ///   - container: the indicator or the group in which the request is an activity; by default it announces itself by
    ///     notifications, to every indicator that observes them.
    ///   - onProgress: called with how far the request has come, on the network's thread.
    /// - Throws: ``NetworkError``, what an interceptor threw, or `CancellationError`.
    public func bytes(
        _ route: some RequestRoute,
        in container: (any ActivityContainer)? = nil,
        onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> ResponseStream {
        let task = makeTask(route, in: container, onProgress)
        return try await task.run(isEnd: false) {
            try await perform(route, task) { request, body in
                let (head, transfer) = try await openChecked(route, request, body, task)
                return ResponseStream(
                    url: head.url,
                    status: head.status,
                    headers: head.headers,
                    source: .init(transfer, task)
                )
            }
        }
    }

    /// Downloads to a file, which appears under its name when it is whole, and replaces what was there.
    ///
    /// The bytes go to a hidden file beside it, which is removed when the download fails or is cancelled. What a killed
    /// process has left is removed by the next download to the same file. A retried download goes on where it broke
    /// off, if the server can do that and says that the file is the same (`Range`, `If-Range`; RFC 9110 §13.1.5, §14).
    ///
    /// - Parameters:
    ///   - route: what to ask for.
    ///   - file: where to put it. Its folder must exist.
    ///   - container: the indicator or the group in which the request is an activity; by default it announces itself by
    ///     notifications, to every indicator that observes them.
    ///   - onProgress: called with how far the request has come, on the network's thread.
    /// - Returns: the response, without its body.
    /// - Throws: ``NetworkError``, what an interceptor threw, or `CancellationError`.
    public func download(
        _ route: some RequestRoute,
        to file: URL,
        in container: (any ActivityContainer)? = nil,
        onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> NetworkResponse {
        let task = makeTask(route, in: container, onProgress)
        return try await task.run {
            let partial = try await blocking {
                PartialFile.removeLeftovers(in: file.deletingLastPathComponent(), for: file)
                return try PartialFile(for: file, mode: 0o666)
            }
            var validator: String?
            return try await perform(route, task) { request, body in
                var request = request
                // The parts of a compressed body do not fit together.
                if request.headers[.acceptEncoding] == nil { request.setHeader("Accept-Encoding", "identity") }
                let start = validator == nil ? 0 : partial.count
                if start > 0 {
                    request.setHeader("Range", "bytes=\(start)-")
                    request.setHeader("If-Range", validator)
                }
                let (head, transfer) = try await openChecked(route, request, body, task)
                validator = head.validator
                if start > 0, head.status == .partialContent {
                    guard head.rangeStart == start else {
                        validator = nil
                        throw transfer.failure(.incompleteBody, "the server sent another part than it was asked for")
                    }
                    task.progressed { $0.shift(by: start) }
                } else {
                    try partial.removeContents()
                }
                while let piece = try await transfer.next() {
                    try await blocking { try partial.write(piece) }
                }
                try await blocking { try partial.moveIntoPlace() }
                return NetworkResponse(ReceivedResponse(head: head, data: Data()))
            }
        }
    }

    /// Sends a request, waits for the head of the response, and throws if it is not one of the accepted.
    private func openChecked(
        _ route: some RequestRoute,
        _ request: NetworkRequest,
        _ body: RequestBody?,
        _ task: NetworkTask
    ) async throws -> (ResponseHead, Transfer) {
        let (head, transfer) = try await open(request, body, task)
        let validation = route.request.validation ?? self.validation
        func check(_ start: Data) throws {
            try validation.check(NetworkResponse(ReceivedResponse(head: head, data: start)))
        }
        do {
            try check(Data([0]))
        } catch {
            guard let start = try await transfer.next() else {
                try check(Data())
                return (head, transfer)
            }
            transfer.cancel()
            try check(start)
        }
        return (head, transfer)
    }
}

extension ResponseHead {
    /// What says that the body is still the same; a weak tag does not (RFC 9110 §8.8.1).
    fileprivate var validator: String? {
        if let tag = headers[.eTag], !tag.hasPrefix("W/") { return tag }
        return headers[.lastModified]
    }

    /// Where the part begins, of `Content-Range: bytes 100-199/200`.
    fileprivate var rangeStart: Int64? {
        let words = (headers[.contentRange] ?? "").split { $0 == " " || $0 == "-" }
        return words.count > 1 && words[0].lowercased() == "bytes" ? Int64(words[1]) : nil
    }
}

extension TransferProgress {
    /// Counts what was there before the first byte.
    fileprivate mutating func shift(by count: Int64) {
        bytesReceived += count
        bytesToReceive? += count
    }
}
