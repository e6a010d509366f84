public import Foundation
public import HTTPTypes
public import IndicatorCore

/// A response whose body is read in chunks.
///
/// The transfer pauses while the chunks are not consumed, so memory use does not depend on the length of the body. The
/// body can be read once. The request ends with the body, or when the last reference to the stream is released.
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
    /// How long the request took; `nil` before the end of the body.
    public var metrics: NetworkMetrics? { source.transfer.metrics }

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

        /// Ends the request, and returns its error.
        func fail(_ reason: String) async -> NetworkError {
            let error = source.transfer.failure(.invalidResponse, reason)
            source.transfer.cancel()
            await source.task.end(ActivityOutcome(error))
            return error
        }

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
                await source.task.end(ActivityOutcome(error))
                throw error
            }
        }
    }
}

extension NetworkClient {
    /// Sends a request and waits for the response's head. The body is read from the returned stream.
    ///
    /// The cache is not used. Only failures before the body are retried.
    ///
    /// - Parameters:
    ///   - route: the endpoint.
    ///   - container: the indicator or group that the request's activity belongs to; by default the request posts
    ///     notifications for all indicators that observe them.
    ///   - onProgress: called with the latest progress; see ``NetworkTask``.
    /// - Throws: ``NetworkError``, the error of an interceptor, or `CancellationError`.
    public func bytes(
        _ route: some RequestRoute,
        in container: (any ActivityContainer)? = nil,
        onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> ResponseStream {
        let task = makeTask(route, in: container, onProgress)
        return try await task.run(isEnd: false) { [self] in
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

    /// What a download continues.
    public enum Resumption: Sendable {
        /// An attempt of the same call, or the part that an earlier call left behind, also in another process. The part
        /// of a download that fails or is cancelled is kept.
        case acrossRuns
        /// An attempt of the same call. The part of an earlier call is removed, and none is left behind.
        case withinCall
        /// Nothing: every attempt begins again. The part of an earlier call is removed, and none is left behind.
        case never
    }

    /// Downloads to a file. The complete download replaces an existing file atomically.
    ///
    /// The bytes are written to a hidden file in the same folder, `.NAME.part`. It is kept when the download fails, is
    /// cancelled, or its process is killed, and the next download of the same URL to the same file continues it, if the
    /// server supports that and the content is unchanged (`Range`, `If-Range`; RFC 9110 §13.1.5, §14); otherwise it
    /// begins again in the same attempt. The content has to have a strong `ETag`, or a `Last-Modified` that is a second
    /// older than the response. `.NAME.part.json` records it. Other users can open neither file. The part is kept
    /// without a time limit, until a download to the same file completes or replaces it. Remove both files to discard
    /// it. While another download to the same file runs, a further one uses a file of its own, which is not kept.
    ///
    /// Only `GET` requests without a body and without a `Range` of their own are continued.
    ///
    /// - Parameters:
    ///   - route: the endpoint.
    ///   - file: the destination. Its folder must exist.
    ///   - resume: what the download continues; by default also the part of an earlier call.
    ///   - container: the indicator or group that the request's activity belongs to; by default the request posts
    ///     notifications for all indicators that observe them.
    ///   - onProgress: called with the latest progress; see ``NetworkTask``.
    /// - Returns: the response, without its body. If the download was resumed, this is the response with the last part,
    ///   whose status is 206 and whose header fields describe only that part.
    /// - Throws: ``NetworkError``, the error of an interceptor, or `CancellationError`.
    public func download(
        _ route: some RequestRoute,
        to file: URL,
        resume: Resumption = .acrossRuns,
        in container: (any ActivityContainer)? = nil,
        onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> NetworkResponse {
        let task = makeTask(route, in: container, onProgress)
        return try await task.run { [self] in
            let partial = try await blocking {
                PartialFile.removeLeftovers(in: file.deletingLastPathComponent(), for: file)
                if resume == .acrossRuns, let part = PartialFile.part(of: file) { return part }
                if resume != .acrossRuns { PartialFile.removePart(of: file) }
                return try PartialFile(for: file)
            }
            // Not only when it is released: the thread of the last write may release it later.
            defer { partial.end() }
            var isOfEarlierCall = true
            return try await perform(route, task) { request, body in
                var request = request
                // A range that the route asks for is requested again.
                let isWhole = request.headers[.range] == nil
                // Ranges of a compressed body cannot be concatenated.
                if request.headers[.acceptEncoding] == nil { request.setHeader("Accept-Encoding", "identity") }
                let identity = body == nil && isWhole && resume != .never ? request.identity(to: file) : nil
                var start: Int64 = 0
                var (head, transfer): (ResponseHead, Transfer)
                if let identity, partial.count > 0, let content = partial.content, content.isRequested(by: identity) {
                    start = partial.count
                    var rest = request
                    rest.setHeader("Range", "bytes=\(start)-")
                    rest.setHeader("If-Range", content.validator)
                    (head, transfer) = try await openChecked(route, rest, body, task, resumingAt: start)
                    if head.problem(resumingAt: start, content, isOfEarlierCall) != nil {
                        transfer.cancel()
                        start = 0
                        await task.willRepeat()
                        (head, transfer) = try await openChecked(route, request, body, task)
                    }
                } else {
                    (head, transfer) = try await openChecked(route, request, body, task)
                }
                // Also when the file cannot be written.
                defer { transfer.cancel() }
                if isWhole, start == 0, let problem = head.problem(resumingAt: 0, nil) {
                    throw transfer.failure(.incompleteBody, problem)
                }
                let range = isWhole && head.status == .partialContent ? head.range : nil
                if range == nil || start == 0 {
                    isOfEarlierCall = false
                    let content = identity.flatMap { head.content(requestedBy: $0) }
                    try await blocking { try partial.restart(content) }
                } else if var content = partial.content, content.length != range?.length {
                    content.length = range?.length
                    try await blocking { [content] in try partial.setContent(content) }
                }
                while let piece = try await transfer.next() {
                    if let range, partial.count + Int64(piece.count) > range.end {
                        try await blocking { try partial.setContent(nil) }
                        throw transfer.failure(.incompleteBody, "the server sent more than the range that it announced")
                    }
                    try await blocking { try partial.write(piece) }
                }
                // A server may send less than was requested (RFC 9110 §15.3.7). A retry requests the rest.
                if let range, partial.count < range.length {
                    throw transfer.failure(.incompleteBody, "the server sent only a part of the requested range")
                }
                try await blocking { try partial.moveIntoPlace(isShared: true) }
                return NetworkResponse(ReceivedResponse(head: head, data: Data(), metrics: transfer.metrics))
            }
        }
    }

    /// Sends a request, waits for the response's head, and throws if the response is not accepted.
    private func openChecked(
        _ route: some RequestRoute,
        _ request: NetworkRequest,
        _ body: RequestBody?,
        _ task: NetworkTask,
        resumingAt start: Int64 = 0
    ) async throws -> (ResponseHead, Transfer) {
        let (head, transfer) = try await open(request, body, task, resumingAt: start)
        // The caller judges these. A part may leave out the content type, for example.
        if start > 0, [.partialContent, .rangeNotSatisfiable].contains(head.status) { return (head, transfer) }
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

extension NetworkRequest {
    /// What identifies a download; `nil` if it cannot be continued: ranges are defined for `GET` only (RFC 9110 §14.2).
    /// The tag of a content is different for each choice by the `Accept` fields, the date may not be.
    fileprivate func identity(to file: URL) -> String? {
        guard method == .get else { return nil }
        let choices = headers.filter { $0.name.canonicalName.hasPrefix("accept") }.map(\.description).sorted()
        return ([url.absoluteString, file.lastPathComponent, credentials?.user ?? ""] + choices).joined(separator: "\n")
    }
}

extension ResponseHead {
    /// The validator for resuming a download, if it is strong: others do not guarantee the same bytes. A date must be
    /// older than the response by a second, and is not used beside a tag (RFC 9110 §8.8.2.2, §8.8.3, §13.1.5).
    fileprivate var validator: String? {
        if let tag = headers[.eTag] {
            return tag.utf8.count > 1 && tag.hasPrefix("\"") && tag.hasSuffix("\"") ? tag : nil
        }
        func date(_ name: HTTPField.Name) -> Date? { headers[name].flatMap { HTTPDate.parse($0) } }
        guard let modified = date(.lastModified), let sent = date(.date), modified < sent else { return nil }
        return headers[.lastModified]
    }

    /// The range in `Content-Range: bytes 100-199/200`: the first position, the one after the last, and the complete
    /// length. `nil` if the field is invalid or the length unknown.
    var range: (first: Int64, end: Int64, length: Int64)? {
        let words = (headers[.contentRange] ?? "").split { $0 == " " || $0 == "-" || $0 == "/" }
        guard words.count == 4, words[0].lowercased() == "bytes", let first = Int64(words[1]),
            let last = Int64(words[2]), let length = Int64(words[3]), first <= last, last < length
        else { return nil }
        return (first, last + 1, length)
    }

    /// What a later response can continue; `nil` if none can.
    fileprivate func content(requestedBy request: String) -> DownloadContent? {
        guard status == .ok, let validator else { return nil }
        return DownloadContent(
            validator: validator,
            length: bodyCount,
            encoding: headers[.contentEncoding]?.lowercased() ?? "identity",
            request: request,
            location: url
        )
    }

    /// Why a download cannot be continued with the response; `nil` if it can, or begins again.
    fileprivate func problem(
        resumingAt start: Int64,
        _ content: DownloadContent?,
        _ isOfEarlierCall: Bool = false
    ) -> String? {
        // Some servers ignore `If-Range`. A part may leave out the encoding and a date, but not a tag (RFC 9110
        // §15.3.7), and that is tolerated only shortly after the first part.
        let tag = headers[.eTag] ?? headers[.lastModified]
        let mayLackTag = !isOfEarlierCall || content?.validator.hasPrefix("\"") == false
        let isSame =
            (tag == nil ? mayLackTag : tag == content?.validator)
            && [nil, range?.length].contains(content?.length)
            && [nil, content?.encoding].contains(headers[.contentEncoding]?.lowercased())
            && content?.isLocated(at: url) == true
        return switch status {
        case .rangeNotSatisfiable where start > 0:
            "the server has nothing after the first \(start) bytes"
        case .partialContent where range == nil:
            "the server sent a part without a range, or of an unknown length"
        case .partialContent where range?.first != start:
            "the server sent a different range than requested"
        case .partialContent where start > 0 && !isSame:
            "the content has changed"
        default: nil
        }
    }
}
