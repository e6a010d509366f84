import CCurl
public import Foundation
public import HTTPTypes

/// An open WebSocket (RFC 6455): messages in both directions.
///
/// The messages that arrive are read as an asynchronous sequence, once. While they are not consumed, the server is not
/// read from. The sequence ends when one of both sides closes the WebSocket; ``closure`` then has the server's code. A
/// connection that ends without that is an error. Pings are answered. Cancelling a task that reads or sends ends the
/// connection, as does releasing the last reference to the WebSocket. A WebSocket is thread-safe.
public struct WebSocket: AsyncSequence, Sendable, CustomStringConvertible {
    /// A message.
    public enum Message: Hashable, Sendable {
        /// Text.
        case text(String)
        /// Bytes.
        case data(Data)
    }

    /// How the server closed the WebSocket.
    public struct Closure: Hashable, Sendable {
        /// The status code, such as 1000 for a normal end (RFC 6455 §7.4); `nil` if the server sent none.
        public let code: Int?
        /// The reason, without control characters; often empty.
        public let reason: String
    }

    /// A message.
    public typealias Element = Message

    /// The URL, with the scheme http or https.
    public let url: URL
    /// The header fields of the server's answer, such as `Sec-WebSocket-Protocol`.
    public let headers: HTTPFields
    private let source: Source
    /// How the server closed the WebSocket; `nil` as long as it has not.
    public var closure: Closure? { source.channel.closure }

    /// Ends the connection when it is released.
    fileprivate final class Source: Sendable {
        let transfer: Transfer
        let channel: MessageChannel
        private let tasks: LiveTasks

        init(_ transfer: Transfer, _ channel: MessageChannel, _ tasks: LiveTasks) {
            self.transfer = transfer
            self.channel = channel
            self.tasks = tasks
            tasks.insert(transfer)
        }

        deinit {
            transfer.cancel()
            tasks.remove(transfer)
        }

        /// Runs an operation whose cancellation ends the connection.
        func run<Value>(_ operation: () async throws -> Value) async rethrows -> Value {
            try await withTaskCancellationHandler(operation: operation) { transfer.cancel() }
        }
    }

    fileprivate init(_ head: ResponseHead, _ source: Source) {
        url = head.url
        headers = head.headers
        self.source = source
    }

    /// The URL, without secrets.
    public var description: String { "WebSocket \(url.withoutSecrets)" }

    /// Sends a message, and returns when it has been passed to the system. A server that does not read delays this.
    ///
    /// - Throws: ``NetworkError`` when the WebSocket is closed, or `CancellationError`.
    public func send(_ message: Message) async throws {
        try await source.run { try await source.channel.send(message, source.transfer.attend) }
    }

    /// Closes the WebSocket after the messages that are being sent, and returns when the server has confirmed that, but
    /// at most after 5 seconds. Messages that arrive meanwhile are discarded. No effect when it is closed.
    ///
    /// - Parameters:
    ///   - code: 1000 to 1003, 1007 to 1014, or 3000 to 4999 (RFC 6455 §7.4). Default 1000, a normal end.
    ///   - reason: for the server; at most 123 bytes of UTF-8.
    /// - Throws: ``NetworkError/invalidRequest(_:)`` if the code or the reason is invalid.
    public func close(code: Int = 1000, reason: String = "") async throws {
        guard [1000...1003, 1007...1014, 3000...4999].contains(where: { $0.contains(code) }) else {
            throw NetworkError.invalidRequest("\(code) is not a code that closes a WebSocket (RFC 6455 §7.4)")
        }
        guard reason.utf8.count <= 123 else {
            throw NetworkError.invalidRequest("the reason to close a WebSocket is longer than 123 bytes")
        }
        let payload = Data([UInt8(code >> 8), UInt8(code & 0xFF)]) + Data(reason.utf8)
        await source.run { await source.channel.close(payload, source.transfer.attend) }
    }

    /// Reads the messages.
    public func makeAsyncIterator() -> Iterator { Iterator(source: source) }

    /// Reads the messages.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let source: Source

        /// Waits for the next message; `nil` after the end.
        ///
        /// - Throws: ``NetworkError``, or `CancellationError`.
        public mutating func next() async throws -> Message? {
            try await source.run { try await source.channel.next(source.transfer.attend) }
        }
    }
}

extension WebSocket {
    /// Why the libcurl that runs cannot open WebSockets; `nil` if it can.
    ///
    /// 8.11 damages long messages that it sends (curl/curl#15865). 8.12 does not show where a message of several frames
    /// ends (curl/curl#15298), 8.13 not after a ping in the middle of it, and both send the answer to a ping in the
    /// middle of a message.
    package static let unsupportedReason: String? = {
        guard let info = curl_version_info(CURLVERSION_FIRST)?.pointee else { return "libcurl has no version" }
        var protocols: Set<String> = []
        var next = info.protocols
        while let name = next?.pointee {
            protocols.insert(String(cString: name))
            next = next?.advanced(by: 1)
        }
        guard info.version_num < 0x080E00 || !protocols.isSuperset(of: ["ws", "wss"]) else { return nil }
        let lack = protocols.contains("wss") ? "is too old for WebSockets" : "is built without WebSockets"
        return "libcurl \(String(cString: info.version)), which this process uses, \(lack); "
            + "install libcurl 8.14 or later with WebSockets, such as that of Debian 13"
    }()
}

extension NetworkClient {
    /// Opens a WebSocket.
    ///
    /// Needs libcurl 8.14 or later, built with WebSockets, when the app runs. Debian 13 has it; Debian 12 and Ubuntu
    /// 24.04 do not. The indicator shows the opening, like a request, but not the open WebSocket, which may last for
    /// hours. Begin an activity for what the app waits for. Interceptors, retries, the trust of hosts and the route's
    /// timeouts apply to the opening; an open WebSocket may be silent without limit. It is one of the connections to
    /// its host (``Options/maximumConnectionsPerHost``). Redirects are errors.
    ///
    /// - Parameters:
    ///   - route: the endpoint, a GET request. The scheme is `wss` or `https`, or, without TLS, `ws` or `http`.
    ///   - maximumMessageSize: the size of a received message, in bytes, above which the connection fails. Default
    ///     16 MiB.
    /// - Throws: ``NetworkError``; its case `unsupported` says which libcurl is used. The error of an interceptor, or
    ///   `CancellationError`.
    public func webSocket(_ route: some RequestRoute, maximumMessageSize: Int = 16 << 20) async throws -> WebSocket {
        if let problem = WebSocket.unsupportedReason { throw NetworkError.unsupported(problem) }
        var route = URLRoute(route.baseURL, route.request)
        route.baseURL = route.baseURL.withHTTPScheme
        guard route.request.method == .get else {
            throw NetworkError.invalidRequest("a WebSocket is opened with GET, not \(route.request.method.rawValue)")
        }
        let task = makeTask(route, nil)
        return try await task.run { [self, route] in
            try await perform(route, task) { request, _ in
                // libcurl ends the opening at the server's challenge.
                guard [nil, .basic].contains(request.credentials?.scheme) else {
                    throw NetworkError.unsupported(
                        "libcurl opens WebSockets with Basic credentials only; "
                            + "set the credentials' scheme to basic, and use wss"
                    )
                }
                let key = Data((0..<16).map { _ in UInt8.random(in: 0...255) }).base64EncodedString()
                var request = request
                request.setHeader("Sec-WebSocket-Key", key, isSensitive: false)
                let channel = MessageChannel(limit: maximumMessageSize, url: request.url)
                let deadline = request.timeLimit?.limit.map { ContinuousClock.now + $0 }
                let transfer = try await transfer(request, nil, task, deadline, channel: channel)
                task.attach(transfer)
                let head = try await transfer.head()
                // Cancels the transfer unless it is returned.
                let socket = WebSocket(head, .init(transfer, channel, tasks))
                guard head.status.code == 101 else {
                    throw NetworkError.unacceptableStatus(
                        ResponseFailure(NetworkResponse(ReceivedResponse(head: head, data: Data())))
                    )
                }
                // libcurl does not check this (RFC 6455 §4.1).
                guard let field = HTTPField.Name("Sec-WebSocket-Accept"),
                    head.headers[field] == WebSocketKey.accepted(key)
                else { throw transfer.failure(.invalidResponse, "the server does not confirm the WebSocket's key") }
                return socket
            }
        }
    }
}

extension URL {
    /// The URL with the scheme http instead of ws, and https instead of wss.
    fileprivate var withHTTPScheme: URL {
        guard var parts = URLComponents(url: self, resolvingAgainstBaseURL: true) else { return self }
        switch parts.scheme?.lowercased() {
        case "ws": parts.scheme = "http"
        case "wss": parts.scheme = "https"
        default: return self
        }
        return parts.url ?? self
    }
}

/// The proof that a server understands WebSockets (RFC 6455 §4.2.2).
package enum WebSocketKey {
    /// What a server answers to a key.
    package static func accepted(_ key: String) -> String {
        sha1(Data((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)).base64EncodedString()
    }

    /// SHA-1 (FIPS 180-4 §6.1), which is no protection here, only a proof.
    private static func sha1(_ data: Data) -> Data {
        var padded = data + [0x80]
        padded.append(Data(count: (120 - padded.count % 64) % 64))
        padded.append(contentsOf: (0..<8).map { UInt8(truncatingIfNeeded: (data.count * 8) >> (56 - 8 * $0)) })
        func rotated(_ word: UInt32, _ count: UInt32) -> UInt32 { word << count | word >> (32 - count) }
        var hash: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0]
        for start in stride(from: 0, to: padded.count, by: 64) {
            var words = (0..<16).map { index in
                padded[(start + 4 * index)..<(start + 4 * index + 4)].reduce(0) { $0 << 8 | UInt32($1) }
            }
            for index in 16..<80 {
                words.append(rotated(words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16], 1))
            }
            var (a, b, c, d, e) = (hash[0], hash[1], hash[2], hash[3], hash[4])
            for (index, word) in words.enumerated() {
                let (mixed, constant): (UInt32, UInt32) =
                    switch index {
                    case ..<20: (b & c | ~b & d, 0x5A82_7999)
                    case ..<40: (b ^ c ^ d, 0x6ED9_EBA1)
                    case ..<60: (b & c | b & d | c & d, 0x8F1B_BCDC)
                    default: (b ^ c ^ d, 0xCA62_C1D6)
                    }
                (a, b, c, d, e) = (rotated(a, 5) &+ mixed &+ e &+ constant &+ word, a, rotated(b, 30), c, d)
            }
            for (index, value) in [a, b, c, d, e].enumerated() { hash[index] &+= value }
        }
        return Data(hash.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (24 - 8 * $0)) } })
    }
}
