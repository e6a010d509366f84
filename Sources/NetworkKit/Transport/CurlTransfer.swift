import CIndicatorCurl
import Foundation
import HTTPTypes
import IndicatorCore

/// A transfer that libcurl performs: its handle and callbacks. Only used on the loop's thread.
final class CurlTransfer {
    let transfer: Transfer
    unowned let loop: CurlLoop
    let handle: UnsafeMutableRawPointer
    let trust: HostTrust
    private var reader: BodyReader?
    private var decoder: ContentDecoder?
    /// The connection on which the request was sent last; `nil` before.
    private var connection: SocketWatch.Connection?
    var headerList: UnsafeMutablePointer<curl_slist>?
    let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    /// The size of the header fields so far, with those of interim responses and the trailers.
    private var headerSize = 0
    /// Those of the latest head. The time of `curl_easy_nextheader` grows with the square of their number.
    private var lines: [[UInt8]] = []
    /// Whether the empty line after them has arrived. libcurl accepts a head without it.
    private var isHeadComplete: Bool { lines.last?.isEmpty == true }
    /// The final head, once it is delivered.
    private var head: ResponseHead?
    private var hasRepeated = false
    /// Whether the connection that libcurl has chosen must not be used: see ``mustLeave(_:)``.
    private var hasLeft = false
    /// How many bytes of the response's body are left; `nil` if that is not known.
    private var bytesLeft: Int64?
    /// Whether the server has ended the TLS session. Otherwise, another one may have cut it off.
    private var hasCloseNotify = false
    /// Why a callback ended the transfer.
    private var problem: (any Error)?
    private var bytes: (sent: Int64, received: Int64) = (0, 0)
    /// When data was last transferred; `nil` while the transfer waits for a connection.
    private var lastActivity: ContinuousClock.Instant?
    /// When to look whether the connection is dead, unless data is transferred.
    private var nextLook: ContinuousClock.Instant?

    /// Of all header fields in bytes, and of those of a head, as in later versions of libcurl.
    private static let (maximumHeaderSize, maximumFieldCount) = (300 * 1024, 5000)
    /// After how long, twice, it is checked whether a server that has answered reads the rest of the request's body.
    /// After a success, it may do so slowly.
    private var unreadLimit: Duration { status < 300 ? .seconds(3) : .seconds(0.5) }

    init(_ transfer: Transfer, handle: UnsafeMutableRawPointer, loop: CurlLoop, trust: HostTrust) {
        self.transfer = transfer
        self.handle = handle
        self.loop = loop
        self.trust = trust
        errorText.pointee = 0
    }

    deinit {
        use(nil)
        curl_easy_cleanup(handle)
        curl_slist_free_all(headerList)
        errorText.deallocate()
    }

    // MARK: - Callbacks

    static func from(_ context: UnsafeMutableRawPointer?) -> CurlTransfer? {
        context.map { Unmanaged<CurlTransfer>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Begins to send the request on a connection, perhaps again.
    ///
    /// - Returns: whether it may be sent. libcurl repeats one if a connection that is used again ends before the
    ///   response. The server may have processed it (RFC 9110 §9.2.2), unless it has refused it (RFC 9113 §8.7).
    func begin(port: Int32, address: UnsafePointer<CChar>?) -> Bool {
        if connection != nil, !isHeadComplete, !transfer.request.method.isIdempotent, !isRefused {
            let reason = "the connection ended before the response; the server may have processed the request"
            problem = transfer.failure(.connectionLost, reason)
            return false
        }
        let found = loop.watch.connection(at: port, of: address)
        if let found, found.lastUse == nil { found.isShared = curl_kit_has_http2(handle) != 0 }
        hasLeft = !hasRepeated && found.map(mustLeave) == true
        if hasLeft {
            curl_kit_set_long(handle, CURLOPT_FORBID_REUSE, 1)
            use(nil)
            return false
        }
        // Otherwise, others that wait could use up the few requests that the server allows on each new connection.
        if connection != nil, !isHeadComplete { curl_kit_set_long(handle, CURLOPT_FRESH_CONNECT, 1) }
        use(found)
        hasCloseNotify = false
        lines = []
        if let body = transfer.body, !body.isSmall { reader = BodyReader(body) }
        isActive()
        loop.check(by: nextLimit)
        return true
    }

    /// Whether a request must not use a connection that was used before: no other one may after it was silent, and a
    /// request that cannot be sent again if it was idle for two seconds, so that the server may be about to close it.
    /// libcurl 7.88 would take what the server has sent meanwhile, such as a 408, for the response.
    private func mustLeave(_ connection: SocketWatch.Connection) -> Bool {
        guard let lastUse = connection.lastUse else { return false }
        let isOld = connection.useCount == 0 && lastUse + .seconds(2) <= loop.now
        return connection.isSilent || !connection.isShared && connection.isUnclean
            || !transfer.request.method.isIdempotent && isOld
    }

    private func use(_ next: SocketWatch.Connection?) {
        connection?.useCount -= 1
        connection?.lastUse = loop.now
        connection = next
        connection?.useCount += 1
        connection?.lastUse = loop.now
    }

    /// Whether the server has refused the request that libcurl repeats. Otherwise it has an error from the connection,
    /// except with HTTP/1, in which a server cannot refuse.
    private var isRefused: Bool {
        let text = String(cString: errorText)
        return connection?.isShared == true && text.isEmpty || text.contains("HTTP_1_1_REQUIRED")
    }

    private func isActive() {
        lastActivity = loop.now
        nextLook = connection == nil ? nil : loop.now + SocketWatch.silenceLimit
    }

    /// libcurl first calls this when the transfer has a connection or starts to establish one.
    func progressed(sent: Int64, received: Int64) {
        let mayNeedNotify = head.map { !$0.announcesEnd } ?? isHeadComplete
        if mayNeedNotify, transfer.origin[0] == "https", curl_kit_has_close_notify(handle) != 0 {
            hasCloseNotify = true
        }
        if lastActivity == nil {
            isActive()
            loop.check(by: nextLimit)
        }
        guard bytes != (sent, received) else { return }
        isActive()
        if sent != bytes.sent, sent > 0 { transfer.onEvent(.sent(sent)) }
        bytes = (sent, received)
    }

    /// Takes a line with its end.
    func receivedHeader(_ line: UnsafeRawBufferPointer) -> Int {
        isActive()
        headerSize += line.count
        guard headerSize <= Self.maximumHeaderSize, lines.count <= Self.maximumFieldCount else {
            let reason = "the header fields are longer than \(Self.maximumHeaderSize) bytes"
            problem = transfer.failure(.invalidResponse, "\(reason), or more than \(Self.maximumFieldCount)")
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
        if isHeadComplete, !isProvisional { deliverHead() }
        return problem == nil ? line.count : 0
    }

    /// Whether libcurl may repeat the request after the head: with credentials, or with the body after the response
    /// to a request without it. If so, it does not pass on the body.
    private var isProvisional: Bool {
        switch status {
        case 401, 407: transfer.request.credentials != nil
        default: isNegotiating
        }
    }

    /// The fields in the lines. The status line is none.
    private var fields: HTTPFields {
        let fields = lines.compactMap { line -> HTTPField? in
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
            let name = HTTPField.Name(String(decoding: line[..<colon], as: UTF8.self))
            return name.map { HTTPField(name: $0, value: line[(colon + 1)...].drop { $0 == 0x20 }) }
        }
        return HTTPFields(fields)
    }

    private var status: Int { curl_kit_get_long(handle, CURLINFO_RESPONSE_CODE) }

    private func deliverHead() {
        guard self.head == nil, isHeadComplete, case let status = status, status >= 200 else { return }
        let isMultiplexed = curl_kit_get_long(handle, CURLINFO_HTTP_VERSION) >= CURL_HTTP_VERSION_2_0
        if isMultiplexed {
            connection?.isShared = true
            loop.connectionsAreShared(at: transfer.origin)
        }
        var head = ResponseHead(url: transfer.request.url, status: .init(code: min(status, 999)), headers: fields)
        let hasBody = head.mayHaveBody && transfer.request.method != .head
        head.announcesEnd = isMultiplexed || !hasBody || head.isChunked || head.length != nil
        self.head = head
        do throws(ContentDecoder.Problem) {
            // It could belong to another response (RFC 9112 §6.3).
            guard head.lengths.count <= 1 else {
                throw ContentDecoder.Problem(text: "the server sent different lengths")
            }
            bytesLeft = hasBody ? head.isChunked ? nil : head.length : 0
            if hasBody, transfer.request.decodesBody {
                decoder = try .decoder(for: head.headers[.contentEncoding], mayBeEmpty: head.announcesEnd)
            }
            if status == 204, head.isChunked || head.length ?? 0 > 0 {
                // What it announces nevertheless would be taken for the next response.
                curl_kit_set_long(handle, CURLOPT_FORBID_REUSE, 1)
            }
        } catch {
            problem = transfer.failure(.invalidResponse, error.text)
            return
        }
        if loop.keepsCookies { loop.cookiesArrived(min(head.headers[values: .setCookie].count, Cookie.responseCount)) }
        transfer.received(head)
        if bytesLeft == 0 { loop.check(by: nextLimit) }
    }

    func receivedBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        isActive()
        deliverHead()
        guard head != nil, problem == nil else {
            problem = problem ?? transfer.failure(.invalidResponse, "the server sent a body before a final status")
            return 0
        }
        loop.watch.passedOnBody()
        // Not while it is decoded: libcurl offers the same bytes again.
        guard transfer.mayTransfer(sends: false) else {
            loop.paused(self)
            return Int(CURL_WRITEFUNC_PAUSE)
        }
        do throws(ContentDecoder.Problem) {
            guard try decoder?.decode(bytes, transfer.received) ?? transfer.received(bytes) else { return 0 }
            bytesLeft? -= Int64(bytes.count)
            if bytesLeft == 0 { loop.check(by: nextLimit) }
            return bytes.count
        } catch {
            problem = transfer.failure(.invalidResponse, error.text)
            return 0
        }
    }

    func send(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        isActive()
        do {
            guard let reader else { return 0 }
            if transfer.mayTransfer(sends: true) { return try reader.read(into: buffer) }
            loop.paused(self)
            return Int(CURL_READFUNC_PAUSE)
        } catch {
            problem = error
            return Int(CURL_READFUNC_ABORT)
        }
    }

    // MARK: - Pauses, limits and the end

    func resume() {
        if lastActivity != nil { isActive() }
        curl_easy_pause(handle, CURLPAUSE_CONT)
        // libcurl may have called the callbacks, and does not end the transfer if they fail.
        if let problem { transfer.finish(throwing: problem) }
    }

    /// When something has to be done, unless data is transferred.
    var nextLimit: ContinuousClock.Instant? {
        guard let lastActivity, !transfer.isPaused else { return transfer.request.deadline }
        let silent = transfer.request.timeout.map { lastActivity + $0 }
        let limits = [transfer.request.deadline, silent, nextLook, isAnswered ? lastActivity + unreadLimit : nil]
        return limits.compactMap(\.self).min()
    }

    /// Whether the response is complete although libcurl still sends the request's body.
    private var isAnswered: Bool { transfer.body != nil && head != nil && bytesLeft == 0 }

    /// Ends the transfer when a limit is exceeded.
    func endIfOverdue() -> Bool {
        var failure = transfer.overdueFailure
        if failure == nil, let lastActivity, !transfer.isPaused {
            if isAnswered, lastActivity + unreadLimit <= .now {
                if let connection, loop.watch.hasSent(connection) {
                    isActive()
                    return false
                }
                complete()
                return true
            }
            if let timeout = transfer.request.timeout, lastActivity + timeout <= .now {
                failure = transfer.failure(.timedOut, "no data was transferred for \(timeout)")
            } else if let connection, let nextLook, nextLook <= .now {
                self.nextLook = .now + loop.watch.endIfUnacknowledged(connection)
            }
        }
        guard let failure else { return false }
        // Before the error is thrown: the next request may be what ends the silence.
        if let connection, loop.watch.endIfSilent(connection) {
            connection.isSilent = true
            // Unless other requests use it.
            curl_kit_set_long(handle, CURLOPT_FORBID_REUSE, 1)
        }
        transfer.finish(throwing: failure)
        return true
    }

    /// Whether the request is sent, once, on another connection: because it left its own, or a shared one has ended
    /// before the response, after which libcurl does that itself with HTTP/1 only.
    func mustRepeat(after code: CURLcode) -> Bool {
        // libcurl 7.88 drops a response that is followed by the end of a stream on which it sends a body (curl 986).
        let isDropped = code == CURLE_HTTP2_STREAM && errorText.pointee == 0
        let hasEnded = [CURLE_HTTP2, CURLE_PARTIAL_FILE].contains(code) && connection?.isShared == true
        let mayRepeat = (isDropped || hasEnded) && lines.isEmpty && transfer.request.method.isIdempotent
        guard mayRepeat || hasLeft, !hasRepeated, problem == nil, !transfer.hasEnded else { return false }
        hasRepeated = true
        // It may wait for a connection.
        lastActivity = nil
        curl_kit_set_long(handle, CURLOPT_FRESH_CONNECT, 1)
        curl_kit_set_long(handle, CURLOPT_FORBID_REUSE, isNegotiating ? 1 : 0)
        if isDropped { curl_kit_set_long(handle, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1) }
        return true
    }

    func completed(with code: CURLcode) {
        if code == CURLE_OK { deliverHead() }
        // A server that has answered may reset the stream of a body that it does not read.
        let isComplete = problem == nil && (code == CURLE_OK || isAnswered)
        if isComplete { complete() } else { transfer.finish(throwing: problem ?? error(code)) }
    }

    /// Ends the transfer after the last byte of the response.
    private func complete() {
        let isCutOff = head?.announcesEnd == false && transfer.origin[0] == "https" && !hasCloseNotify
        let reason: String? =
            if decoder?.isAtEnd == false { "the compressed body is not complete" } else if isCutOff {
                "the connection was closed without an end of its TLS session: the body may be incomplete"
            } else { nil }
        transfer.finish(throwing: reason.map { transfer.failure(.incompleteBody, $0) })
    }

    private func error(_ code: CURLcode) -> NetworkError {
        var text = String(cString: errorText)
        if text.isEmpty { text = String(cString: curl_easy_strerror(code)) }
        if code == CURLE_OUT_OF_MEMORY { text = "a line of the head is too long, or the process is out of memory" }
        // libcurl quotes the URL with its password, or takes a part of the password for the host.
        if code == CURLE_COULDNT_RESOLVE_PROXY || text.hasPrefix("Unsupported proxy") {
            text = "the URL of the proxy is invalid, or its host has no address; check http_proxy and https_proxy"
        }
        let explanation = trust.explanation(of: code, text, host: transfer.origin[1])
        let kind: TransportFailure.Kind =
            switch (explanation == nil ? TransportFailure.Kind(code) : .insecure, head != nil) {
            case (.connectionLost, true): .incompleteBody
            case (.incompleteBody, false): .connectionLost
            case (let kind, _): kind
            }
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
            case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM,
                CURLE_SSL_CACERT_BADFILE, CURLE_SSL_PINNEDPUBKEYNOTMATCH:
                .insecure
            case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_WRITE_ERROR: .invalidResponse
            case CURLE_OUT_OF_MEMORY, CURLcode(rawValue: 100): .invalidResponse  // CURLE_TOO_LARGE of later versions
            default: .other
            }
    }
}
