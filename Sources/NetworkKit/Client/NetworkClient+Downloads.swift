public import Foundation
import HTTPTypes
public import IndicatorCore

extension NetworkClient {
    /// What a download continues.
    public enum Resumption: Sendable {
        /// An attempt of the same call, or the part that an earlier call left behind, also in another process. The part
        /// of a download that fails or is cancelled is kept.
        case acrossRuns
        /// An attempt of the same call. No part is left behind.
        case withinCall
    }

    /// Downloads to a file. The complete download replaces an existing file atomically.
    ///
    /// If the connection breaks, a retry continues the download, if the server supports that and the content is
    /// unchanged (`Range`, `If-Range`; RFC 9110 §13.1.5, §14); otherwise it begins again in the same attempt. The
    /// content has to have a strong `ETag`, or a `Last-Modified` that is a second older than the response. Only `GET`
    /// requests without a body and without a `Range` of their own are continued.
    ///
    /// Until it is complete, the file has no name, and nothing is left of it if the process ends. On file systems
    /// without such files, it is a hidden one that only the user can read.
    ///
    /// With ``Resumption/acrossRuns``, the bytes are written to a hidden file in the same folder, `.NAME.part`. It is
    /// kept when the download fails, is cancelled, or its process is killed, and the next download of the same URL to
    /// the same file with ``Resumption/acrossRuns`` continues it. `.NAME.part.json` records what it is a part of. Other
    /// users can open neither file. The part is kept without a time limit, until such a download to the same file
    /// completes or replaces it. Remove both files to discard it. While another one to the same file runs, a further
    /// one uses a file of its own, which is not kept.
    ///
    /// - Parameters:
    ///   - route: the endpoint.
    ///   - file: the destination. Its folder must exist.
    ///   - resume: what the download continues; by default an attempt of the same call.
    ///   - container: the indicator or group that the request's activity belongs to; by default the request posts
    ///     notifications for all indicators that observe them.
    ///   - onProgress: called with the latest progress; see ``NetworkTask``.
    /// - Returns: the response, without its body. If the download was resumed, this is the response with the last part,
    ///   whose status is 206 and whose header fields describe only that part.
    /// - Throws: ``NetworkError``, the error of an interceptor, or `CancellationError`.
    public func download(
        _ route: some RequestRoute,
        to file: URL,
        resume: Resumption = .withinCall,
        in container: (any ActivityContainer)? = nil,
        onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> NetworkResponse {
        let task = makeTask(route, in: container, onProgress)
        return try await task.run { [self] in
            let partial = try await blocking {
                if resume == .acrossRuns, let part = PartialFile.part(of: file) { return part }
                return try PartialFile(for: file)
            }
            // Not only when it is released: the thread of the last write may release it later.
            defer { partial.end() }
            var download = Download(partial: partial, file: file)
            return try await perform(task) { request, body in
                try await download.attempt(request, body, task) { request, start in
                    try await openChecked(request, body, task, capacity: 1 << 20, resumingAt: start)
                }
            }
        }
    }
}

/// A download to a file, over several attempts.
private struct Download {
    typealias Open = (_ request: NetworkRequest, _ start: Int64) async throws -> (ResponseHead, Transfer)

    /// A response, and the first of its bytes.
    private struct Opened {
        var head: ResponseHead
        var transfer: Transfer
        var start: Int64
    }

    let partial: PartialFile
    let file: URL
    /// Whether the bytes in the file are those of an earlier call.
    private var isOfEarlierCall = true

    init(partial: PartialFile, file: URL) {
        self.partial = partial
        self.file = file
    }

    /// Makes an attempt.
    mutating func attempt(
        _ request: NetworkRequest,
        _ body: RequestBody?,
        _ task: NetworkTask,
        _ open: Open
    ) async throws -> NetworkResponse {
        var request = request
        // A range that the route asks for is requested again.
        let isWhole = request.headers[.range] == nil
        // Ranges of a compressed body cannot be concatenated.
        if request.headers[.acceptEncoding] == nil { request.setHeader("Accept-Encoding", "identity") }
        let identity = body == nil && isWhole ? request.identity(to: file) : nil
        let opened = try await self.open(request, identity, task, open)
        let (head, transfer) = (opened.head, opened.transfer)
        // Also when the file cannot be written.
        defer { transfer.cancel() }
        if isWhole, opened.start == 0, let problem = head.problem(resumingAt: 0, nil) {
            throw transfer.failure(.incompleteBody, problem)
        }
        let range = isWhole && head.status == .partialContent ? head.range : nil
        try await prepare(for: opened, range?.length, identity)
        try await write(transfer, range)
        try await blocking { [partial] in try partial.moveIntoPlace(isShared: true) }
        return NetworkResponse(ReceivedResponse(head: head, data: Data(), metrics: transfer.metrics))
    }

    /// Requests the rest; if the response is not the rest of what is in the file, everything.
    private func open(
        _ request: NetworkRequest,
        _ identity: String?,
        _ task: NetworkTask,
        _ open: Open
    ) async throws -> Opened {
        if let identity, partial.count > 0, let content = partial.content, content.isRequested(by: identity) {
            let start = partial.count
            var rest = request
            rest.setHeader("Range", "bytes=\(start)-")
            rest.setHeader("If-Range", content.validator)
            let (head, transfer) = try await open(rest, start)
            if head.problem(resumingAt: start, content, isOfEarlierCall) == nil {
                return Opened(head: head, transfer: transfer, start: start)
            }
            transfer.cancel()
            await task.willRepeat()
        }
        let (head, transfer) = try await open(request, 0)
        return Opened(head: head, transfer: transfer, start: 0)
    }

    /// Truncates the file, unless the response continues it.
    private mutating func prepare(for opened: Opened, _ length: Int64?, _ identity: String?) async throws {
        if length == nil || opened.start == 0 {
            isOfEarlierCall = false
            let content = identity.flatMap { opened.head.content(requestedBy: $0) }
            try await blocking { [partial] in try partial.restart(content) }
        } else if var content = partial.content, content.length != length {
            content.length = length
            try await blocking { [partial, content] in try partial.setContent(content) }
        }
    }

    private func write(_ transfer: Transfer, _ range: (first: Int64, end: Int64, length: Int64)?) async throws {
        while let piece = try await transfer.next() {
            if let range, partial.count + Int64(piece.count) > range.end {
                try await blocking { [partial] in try partial.setContent(nil) }
                throw transfer.failure(.incompleteBody, "the server sent more than the range that it announced")
            }
            try await blocking { [partial] in try partial.write(piece) }
        }
        // A server may send less than was requested (RFC 9110 §15.3.7). A retry requests the rest.
        if let range, partial.count < range.length {
            throw transfer.failure(.incompleteBody, "the server sent only a part of the requested range")
        }
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
