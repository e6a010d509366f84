public import Foundation
import HTTPTypes
public import IndicatorCore

extension NetworkClient {
    /// Downloads to a file, which a complete download replaces atomically. A retry continues after what has arrived,
    /// if it can: see <doc:Downloading>. Errors and other parameters are those of ``send(_:in:onProgress:)``.
    ///
    /// The folder of `file` must exist. With `acrossRuns`, the call also continues the part that an earlier such call
    /// left behind, even in another process, and leaves its own part behind when it fails or is cancelled.
    ///
    /// - Returns: the response, without its body. If the download was resumed, it is that of the last part, with 206.
    public func download(
        _ route: some RequestRoute,
        to file: URL,
        acrossRuns: Bool = false,
        in container: ActivityContainer? = nil,
        onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> NetworkResponse {
        let task = NetworkTask(route, in: container, of: self, onProgress)
        return try await task.run { [self] in
            let (place, partial) = try await blocking {
                let place = try DownloadPlace(file)
                let part = acrossRuns ? PartialFile(partOf: place.file) : nil
                return (place, try part ?? PartialFile(for: place.file))
            }
            // Not only when it is released: the thread of the last write may release it later.
            defer { partial.end() }
            let download = Download(client: self, task: task, partial: partial, place: place)
            return try await perform(task) { try await download.attempt($0, $1) }
        }
    }
}

/// A download to a file, over several attempts.
private struct Download {
    let client: NetworkClient
    let task: NetworkTask
    let partial: PartialFile
    let place: DownloadPlace

    /// Makes an attempt.
    func attempt(_ request: NetworkRequest, _ body: PreparedBody?) async throws -> NetworkResponse {
        var request = request
        // A range that the route asks for is requested again.
        let isWhole = request.headers[.range] == nil
        // Ranges of a compressed body cannot be concatenated.
        if request.headers[.acceptEncoding] == nil { request.setHeader("Accept-Encoding", "identity") }
        let identity = body == nil && isWhole ? request.identity(to: place.file) : nil
        let (head, transfer, isContinued) = try await open(request, body, identity)
        // Also when the file cannot be written.
        defer { transfer.cancel() }
        if isWhole, !isContinued, let problem = head.problem(resumingAt: 0, nil) {
            throw transfer.failure(.incompleteBody, problem)
        }
        let range = isWhole && head.status == .partialContent ? head.range : nil
        // Of a body without a length, the end does not show that it is the whole content of a known length.
        let isKnown = isContinued || head.bodyCount != nil
        let length = isKnown ? nil : partial.content.flatMap { $0.tag == head.headers[.eTag] ? $0.length : nil }
        if !isContinued {
            let content = identity.flatMap { head.content(requestedBy: $0) }
            try await blocking { [partial] in try partial.restart(content) }
        }
        try await write(transfer, range)
        if let length, partial.count != length {
            throw transfer.failure(.incompleteBody, "the server sent the same content with another length")
        }
        try task.checkCancellation()
        try await blocking { [partial, place] in try partial.moveIntoPlace(mode: place.mode) }
        return NetworkResponse(head, Data())
    }

    /// Requests the rest; if the response is not the rest of what is in the file, everything.
    private func open(
        _ request: NetworkRequest,
        _ body: PreparedBody?,
        _ identity: String?
    ) async throws -> (ResponseHead, Transfer, isContinued: Bool) {
        if let identity, partial.count > 0, let content = partial.content, content.isRequested(by: identity) {
            var rest = request
            rest.setHeader("Range", "bytes=\(partial.count)-")
            rest.setHeader("If-Range", content.tag)
            rest.start = partial.count
            let (head, transfer) = try await client.openChecked(rest, body, task)
            if head.problem(resumingAt: partial.count, content) == nil {
                return (head, transfer, head.status == .partialContent)
            }
            transfer.cancel()
            task.willRepeat()
        }
        let (head, transfer) = try await client.openChecked(request, body, task)
        return (head, transfer, false)
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
    fileprivate func identity(to file: URL) -> String? {
        guard method == .get else { return nil }
        let choices = headers.filter { $0.name.canonicalName.hasPrefix("accept") }.map(\.description).sorted()
        return ([url.absoluteString, file.lastPathComponent, credentials?.user ?? ""] + choices).joined(separator: "\n")
    }
}

extension ResponseHead {
    /// The range in `Content-Range: bytes 100-199/200`: the first position, the one after the last, and the complete
    /// length. `nil` if the field is invalid or the length unknown.
    var range: (first: Int64, end: Int64, length: Int64)? {
        let words = (headers[.contentRange] ?? "").split { $0 == " " || $0 == "-" || $0 == "/" }
        guard words.count == 4, words[0].lowercased() == "bytes", let first = Int64(words[1]),
            let last = Int64(words[2]), let length = Int64(words[3]), first <= last, last < length
        else { return nil }
        return (first, last + 1, length)
    }

    /// What a later response can continue; `nil` if none can: only a strong tag guarantees the same bytes (RFC 9110
    /// §8.8.3). A date does so only in theory.
    fileprivate func content(requestedBy request: String) -> DownloadContent? {
        guard status == .ok, let tag = headers[.eTag], tag.utf8.count > 1, tag.hasPrefix("\""), tag.hasSuffix("\"")
        else { return nil }
        return DownloadContent(tag: tag, length: bodyCount, request: request, location: url)
    }

    /// Why a download cannot be continued with the response; `nil` if it can, or begins again.
    fileprivate func problem(resumingAt start: Int64, _ content: DownloadContent?) -> String? {
        let isSame = headers[.eTag] == content?.tag && content?.isLocated(at: url) == true
        return switch status {
        case .ok where start > 0 && isSame && content?.length != nil && ![nil, content?.length].contains(bodyCount):
            "the server sent the same content with another length"
        case .rangeNotSatisfiable where start > 0:
            "the server has nothing after the first \(start) bytes"
        case .partialContent where range == nil:
            "the server sent a part without a range, or of an unknown length"
        case .partialContent where range?.first != start:
            "the server sent a different range than requested"
        // Some servers ignore `If-Range`. A part must have the tag (RFC 9110 §15.3.7).
        case .partialContent where start > 0 && !(isSame && [nil, range?.length].contains(content?.length)):
            "the content has changed"
        default: nil
        }
    }
}
