import CCurl
import Foundation
import HTTPTypes
import IndicatorCore
import IndicatorThreads

/// One request and its response, without redirects, through libcurl.
///
/// libcurl's callbacks on the loop's thread fill a buffer. One task at a time reads first the head, then the body. When
/// the buffer is full, the transfer pauses.
final class Transfer: @unchecked Sendable {
    // `@unchecked`: `state` is locked; only the loop's thread uses the variables below "The loop's thread".

    /// What a task waits for.
    private enum Event {
        case head
        case bytes
        /// The end, or more bytes than the limit.
        case end(limit: Int)
    }

    private struct State {
        var head: ResponseHead?
        var buffer = Data()
        /// The number of buffered bytes at which the transfer pauses.
        var capacity = 1 << 18
        var outcome: Result<Void, any Error>?
        var metrics: NetworkMetrics?
        var bytesReceived: Int64 = 0
        /// Whether the answer without a server was delivered.
        var isAnswered = false
        var isSuspended = false
        var awaited = Event.head
        var waiter: CheckedContinuation<Void, Never>?

        var isDue: Bool {
            if outcome != nil { return true }
            return switch awaited {
            case .head: head != nil
            case .bytes: !buffer.isEmpty
            case .end(let limit): buffer.count > limit
            }
        }

        mutating func append(_ bytes: some DataProtocol) {
            buffer.append(contentsOf: bytes)
            bytesReceived += Int64(bytes.count)
        }

        mutating func takeWaiterIfDue() -> CheckedContinuation<Void, Never>? {
            guard isDue else { return nil }
            defer { waiter = nil }
            return waiter
        }
    }

    /// The scheme, host and port of the URL.
    let origin: [String]
    let request: NetworkRequest
    let body: RequestBody?
    let loop: CurlLoop
    private let deadline: ContinuousClock.Instant?
    /// The answer without a server.
    private let answer: StubbedAnswer?
    private let onProgress: @Sendable (Progress) -> Void
    private let state = Locked(State())

    /// The progress that libcurl reports.
    enum Progress: Sendable {
        case sent(Int64)
        /// A response has begun: its head, and the length of its body, if known.
        case began(ResponseHead, bodyCount: Int64?)
        case received(Int)
        case ended(bytesReceived: Int64, NetworkMetrics?, (any Error)?)
    }

    /// Creates a transfer. `setSuspended(false)` starts it.
    ///
    /// - Parameters:
    ///   - deadline: when the transfer fails if it has not ended.
    ///   - answer: a response without a server.
    ///   - onProgress: called on the loop's thread, or on the thread that cancels.
    init(
        _ request: NetworkRequest,
        body: RequestBody?,
        loop: CurlLoop,
        deadline: ContinuousClock.Instant?,
        answer: StubbedAnswer? = nil,
        onProgress: @escaping @Sendable (Progress) -> Void
    ) {
        self.request = request
        self.body = body
        self.loop = loop
        self.deadline = deadline
        self.answer = answer
        self.onProgress = onProgress
        origin = request.url.origin
        timeout = request.timeout?.limit
        rewind()
    }

    // MARK: - Any thread

    /// Pauses, starts or resumes the transfer.
    func setSuspended(_ isSuspended: Bool) {
        state.withLock { $0.isSuspended = isSuspended }
        attend()
    }

    /// Ends the transfer and its connection.
    func cancel() {
        finish(throwing: CancellationError())
        attend()
    }

    /// Lets the loop begin, continue or end the transfer, or delivers the answer.
    func attend() {
        guard let answer else { return loop.attend(to: self) }
        let isDue = state.withLock { state in
            guard state.outcome == nil, !state.isSuspended, !state.isAnswered else { return false }
            state.isAnswered = true
            return true
        }
        if isDue { deliver(answer) }
    }

    private func deliver(_ answer: StubbedAnswer) {
        let hasBody = request.method != .head
        var head = ResponseHead(url: request.url, status: answer.status, headers: answer.headers, announcesEnd: true)
        if hasBody, answer.failure == nil { head.headers[.contentLength] = "\(answer.body.count)" }
        onProgress(.began(head, bodyCount: head.bodyCount))
        state.withLock { $0.head = head }
        if hasBody, !answer.body.isEmpty { append(answer.body) }
        finish(throwing: answer.failure.map { failure($0, "the stub ends the response with a failure") })
    }

    /// Adds to the body.
    private func append(_ data: Data) {
        let due = state.withLock { state in
            state.append(data)
            return state.takeWaiterIfDue()
        }
        onProgress(.received(data.count))
        due?.resume()
    }

    /// Waits for the head of the response. Cancelling the Swift task cancels the transfer.
    func head() async throws -> ResponseHead {
        await wait(for: .head)
        return try state.withLock { state in
            if let head = state.head { return head }
            try state.outcome?.get()
            throw failure(.invalidResponse, "the server sent no HTTP response")
        }
    }

    /// Waits for bytes of the body; `nil` at its end.
    func next() async throws -> Data? {
        await wait(for: .bytes)
        let (bytes, wasFull) = try state.withLock { state -> (Data, Bool) in
            if state.buffer.isEmpty { try state.outcome?.get() }
            defer { state.buffer = Data() }
            return (state.buffer, state.buffer.count >= state.capacity)
        }
        if wasFull { attend() }
        return bytes.isEmpty ? nil : bytes
    }

    /// Waits for the end of the body.
    ///
    /// - Returns: the body; `nil` when it is longer than the limit. The transfer is then cancelled.
    func collect(limit: Int) async throws -> Data? {
        let wasFull = state.withLock { state in
            defer { state.capacity = .max }
            return state.buffer.count >= state.capacity
        }
        if wasFull { attend() }
        await wait(for: .end(limit: limit))
        let bytes = try state.withLock { state -> Data? in
            if state.buffer.count > limit { return nil }
            try state.outcome?.get()
            return state.buffer
        }
        if bytes == nil { cancel() }
        return bytes
    }

    private func wait(for event: Event) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let due = state.withLock { state in
                    state.awaited = event
                    state.waiter = continuation
                    return state.takeWaiterIfDue()
                }
                due?.resume()
            }
        } onCancel: {
            cancel()
        }
    }

    /// How long the transfer took; `nil` before its end.
    var metrics: NetworkMetrics? { state.withLock { $0.metrics } }
    var isFinished: Bool { state.withLock { $0.outcome != nil } }
    var watch: SocketWatch { loop.watch }
    private var isSuspended: Bool { state.withLock { $0.isSuspended } }
    var mayBegin: Bool { state.withLock { $0.outcome == nil && !$0.isSuspended } }

    func failure(_ kind: TransportFailure.Kind, _ reason: String) -> NetworkError {
        .transport(TransportFailure(url: request.url, kind: kind, reason: reason))
    }

    /// Sets the outcome and resumes the waiting task. The first outcome counts.
    func finish(throwing error: (any Error)?) {
        let (end, due) = state.withLock { state -> (Progress?, CheckedContinuation<Void, Never>?) in
            var end: Progress?
            if state.outcome == nil {
                state.outcome = error.map { .failure($0) } ?? .success(())
                end = .ended(bytesReceived: state.bytesReceived, state.metrics, error)
            }
            return (end, state.takeWaiterIfDue())
        }
        if let end { onProgress(end) }
        due?.resume()
    }

    // MARK: - The loop's thread

    var handle: UnsafeMutableRawPointer?
    /// Whether the transfer is in its host's queue.
    var isWaiting = false
    private let timeout: Duration?
    private var reader: BodyReader?
    var headerList: UnsafeMutablePointer<curl_slist>?
    var errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    var parser = HeadParser()
    private var hasDeliveredHead = false
    private var isPaused = false
    private var usedCookies = false
    var trust = HostTrust()
    /// The hash of the server's public key, as libcurl logs it when keys are pinned.
    private var serverKey: String?
    /// Why a callback ended the transfer.
    private var problem: (any Error)?
    private var bytes: (sent: Int64, received: Int64) = (0, 0)
    /// When data was last transferred; `nil` while the transfer waits for a connection.
    private var lastActivity: ContinuousClock.Instant?

    deinit {
        errorText.deallocate()
    }

    // MARK: - Callbacks

    func sentHead(_ head: Data) {
        if head.prefix(while: { $0 != 0x0D }).suffix(7).elementsEqual(" HTTP/2".utf8) {
            loop.connectionsAreShared(at: origin)
        }
        let names = ["\r\nCookie: ", "\r\ncookie: "]
        if names.contains(where: { head.range(of: Data($0.utf8)) != nil }) { usedCookies = true }
    }

    func logged(_ text: Data) {
        let line = String(decoding: text, as: UTF8.self)
        guard let start = line.range(of: "public key hash: ")?.upperBound else { return }
        serverKey = line[start...].trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// libcurl first calls this when the transfer has a connection or starts to establish one.
    func progressed(sent: Int64, received: Int64) {
        if lastActivity == nil {
            lastActivity = .now
            loop.transferBegan(self)
        }
        guard bytes != (sent, received) else { return }
        lastActivity = .now
        if sent != bytes.sent, sent > 0 { onProgress(.sent(sent)) }
        bytes = (sent, received)
    }

    func receivedHeader(_ lines: UnsafeRawBufferPointer) -> Int {
        lastActivity = .now
        do {
            if hasDeliveredHead { try parser.countTrailers(lines.count) } else { try parser.take(lines) }
        } catch {
            problem = failure(.invalidResponse, error.description)
            return 0
        }
        // After a 401 or 407 libcurl may repeat the request with the credentials.
        let mayBeAskedAgain = request.credentials != nil && [401, 407].contains(parser.status)
        if !mayBeAskedAgain { deliverHead() }
        return lines.count
    }

    func deliverHead() {
        guard !hasDeliveredHead, parser.isComplete, parser.status >= 200 else { return }
        hasDeliveredHead = true
        let head = ResponseHead(
            url: request.url,
            status: parser.responseStatus,
            headers: parser.fields,
            announcesEnd: parser.announcesEnd,
            usedCookies: usedCookies
        )
        onProgress(.began(head, bodyCount: request.method == .head ? 0 : head.bodyCount))
        let due = state.withLock { state in
            state.head = head
            return state.takeWaiterIfDue()
        }
        due?.resume()
        // libcurl does not end a transfer whose body is paused, even if it stops sending it because of the status.
        if isPaused { attend() }
    }

    func receivedBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        lastActivity = .now
        deliverHead()
        guard hasDeliveredHead else {
            problem = failure(.invalidResponse, "the server sent a body before a final status")
            return 0
        }
        let (answer, due, count) = state.withLock { state -> (Int, CheckedContinuation<Void, Never>?, Int) in
            if state.outcome != nil { return (0, nil, 0) }
            if state.isSuspended || state.buffer.count >= state.capacity { return (Int(CURL_WRITEFUNC_PAUSE), nil, 0) }
            state.append(bytes)
            return (bytes.count, state.takeWaiterIfDue(), bytes.count)
        }
        if answer == CURL_WRITEFUNC_PAUSE { isPaused = true }
        watch.passedOnBody()
        // Before the waiting task continues, which may end this transfer and begin another one.
        if count > 0 { onProgress(.received(count)) }
        due?.resume()
        return answer
    }

    func send(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        lastActivity = .now
        if isSuspended {
            isPaused = true
            return Int(CURL_READFUNC_PAUSE)
        }
        // A file system may have hung.
        defer { ExitGate.stopIfClosed() }
        do {
            guard let reader else { return 0 }
            if let count = try reader.read(into: buffer) { return count }
            isPaused = true
            return Int(CURL_READFUNC_PAUSE)
        } catch {
            problem = error
            return Int(CURL_READFUNC_ABORT)
        }
    }

    /// Begins to read the body from its start.
    func rewind() {
        reader = body.map { body in BodyReader(body) { [weak self] in self?.attend() } }
    }

    // MARK: - Pauses, limits and the end

    func updatePause() {
        guard let handle else { return }
        let (isSuspended, isFull) = state.withLock { ($0.isSuspended, $0.buffer.count >= $0.capacity) }
        if isSuspended, !isPaused {
            isPaused = true
            curl_easy_pause(handle, CURLPAUSE_ALL)
        } else if isPaused, !isSuspended, !isFull {
            isPaused = false
            if lastActivity != nil { lastActivity = .now }
            curl_easy_pause(handle, CURLPAUSE_CONT)
            // libcurl may have called the callbacks, and does not end the transfer if they fail.
            if let problem { finish(throwing: problem) }
        }
    }

    /// When the first limit is exceeded, unless data is transferred.
    var nextLimit: ContinuousClock.Instant? {
        let idle = lastActivity.flatMap { begin in timeout.map { begin + $0 } }
        guard let idle, let deadline else { return idle ?? deadline }
        return min(idle, deadline)
    }

    /// Fails the transfer when a limit is exceeded. Time while it waits for a connection or is paused does not count
    /// towards the timeout.
    func failIfOverdue() -> Bool {
        let now = ContinuousClock.now
        if isPaused, lastActivity != nil { lastActivity = now }
        if let deadline, deadline <= now {
            finish(throwing: failure(.timeLimitExceeded, "the request took longer than its time limit"))
        } else if let timeout, let lastActivity, lastActivity + timeout <= now {
            finish(throwing: failure(.timedOut, "no data was transferred for \(timeout)"))
        } else {
            return false
        }
        return true
    }

    func completed(with code: CURLcode) {
        if code == CURLE_OK { deliverHead() }
        if let metrics = handle.map({ NetworkMetrics($0) }) { state.withLock { $0.metrics = metrics } }
        if let problem { return finish(throwing: problem) }
        guard code != CURLE_OK else { return finish(throwing: nil) }
        if watch.hasShutDown(origin) {
            return finish(throwing: failure(.connectionLost, "the server sent data that is not part of a response"))
        }
        var text = String(cString: errorText)
        if text.isEmpty { text = String(cString: curl_easy_strerror(code)) }
        // libcurl quotes the URL with its password, or takes a part of the password for the host.
        if code == CURLE_COULDNT_RESOLVE_PROXY || text.hasPrefix("Unsupported proxy") {
            text = "the URL of the proxy is invalid, or its host has no address; check http_proxy and https_proxy"
        }
        let explanation = trust.explanation(of: code, text, host: origin[1], serverKey: serverKey)
        finish(throwing: failure(explanation == nil ? .init(code) : .insecure, explanation ?? text))
    }

    /// Releases everything after libcurl's handle was freed.
    func end() {
        handle = nil
        reader = nil
        curl_slist_free_all(headerList)
        headerList = nil
        finish(throwing: CancellationError())
    }
}

extension TransportFailure.Kind {
    init(_ code: CURLcode) {
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

extension NetworkMetrics {
    /// Reads the metrics of a transfer that has ended.
    init(_ handle: UnsafeMutableRawPointer) {
        self.init()
        func time(_ info: CURLINFO) -> Duration { .microseconds(curl_kit_get_offset(handle, info)) }
        let (name, connected) = (time(CURLINFO_NAMELOOKUP_TIME_T), time(CURLINFO_CONNECT_TIME_T))
        nameLookup = name
        connect = max(connected - name, .zero)
        tls = max(time(CURLINFO_APPCONNECT_TIME_T) - connected, .zero)
        firstByte = time(CURLINFO_STARTTRANSFER_TIME_T)
        total = time(CURLINFO_TOTAL_TIME_T)
        isConnectionReused = firstByte > .zero && curl_kit_get_long(handle, CURLINFO_NUM_CONNECTS) == 0
        if isConnectionReused { (nameLookup, connect, tls) = (.zero, .zero, .zero) }
    }
}
