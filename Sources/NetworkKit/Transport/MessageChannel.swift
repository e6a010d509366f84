import CCurl
import DequeModule
import Foundation
import IndicatorThreads

/// An error of libcurl.
struct CurlError: Error {
    var code: CURLcode
}

/// The messages of a WebSocket (RFC 6455), between the tasks of an app and libcurl's thread.
///
/// libcurl encodes and decodes frames. This joins the frames of a message, answers pings, and closes.
final class MessageChannel: @unchecked Sendable {
    // `@unchecked`: `state` is locked; only the loop's thread uses the variables below "The loop's thread".

    /// libcurl's flags of a frame (curl/websockets.h).
    private struct Flags: OptionSet {
        let rawValue: Int32
        static let text = Self(rawValue: 1)
        static let binary = Self(rawValue: 2)
        /// More frames of the message follow.
        static let continued = Self(rawValue: 4)
        static let close = Self(rawValue: 8)
        static let ping = Self(rawValue: 16)
        static let pong = Self(rawValue: 64)
    }

    /// A frame, or the rest of it, that waits to be sent.
    private struct Frame {
        var flags: Flags
        var bytes: Data
        var sender: CheckedContinuation<Void, any Error>?
    }

    private struct State {
        var received: Deque<WebSocket.Message> = []
        /// The size of the received messages, with an allowance for each.
        var receivedSize = 0
        var outgoing: Deque<Frame> = []
        /// Whether libcurl has a part of the first outgoing frame.
        var hasBegunFrame = false
        /// Whether a close frame was queued.
        var isClosing = false
        var closure: WebSocket.Closure?
        var failure: NetworkError?
        var end: Result<Void, any Error>?
        var waiters: [CheckedContinuation<Void, Never>] = []

        var isFull: Bool { receivedSize >= MessageChannel.capacity }

        mutating func queueClose(_ payload: Data) {
            isClosing = true
            outgoing.append(Frame(flags: .close, bytes: payload))
        }

        mutating func takeWaiters() -> [CheckedContinuation<Void, Never>] {
            defer { waiters = [] }
            return waiters
        }

        /// Removes the frames that libcurl has not begun, whose senders must be resumed.
        mutating func takeUnsent() -> [Frame] {
            let kept = hasBegunFrame ? 1 : 0
            defer { outgoing.removeLast(outgoing.count - kept) }
            return Array(outgoing.dropFirst(kept))
        }
    }

    /// The size of received messages above which no more are read.
    private static let capacity = 1 << 18
    private let limit: Int
    private let url: URL
    private let state = Locked(State())

    /// - Parameter limit: the maximum size of a received message in bytes.
    init(limit: Int, url: URL) {
        self.limit = limit
        self.url = url
    }

    // MARK: - Any thread

    var closure: WebSocket.Closure? { state.withLock { $0.closure } }
    var isClosing: Bool { state.withLock { $0.isClosing } }
    /// Why this side closes the connection.
    var failure: NetworkError? { state.withLock { $0.failure } }

    /// Waits for a message; `nil` after the end.
    ///
    /// - Parameter attend: called when more can be received.
    func next(_ attend: () -> Void) async throws -> WebSocket.Message? {
        while true {
            let (message, wasFull, end) = state.withLock { state in
                let wasFull = state.isFull
                let message = state.received.popFirst()
                if let message { state.receivedSize -= message.size }
                return (message, wasFull, state.end)
            }
            if wasFull { attend() }
            if let message { return message }
            if let end {
                try end.get()
                return nil
            }
            await wait { !$0.received.isEmpty }
        }
    }

    /// Waits until libcurl has sent a message.
    func send(_ message: WebSocket.Message, _ attend: () -> Void) async throws {
        try await withCheckedThrowingContinuation { sender in
            let isOpen = state.withLock { state in
                guard state.end == nil, !state.isClosing else { return false }
                switch message {
                case .text(let text):
                    state.outgoing.append(Frame(flags: .text, bytes: Data(text.utf8), sender: sender))
                case .data(let data): state.outgoing.append(Frame(flags: .binary, bytes: data, sender: sender))
                }
                return true
            }
            if isOpen { attend() } else { sender.resume(throwing: closedError) }
        }
    }

    /// Sends a close frame after the messages, and waits for the end.
    func close(_ payload: Data, _ attend: () -> Void) async {
        state.withLock { state in
            if state.end == nil, !state.isClosing { state.queueClose(payload) }
            (state.received, state.receivedSize) = ([], 0)
        }
        attend()
        await wait { _ in false }
    }

    /// Waits for the end, or for a condition.
    private func wait(for isDue: (State) -> Bool) async {
        await withCheckedContinuation { waiter in
            let isDue = state.withLock { state in
                if state.end != nil || isDue(state) { return true }
                state.waiters.append(waiter)
                return false
            }
            if isDue { waiter.resume() }
        }
    }

    /// Ends all waiting. Called once.
    func end(with error: (any Error)?) {
        let (waiters, frames) = state.withLock { state in
            state.end = error.map { .failure($0) } ?? .success(())
            state.hasBegunFrame = false
            return (state.takeWaiters(), state.takeUnsent())
        }
        for frame in frames { frame.sender?.resume(throwing: error ?? closedError) }
        for waiter in waiters { waiter.resume() }
    }

    private var closedError: NetworkError {
        .transport(TransportFailure(url: url, kind: .connectionLost, reason: "the WebSocket is closed"))
    }

    // MARK: - The loop's thread

    /// The message whose frames arrive.
    private var message = Data()
    private var control = Data()
    /// Whether more may have arrived.
    private(set) var mayContinue = false

    /// Sends and receives frames until that would block.
    ///
    /// - Returns: the events of poll(2) to wait for; `nil` after the end.
    func exchange(_ handle: UnsafeMutableRawPointer) throws(CurlError) -> Int32? {
        try send(handle)
        mayContinue = false
        try receive(handle)
        try send(handle)
        return state.withLock { state in
            guard !state.outgoing.isEmpty || (state.closure == nil && state.failure == nil) else { return nil }
            return (state.outgoing.isEmpty ? 0 : CURL_WAIT_POLLOUT)
                | (state.closure == nil && state.failure == nil && !state.isFull ? CURL_WAIT_POLLIN : 0)
        }
    }

    private func send(_ handle: UnsafeMutableRawPointer) throws(CurlError) {
        while true {
            let next = state.withLock { state in
                state.hasBegunFrame = !state.outgoing.isEmpty
                return state.outgoing.first
            }
            guard let frame = next else { return }
            var sent = 0
            let code = frame.bytes.withUnsafeBytes { bytes in
                curl_kit_send_frame(handle, bytes.baseAddress, bytes.count, &sent, frame.flags.rawValue)
            }
            guard code == CURLE_OK || code == CURLE_AGAIN else { throw CurlError(code: code) }
            let isComplete = state.withLock { state in
                // Another thread may have ended the connection, and resumed the sender.
                guard state.end == nil else { return false }
                state.outgoing[0].bytes = frame.bytes.dropFirst(sent)
                guard code == CURLE_OK, sent == frame.bytes.count else { return false }
                state.outgoing.removeFirst()
                state.hasBegunFrame = false
                return true
            }
            if isComplete { frame.sender?.resume() }
            if code == CURLE_AGAIN || (sent == 0 && !isComplete) { return }
        }
    }

    private func receive(_ handle: UnsafeMutableRawPointer) throws(CurlError) {
        let buffer = UnsafeMutableRawPointer.allocate(byteCount: 1 << 16, alignment: 16)
        defer { buffer.deallocate() }
        // Not without end: a server may send faster than this reads.
        for _ in 0..<64 {
            guard state.withLock({ !$0.isFull && $0.closure == nil && $0.failure == nil }) else { return }
            var (count, flags, left) = (0, Int32(0), curl_off_t(0))
            let code = curl_kit_receive_frame(handle, buffer, 1 << 16, &count, &flags, &left)
            if code == CURLE_AGAIN { return }
            guard code == CURLE_OK else { throw CurlError(code: code) }
            take(Data(bytes: buffer, count: count), Flags(rawValue: flags), left: left)
        }
        mayContinue = true
    }

    private func take(_ bytes: Data, _ flags: Flags, left: curl_off_t) {
        if !flags.isDisjoint(with: [.close, .ping, .pong]) {
            control.append(bytes)
            guard left == 0 else { return }
            let payload = control
            control = Data()
            if flags.contains(.ping) { answerPing(payload) }
            if flags.contains(.close) { closed(payload) }
            return
        }
        guard Int(left) <= limit - message.count - bytes.count else {
            return fail(1009, "a message is longer than \(limit) bytes; raise maximumMessageSize to allow it")
        }
        message.append(bytes)
        guard left == 0, !flags.contains(.continued) else { return }
        defer { message = Data() }
        guard flags.contains(.text) else { return deliver(.data(message)) }
        guard let text = String(validating: message, as: UTF8.self) else {
            return fail(1007, "a text message is not valid UTF-8 (RFC 6455 §8.1)")
        }
        deliver(.text(text))
    }

    private func deliver(_ message: WebSocket.Message) {
        let waiters = state.withLock { state in
            // After `close`, nobody waits for messages, but for the server's close frame.
            guard !state.isClosing else { return [CheckedContinuation<Void, Never>]() }
            state.received.append(message)
            state.receivedSize += message.size
            return state.takeWaiters()
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Answers the latest ping (RFC 6455 §5.5.3), after the frame that is being sent.
    private func answerPing(_ payload: Data) {
        state.withLock { state in
            let start = state.hasBegunFrame ? 1 : 0
            if state.outgoing.count > start, state.outgoing[start].flags == .pong {
                state.outgoing[start].bytes = payload
            } else {
                state.outgoing.insert(Frame(flags: .pong, bytes: payload), at: start)
            }
        }
    }

    /// The server closes the connection, or confirms that this side does (RFC 6455 §5.5.1).
    private func closed(_ payload: Data) {
        let reason = String(validating: payload.dropFirst(2), as: UTF8.self)
        guard payload.count != 1, let reason else { return fail(1002, "the server sent an invalid close frame") }
        let code = payload.count < 2 ? nil : Int(payload[0]) << 8 | Int(payload[1])
        let unsent = state.withLock { state in
            state.closure = WebSocket.Closure(code: code, reason: reason.withoutControls)
            guard !state.isClosing else { return [Frame]() }
            defer { state.queueClose(payload) }
            return state.takeUnsent()
        }
        for frame in unsent { frame.sender?.resume(throwing: closedError) }
    }

    /// Closes the connection because of what the server sent.
    private func fail(_ code: Int, _ reason: String) {
        let error = NetworkError.transport(TransportFailure(url: url, kind: .invalidResponse, reason: reason))
        let unsent = state.withLock { state in
            state.failure = error
            defer { if !state.isClosing { state.queueClose(Data([UInt8(code >> 8), UInt8(code & 0xFF)])) } }
            return state.takeUnsent()
        }
        for frame in unsent { frame.sender?.resume(throwing: error) }
    }
}

/// The messages of an open WebSocket, on the loop's thread.
extension Transfer {
    /// Begins to transfer messages after the handshake; `false` if this is not a WebSocket.
    func beginMessages() -> Bool {
        guard channel != nil, parser.status == 101, !isFinished else { return false }
        deliverHead()
        isOpen = true
        return true
    }

    /// Sends and receives messages.
    ///
    /// - Returns: the socket and the events to wait for; `nil` if the next messages can be received now.
    func exchangeMessages() -> curl_waitfd? {
        guard let handle, let channel, !isFinished else { return curl_waitfd() }
        do {
            guard let events = try channel.exchange(handle) else {
                finish(throwing: channel.failure)
                return curl_waitfd()
            }
            if channel.isClosing, closeLimit == nil {
                closeLimit = .now + .seconds(5)
                loop.transferBegan(self)
            }
            guard !channel.mayContinue else { return nil }
            return curl_waitfd(fd: curl_kit_get_socket(handle), events: Int16(events), revents: 0)
        } catch {
            if channel.isClosing {
                finish(throwing: channel.failure)
            } else if error.code == CURLE_GOT_NOTHING {
                finish(throwing: failure(.connectionLost, "the connection ended without a close frame"))
            } else {
                var text = String(cString: errorText)
                if text.isEmpty { text = String(cString: curl_easy_strerror(error.code)) }
                finish(throwing: failure(text.hasPrefix("[WS]") ? .invalidResponse : .connectionLost, text))
            }
            return curl_waitfd()
        }
    }
}

extension WebSocket.Message {
    /// The size in memory, about.
    fileprivate var size: Int {
        switch self {
        case .text(let text): text.utf8.count + 64
        case .data(let data): data.count + 64
        }
    }
}
