import CIndicatorCurl
import Foundation
import HTTPTypes

/// A transfer that libcurl performs: its handle and callbacks. Only used on the loop's thread.
final class CurlTransfer {
    let transfer: Transfer
    unowned let loop: CurlLoop
    let handle: UnsafeMutableRawPointer
    let trust: HostTrust
    private let timeout: Duration?
    private var reader: BodyReader?
    /// Whether there were cookies for the host before the request.
    private var usedCookies = false
    var headerList: UnsafeMutablePointer<curl_slist>?
    let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    /// The size of the header fields so far, with those of interim responses and the trailers.
    private var headerSize = 0
    /// The lines of the latest head. The time of `curl_easy_nextheader` grows with the square of their number: a server
    /// could stop all transfers for half a minute.
    private var lines: [[UInt8]] = []
    /// Whether the empty line after them has arrived. libcurl accepts a head without it.
    private var isHeadComplete: Bool { lines.last?.isEmpty == true }
    private var hasDeliveredHead = false
    /// Why a callback ended the transfer.
    private var problem: (any Error)?
    private var bytes: (sent: Int64, received: Int64) = (0, 0)
    /// When data was last transferred; `nil` while the transfer waits for a connection.
    private var lastActivity: ContinuousClock.Instant?
    /// Whether the callback has paused the body since the transfer last continued.
    private var hasPausedBody = false

    /// The maximum size of all header fields in bytes, as in libcurl since 8.3, which keeps them in memory.
    private static var maximumHeaderSize: Int { 300 * 1024 }

    init(_ transfer: Transfer, handle: UnsafeMutableRawPointer, loop: CurlLoop, trust: HostTrust) {
        self.transfer = transfer
        self.handle = handle
        self.loop = loop
        self.trust = trust
        timeout = transfer.request.timeout?.limit
        errorText.pointee = 0
        rewind()
    }

    deinit {
        curl_easy_cleanup(handle)
        curl_slist_free_all(headerList)
        errorText.deallocate()
    }

    /// Uses the cookies of a share.
    func use(_ cookies: UnsafeMutableRawPointer) {
        curl_kit_set_pointer(handle, CURLOPT_SHARE, cookies)
        curl_kit_set_string(handle, CURLOPT_COOKIEFILE, "")
        usedCookies = hasCookies
    }

    private var hasCookies: Bool { Cookie.all(of: handle).contains { $0.isSent(to: transfer.origin[1]) } }

    // MARK: - Callbacks

    static func from(_ context: UnsafeMutableRawPointer?) -> CurlTransfer? {
        context.map { Unmanaged<CurlTransfer>.fromOpaque($0).takeUnretainedValue() }
    }

    /// libcurl first calls this when the transfer has a connection or starts to establish one.
    func progressed(sent: Int64, received: Int64) {
        if lastActivity == nil {
            lastActivity = .now
            loop.check(by: nextLimit)
        }
        guard bytes != (sent, received) else { return }
        lastActivity = .now
        if sent != bytes.sent, sent > 0 { transfer.onProgress(.sent(sent)) }
        bytes = (sent, received)
    }

    /// Takes a line with its end.
    func receivedHeader(_ line: UnsafeRawBufferPointer) -> Int {
        lastActivity = .now
        headerSize += line.count
        guard headerSize <= Self.maximumHeaderSize else {
            let reason = "the header fields are longer than \(Self.maximumHeaderSize) bytes"
            problem = transfer.failure(.invalidResponse, reason)
            return 0
        }
        let text = line.prefix { $0 != 0x0D && $0 != 0x0A }
        // Unless another head begins, it is a trailer.
        if isHeadComplete, !text.starts(with: "HTTP/".utf8) { return line.count }
        if isHeadComplete { lines = [] }
        if !lines.isEmpty, text.first == 0x20 || text.first == 0x09 {
            // A continuation of the previous line (RFC 9112 §5.2).
            lines[lines.count - 1] += text
        } else {
            lines.append(Array(text))
        }
        // After a 401 or 407 libcurl may repeat the request with the credentials.
        if isHeadComplete, transfer.request.credentials == nil || ![401, 407].contains(status) { deliverHead() }
        return line.count
    }

    /// The fields in the lines. The status line is none.
    private var fields: HTTPFields {
        let fields = lines.compactMap { line -> HTTPField? in
            let parts = line.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
            let name = parts.count == 2 ? HTTPField.Name(String(decoding: parts[0], as: UTF8.self)) : nil
            return name.map { HTTPField(name: $0, value: Array(parts[1])) }
        }
        return HTTPFields(fields)
    }

    private var status: Int { curl_kit_get_long(handle, CURLINFO_RESPONSE_CODE) }

    private func deliverHead() {
        let status = status
        guard !hasDeliveredHead, isHeadComplete, status >= 200 else { return }
        hasDeliveredHead = true
        let isMultiplexed = curl_kit_get_long(handle, CURLINFO_HTTP_VERSION) >= CURL_HTTP_VERSION_2_0
        if isMultiplexed { loop.connectionsAreShared(at: transfer.origin) }
        var head = ResponseHead(url: transfer.request.url, status: .init(code: min(status, 999)), headers: fields)
        head.announcesEnd = isMultiplexed || head.hasEnd
        head.usedCookies = usedCookies || hasCookies
        transfer.received(head)
    }

    func receivedBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        lastActivity = .now
        deliverHead()
        guard hasDeliveredHead else {
            problem = transfer.failure(.invalidResponse, "the server sent a body before a final status")
            return 0
        }
        loop.watch.passedOnBody()
        switch transfer.received(bytes) {
        case .accepted: return bytes.count
        case .pause:
            hasPausedBody = true
            loop.paused(self)
            return Int(CURL_WRITEFUNC_PAUSE)
        case .tooLong, .enough, .stop: return 0
        }
    }

    func send(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        lastActivity = .now
        do {
            guard let reader else { return 0 }
            if transfer.maySend() { return try reader.read(into: buffer) }
            loop.paused(self)
            return Int(CURL_READFUNC_PAUSE)
        } catch {
            problem = error
            return Int(CURL_READFUNC_ABORT)
        }
    }

    /// Begins to read the body from its start.
    func rewind() {
        reader = transfer.body.map { BodyReader($0) }
    }

    // MARK: - Pauses, limits and the end

    func resume() {
        if lastActivity != nil { lastActivity = .now }
        hasPausedBody = false
        curl_easy_pause(handle, CURLPAUSE_CONT)
        // If a transfer that continues is paused again in the callback, libcurl 8.13 and 8.14 receive more
        // nevertheless, and fail when they have decompressed 64 MiB (curl/curl#17650).
        if hasPausedBody, transfer.body == nil { curl_easy_pause(handle, CURLPAUSE_ALL) }
        // libcurl may have called the callbacks, and does not end the transfer if they fail.
        if let problem { transfer.finish(throwing: problem) }
    }

    /// When the first limit is exceeded, unless data is transferred. Time while it waits for a connection or is paused
    /// does not count towards the timeout.
    var nextLimit: ContinuousClock.Instant? {
        let idle = transfer.isPaused ? nil : lastActivity.flatMap { begin in timeout.map { begin + $0 } }
        guard let idle, let deadline = transfer.deadline else { return idle ?? transfer.deadline }
        return min(idle, deadline)
    }

    /// Fails the transfer when a limit is exceeded.
    func failIfOverdue() -> Bool {
        if transfer.failIfOverdue() { return true }
        guard let timeout, let nextLimit, nextLimit <= .now else { return false }
        return transfer.finish(throwing: transfer.failure(.timedOut, "no data was transferred for \(timeout)"))
    }

    func completed(with code: CURLcode) {
        if code == CURLE_OK { deliverHead() }
        transfer.finish(throwing: problem ?? (code == CURLE_OK ? nil : error(code)))
    }

    private func error(_ code: CURLcode) -> NetworkError {
        var text = String(cString: errorText)
        if text.isEmpty { text = String(cString: curl_easy_strerror(code)) }
        // libcurl quotes the URL with its password, or takes a part of the password for the host.
        if code == CURLE_COULDNT_RESOLVE_PROXY || text.hasPrefix("Unsupported proxy") {
            text = "the URL of the proxy is invalid, or its host has no address; check http_proxy and https_proxy"
        }
        let explanation = trust.explanation(of: code, text, host: transfer.origin[1])
        let kind = explanation == nil ? TransportFailure.Kind(code) : .insecure
        return transfer.failure(kind, explanation ?? text)
    }
}

extension TransportFailure.Kind {
    fileprivate init(_ code: CURLcode) {
        self =
            switch code {
            case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .cannotFindHost
            case CURLE_COULDNT_CONNECT: .cannotConnect
            case CURLE_OPERATION_TIMEDOUT: .timedOut
            case CURLE_PARTIAL_FILE: .incompleteBody
            case CURLE_GOT_NOTHING, CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_HTTP2, CURLE_HTTP2_STREAM:
                .connectionLost
            case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
                CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_PINNEDPUBKEYNOTMATCH,
                CURLE_SSL_INVALIDCERTSTATUS:
                .insecure
            case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_BAD_CONTENT_ENCODING, CURLE_WRITE_ERROR,
                CURLE_HTTP_RETURNED_ERROR, CURLE_FILESIZE_EXCEEDED:
                .invalidResponse
            default: .other
            }
    }
}
