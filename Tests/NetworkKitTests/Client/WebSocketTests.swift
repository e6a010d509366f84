import Foundation
import HTTPTypes
import IndicatorThreads
import NetworkKit
import TestSupport
import Testing

/// What does not depend on the libcurl that runs.
@Suite struct WebSocketSupportTests {
    @Test(.enabled(if: WebSocket.unsupportedReason != nil))
    func theErrorNamesTheLibcurlThatRunsAndTheOneThatIsNeeded() async throws {
        let route = URLRoute(try #require(URL(string: "wss://127.0.0.1:1/")))
        let error = await thrown { _ = try await NetworkClient().webSocket(route) }
        let text = "\(error as Any)"
        #expect(text.contains(#/libcurl [0-9]+\.[0-9]+\.[0-9]+\S*, which this process uses, /#))
        #expect(text.contains("is too old for WebSockets") || text.contains("is built without WebSockets"))
        #expect(text.contains("install libcurl 8.14 or later") && text.contains("Debian 13"))
    }

    /// The example of RFC 6455 §1.3.
    @Test func aKeyIsConfirmedByItsHash() {
        #expect(WebSocketKey.accepted("dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    }
}

/// WebSockets with servers that behave, and with others.
@Suite(.enabled(if: WebSocket.unsupportedReason == nil, "libcurl has no WebSockets")) struct WebSocketTests {
    private let recorder = NotificationRecorder()
    private let client: NetworkClient

    init() {
        client = NetworkClient(notificationCenter: recorder.center)
    }

    /// A server that confirms a WebSocket, and then does what a test wants.
    private func server(_ serve: @escaping @Sendable (RawConnection) throws -> Void) throws -> RawServer {
        try RawServer { request, connection in
            try connection.confirm(request)
            try serve(connection)
            return false
        }
    }

    private func echoServer() throws -> RawServer {
        try server { connection in
            while true {
                let frame = try connection.readFrame()
                try connection.send(frame: frame.opcode, frame.payload)
                if frame.opcode == 8 { return }
            }
        }
    }

    /// Reads messages until the end, or until there are enough.
    private func messages(_ socket: WebSocket, count: Int = .max) async throws -> [WebSocket.Message] {
        var all: [WebSocket.Message] = []
        for try await message in socket {
            all.append(message)
            if all.count == count { break }
        }
        return all
    }

    // MARK: - Messages

    @Test(arguments: ["http", "ws"]) func messagesGoBothWays(scheme: String) async throws {
        let server = try echoServer()
        let url = try #require(URL(string: scheme + server.url.absoluteString.dropFirst(4) + "/chat?room=1"))
        let name = try #require(HTTPField.Name("Sec-WebSocket-Protocol"))
        let socket = try await client.webSocket(URLRoute(url, .get("", headers: [name: "chat"])))
        let large = Data((0..<5_000_000).map { UInt8(truncatingIfNeeded: $0 / 7) })
        let sent: [WebSocket.Message] = [.text("hello 👋"), .text(""), .data(Data()), .data(large), .text("end")]
        async let received = messages(socket, count: sent.count)
        for message in sent { try await socket.send(message) }
        #expect(try await received == sent)
        let request = try #require(server.requests.first)
        #expect(request.target == "/chat?room=1")
        #expect(request.headers["sec-websocket-protocol"] == "chat")
        #expect(request.headers["sec-websocket-version"] == "13")
        #expect(await eventually { recorder.names == ["Resume", "Complete"] })
        #expect(recorder.all.first?.label == "GET /chat")
    }

    @Test func theFramesOfAMessageAreJoinedAndPingsBetweenThemAnswered() async throws {
        let pong = Locked(Data())
        let server = try server { connection in
            try connection.send(frame: 1, Data("one ".utf8), isFinal: false)
            try connection.send(frame: 9, Data("are you there?".utf8))
            // The character has two bytes, in two frames.
            try connection.send(frame: 0, Data("tw\u{F6}".utf8).dropLast(), isFinal: false)
            try connection.send(frame: 0, Data("\u{F6}".utf8).suffix(1), isFinal: false)
            try connection.send(frame: 0)
            try connection.send(frame: 2, Data([1, 2]))
            let answer = try connection.readFrame()
            if answer.opcode == 10 { pong.withLock { $0 = answer.payload } }
            connection.waitForEnd()
        }
        let socket = try await client.webSocket(route(server))
        #expect(try await messages(socket, count: 2) == [.text("one tw\u{F6}"), .data(Data([1, 2]))])
        #expect(await eventually { pong.withLock { $0 } == Data("are you there?".utf8) })
    }

    @Test func aPingDoesNotBreakAMessageThatIsBeingSent() async throws {
        let large = Data((0..<20_000_000).map { UInt8(truncatingIfNeeded: $0 / 3) })
        let arrived = Locked<[RawConnection.Frame]>([])
        let isAnswered = Locked(false)
        let server = try server { connection in
            // The message has begun, and is longer than what fits into the buffers.
            var byte: UInt8 = 0
            guard recv(connection.descriptor, &byte, 1, Int32(MSG_PEEK)) == 1 else { return }
            for number in 0..<1000 { try connection.send(frame: 9, Data("\(number)".utf8)) }
            repeat {
                let frame = try connection.readFrame()
                arrived.withLock { $0.append(frame) }
            } while arrived.withLock { $0.last?.opcode != 2 }
            try connection.send(frame: 9, Data("last".utf8))
            while try connection.readFrame().payload != Data("last".utf8) {}
            isAnswered.withLock { $0 = true }
            connection.waitForEnd()
        }
        let socket = try await client.webSocket(route(server))
        let reader = Task { try await messages(socket) }
        try await socket.send(.data(large))
        #expect(await eventually { isAnswered.withLock { $0 } })
        #expect(arrived.withLock { $0.last?.payload == large })
        client.cancelAllRequests()
        await #expect(throws: CancellationError.self) { try await reader.value }
    }

    @Test func aSlowReaderBlocksTheServer() async throws {
        let sent = Locked(0)
        let server = try server { connection in
            for _ in 0..<1000 {
                try connection.send(frame: 2, Data(count: 1 << 20))
                sent.withLock { $0 += 1 }
            }
            connection.waitForEnd()
        }
        let socket = try await client.webSocket(route(server))
        var last = -1
        #expect(
            await eventually {
                defer { last = sent.withLock { $0 } }
                return last > 0 && last == sent.withLock { $0 }
            }
        )
        #expect(sent.withLock { $0 } < 100)
        #expect(try await messages(socket, count: 1000).count == 1000)
    }

    @Test func requestsContinueBesideAnOpenWebSocket() async throws {
        let server = try RawServer { request, connection in
            guard request.headers["upgrade"] != nil else {
                try connection.respond(text: "other")
                return true
            }
            try connection.confirm(request)
            while true {
                let frame = try connection.readFrame()
                try connection.send(frame: frame.opcode, frame.payload)
            }
        }
        let socket = try await client.webSocket(route(server))
        for number in 0..<50 {
            async let received = messages(socket, count: 1)
            try await socket.send(.text("\(number)"))
            #expect(try await client.send(route(server)).string() == "other")
            #expect(try await received == [.text("\(number)")])
        }
    }

    @Test func aWebSocketOverTLSTrustsWhatTheClientTrusts() async throws {
        let address = try LoopbackAddress()
        let certificates = try await Certificates(address: address.host)
        let script = """
            import base64, hashlib, socket, ssl, sys
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(sys.argv[3], sys.argv[4])
            listener = socket.create_server((sys.argv[1], int(sys.argv[2])))
            print("listening", flush=True)
            while True:
                try:
                    connection = context.wrap_socket(listener.accept()[0], server_side=True)
                    file = connection.makefile("rwb")
                    lines = iter(file.readline, b"\\r\\n")
                    key = [line.split()[1] for line in lines if line.lower().startswith(b"sec-websocket-key:")][0]
                    accept = hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()
                    file.write(b"HTTP/1.1 101 .\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n")
                    file.write(b"Sec-WebSocket-Accept: " + base64.b64encode(accept) + b"\\r\\n\\r\\n\\x81\\x06secret")
                    file.flush()
                    file.read(1)
                except ssl.SSLError: pass
            """
        let arguments = [
            "-c", script, address.host, "\(address.port)", certificates.path("server.pem"),
            certificates.path("server.key"),
        ]
        let daemon = try Daemon("python3", arguments, package: "python3")
        #expect(await eventually { daemon.output.contains("listening") })
        let route = URLRoute(try #require(URL(string: "wss://\(address.host):\(address.port)")))
        let error = await thrown { _ = try await client.webSocket(route) }
        #expect("\(error as Any)".contains("(insecure)"))
        var options = NetworkClient.Options()
        options.certificateAuthorities = URL(filePath: certificates.path("ca.pem"))
        let socket = try await NetworkClient(options: options).webSocket(route)
        #expect(try await messages(socket, count: 1) == [.text("secret")])
    }

    // MARK: - Credentials, cookies, proxies

    @Test(arguments: [Credentials.Scheme.any, .digest, .basic])
    func aWebSocketIsOpenedWithBasicCredentialsOnly(scheme: Credentials.Scheme) async throws {
        let server = try server { connection in
            try connection.send(frame: 1, Data("welcome".utf8))
            connection.waitForEnd()
        }
        let credentials = Credentials(user: "u", password: "p", scheme: scheme)
        let error = await thrown {
            let socket = try await client.webSocket(route(server, .get("").with(\.credentials, credentials)))
            let messages = try await messages(socket, count: 1)
            #expect(messages == [.text("welcome")])
        }
        if scheme == .basic {
            #expect(error == nil)
            #expect(server.requests.map { $0.headers["authorization"] } == ["Basic dTpw"])
        } else {
            #expect("\(error as Any)".contains("Basic credentials only"))
            #expect(server.requests.isEmpty)
        }
    }

    @Test func cookiesAreSentAndKeptIfEnabled() async throws {
        let server = try RawServer { request, connection in
            guard request.headers["upgrade"] != nil else {
                try connection.respond(headers: ["Set-Cookie: a=1; Path=/"], text: "x")
                return true
            }
            try connection.confirm(request, fields: ["Set-Cookie: b=2; Path=/"])
            connection.waitForEnd()
            return false
        }
        var options = NetworkClient.Options()
        options.keepsCookies = true
        let client = NetworkClient(options: options)
        _ = try await client.send(route(server))
        let socket = try await client.webSocket(route(server))
        _ = try await client.send(route(server))
        let cookies = server.requests.map { Set(($0.headers["cookie"] ?? "").components(separatedBy: "; ")) }
        #expect(cookies == [[""], ["a=1"], ["a=1", "b=2"]])
        withExtendedLifetime(socket) {}
    }

    /// With CONNECT, also without TLS.
    @Test(arguments: ["ws", "wss"]) func theProxyOfTheEnvironmentIsUsed(scheme: String) async throws {
        let proxy = try RawServer { request, connection in
            guard request.method != "CONNECT" else {
                try connection.send("HTTP/1.1 200 Connected\r\n\r\n")
                return scheme == "ws"
            }
            try connection.confirm(request)
            try connection.send(frame: 1, connection.readFrame().payload)
            connection.waitForEnd()
            return false
        }
        let url = try #require(URL(string: "http://u:p@" + proxy.url.absoluteString.dropFirst("http://".count)))
        let result = try await Command.run(
            "env",
            ["-u", "no_proxy", "-u", "NO_PROXY", "\(scheme == "ws" ? "http" : "https")_proxy=\(url)"]
                + [try Command.built("network-probe"), "socket", "\(scheme)://host.invalid/chat", "hello"]
        )
        let opening = try #require(proxy.requests.first)
        #expect(opening.target == "host.invalid:\(scheme == "ws" ? 80 : 443)")
        #expect(opening.headers["proxy-authorization"] == "Basic dTpw")
        if scheme == "ws" {
            #expect(result.output.hasPrefix("text(\"hello\")\n"), "\(result.output)\(result.error)")
            #expect(proxy.requests.map(\.target) == ["host.invalid:80", "/chat"])
        } else {
            #expect(result.output.hasPrefix("error: https://host.invalid/chat: "), "\(result.output)\(result.error)")
        }
    }

    // MARK: - The end

    @Test func theServersCodeAndReasonEndTheMessages() async throws {
        let answer = Locked<RawConnection.Frame?>(nil)
        let server = try server { connection in
            try connection.send(frame: 1, Data("bye".utf8))
            try connection.send(frame: 8, Data([0x03, 0xE9]) + Data("going\naway".utf8))
            let frame = try connection.readFrame()
            answer.withLock { $0 = frame }
        }
        let socket = try await client.webSocket(route(server))
        #expect(try await messages(socket) == [.text("bye")])
        #expect(socket.closure?.code == 1001)
        #expect(socket.closure?.reason == "going away")
        #expect(await eventually { answer.withLock { $0?.opcode == 8 && $0?.payload.prefix(2) == Data([3, 0xE9]) } })
        let error = await thrown { try await socket.send(.text("late")) }
        #expect("\(error as Any)".contains("the WebSocket is closed"))
        try await socket.close()
    }

    @Test func closingSendsTheMessagesFirst() async throws {
        let arrived = Locked<[RawConnection.Frame]>([])
        let server = try server { connection in
            for _ in 0..<10 { try connection.send(frame: 2, Data(count: 1 << 20)) }
            while true {
                let frame = try connection.readFrame()
                arrived.withLock { $0.append(frame) }
                guard frame.opcode != 8 else { return try connection.send(frame: 8, frame.payload) }
            }
        }
        let socket = try await client.webSocket(route(server))
        try await socket.send(.text("last"))
        try await socket.close(code: 3000, reason: "done")
        #expect(socket.closure?.code == 3000)
        #expect(socket.closure?.reason == "done")
        #expect(arrived.withLock { $0.map(\.opcode) } == [1, 8])
        #expect(arrived.withLock { $0.last?.payload } == Data([0x0B, 0xB8]) + Data("done".utf8))
        #expect(try await messages(socket) == [])
    }

    @Test func closingEndsWithoutTheServersConfirmation() async throws {
        let ended = Locked(false)
        let arrived = Locked<[UInt8]>([])
        let server = try server { connection in
            while let frame = try? connection.readFrame() { arrived.withLock { $0.append(frame.opcode) } }
            ended.withLock { $0 = true }
        }
        let socket = try await client.webSocket(route(server))
        async let closing: Void = socket.close()
        // Nothing may follow the close frame.
        #expect(await eventually { await thrown { try await socket.send(.text("late")) } != nil })
        try await closing
        #expect(socket.closure == nil)
        #expect(try await messages(socket) == [])
        #expect(await eventually { ended.withLock { $0 } })
        #expect(arrived.withLock { $0.last } == 8)
    }

    @Test func everySendEndsWhenTheServerCloses() async throws {
        let begin = Locked(false)
        let server = try server { connection in
            waitUntil { begin.withLock { $0 } }
            // It reads nothing.
            try connection.send(frame: 8, Data([0x03, 0xF3]))
            waitUntil { (try? connection.isClosed()) != false }
        }
        let socket = try await client.webSocket(route(server))
        let sending = (0..<3).map { _ in Task { try await socket.send(.data(Data(count: 50_000_000))) } }
        begin.withLock { $0 = true }
        for task in sending {
            let error = await thrown { try await task.value }
            #expect("\(error as Any)".contains("the WebSocket is closed"))
        }
        #expect(socket.closure?.code == 1011)
    }

    @Test(arguments: [999, 1004, 1005, 1006, 1015, 2999, 5000])
    func aCodeThatMustNotBeSentIsAnError(code: Int) async throws {
        let server = try echoServer()
        let socket = try await client.webSocket(route(server))
        let error = await thrown { try await socket.close(code: code) }
        #expect("\(error as Any)".contains("RFC 6455"))
        let long = await thrown { try await socket.close(reason: String(repeating: "ä", count: 62)) }
        #expect("\(long as Any)".contains("123 bytes"))
        try await socket.close(reason: String(repeating: "x", count: 123))
        #expect(socket.closure?.code == 1000)
    }

    @Test(arguments: ["reading", "sending", "all requests", "release"])
    func cancellationEndsTheConnection(way: String) async throws {
        let ended = Locked(false)
        let isReading = Locked(false)
        let server = try server { connection in
            try connection.send(frame: 1, Data("begin".utf8))
            if way == "sending" { waitUntil { isReading.withLock { $0 } } }
            connection.waitForEnd()
            ended.withLock { $0 = true }
        }
        var socket: WebSocket? = try await client.webSocket(route(server))
        switch way {
        case "release": socket = nil
        case "all requests":
            let reader = Task { [socket] in try await messages(#require(socket)) }
            client.cancelAllRequests()
            await #expect(throws: CancellationError.self) { try await reader.value }
        default:
            let began = Locked(false)
            let work = Task { [socket] in
                let socket = try #require(socket)
                for try await _ in socket {
                    began.withLock { $0 = true }
                    // The server does not read it.
                    if way == "sending" { try await socket.send(.data(Data(count: 50_000_000))) }
                }
            }
            #expect(await eventually { began.withLock { $0 } })
            work.cancel()
            await #expect(throws: CancellationError.self) { try await work.value }
            isReading.withLock { $0 = true }
        }
        #expect(await eventually { ended.withLock { $0 } })
    }

    @Test func aServerThatDiesIsAnError() async throws {
        let server = try server { try $0.send(frame: 1, Data("half".utf8), isFinal: false) }
        let socket = try await client.webSocket(route(server))
        let error = await thrown { _ = try await messages(socket) }
        #expect("\(error as Any)".contains("without a close frame (connectionLost)"))
    }

    // MARK: - What a server must not send

    @Test(arguments: [
        // The announced length, without the message.
        ("announcement", 1009), ("fragments", 1009), ("text", 1007), ("close", 1002),
    ])
    func anInvalidMessageClosesTheConnection(kind: String, code: Int) async throws {
        let answer = Locked<Data?>(nil)
        let server = try server { connection in
            try connection.send(frame: 1, Data("good".utf8))
            switch kind {
            case "announcement": try connection.send(connection.head(2, count: 1 << 30) + Data(count: 1000))
            case "fragments":
                for index in 0..<11 {
                    try connection.send(frame: index == 0 ? 2 : 0, Data(count: 100_000), isFinal: false)
                }
            case "text": try connection.send(frame: 1, Data([0x61, 0xC3, 0x28]))
            default: try connection.send(frame: 8, Data([3]))
            }
            let frame = try connection.readFrame()
            answer.withLock { $0 = frame.payload }
        }
        let socket = try await client.webSocket(route(server), maximumMessageSize: 1_000_000)
        var iterator = socket.makeAsyncIterator()
        #expect(try await iterator.next() == .text("good"))
        let error = await thrown { _ = try await iterator.next() }
        #expect("\(error as Any)".contains("(invalidResponse)"))
        #expect("\(error as Any)".contains(["announcement", "fragments"].contains(kind) ? "1000000 bytes" : kind))
        #expect(await eventually { answer.withLock { $0 == Data([UInt8(code >> 8), UInt8(code & 0xFF)]) } })
    }

    @Test(
        arguments: [
            // A masked frame, a reserved bit, an unknown opcode, a continuation of nothing, a long ping, a ping in
            // pieces, and a length of 2⁶³ bytes.
            [0x81, 0x81, 1, 2, 3, 4, 5], [0xC1, 0], [0x83, 0], [0x80, 0], [0x89, 126, 1, 0], [0x09, 0],
            [0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0],
        ] as [[UInt8]]
    )
    func aFrameThatIsInvalidIsAnError(bytes: [UInt8]) async throws {
        let server = try server { connection in
            try connection.send(Data(bytes) + Data(count: 1000))
            connection.waitForEnd()
        }
        let socket = try await client.webSocket(route(server))
        let error = await thrown { _ = try await messages(socket) }
        #expect("\(error as Any)".contains("[WS]") && "\(error as Any)".contains("(invalidResponse)"))
    }

    @Test func pingsWithoutEndDoNotStopOtherRequests() async throws {
        let flood = try server { connection in
            let pings = (0..<10_000).reduce(into: Data()) { data, _ in
                data += connection.head(9, count: 2) + Data("hi".utf8)
            }
            while true { try connection.send(pings) }
        }
        let other = try RawServer.closing { _, connection in try connection.respond(text: "ok") }
        let socket = try await client.webSocket(route(flood))
        for _ in 0..<20 { #expect(try await client.send(route(other)).string() == "ok") }
        #expect(socket.closure == nil)
    }

    @Test(arguments: ["404 Not Found", "200 OK", "302 Found", "401 Unauthorized"])
    func aRefusalIsAnErrorWithItsStatus(status: String) async throws {
        let server = try RawServer.closing { _, connection in
            try connection.respond(status, headers: ["Location: /other"], text: "no")
        }
        let error = await thrown { _ = try await client.webSocket(route(server)) }
        guard case .unacceptableStatus(let failure)? = error as? NetworkError else {
            Issue.record("\(error as Any)")
            return
        }
        #expect(status.hasPrefix("\(failure.status.code)"))
        #expect(server.requests.count == 1)
        #expect(await eventually { recorder.names == ["Resume", "Complete"] })
    }

    @Test func aServerThatDoesNotConfirmTheKeyIsAnError() async throws {
        let server = try RawServer { request, connection in
            try connection.confirm(request, accept: WebSocketKey.accepted("another key"))
            connection.waitForEnd()
            return false
        }
        let error = await thrown { _ = try await client.webSocket(route(server)) }
        #expect("\(error as Any)".contains("does not confirm"))
    }

    @Test func aServerThatDoesNotAnswerTheHandshakeTimesOut() async throws {
        let server = try RawServer { _, connection in
            connection.waitForEnd()
            return false
        }
        let error = await thrown {
            _ = try await client.webSocket(route(server, .get("").with(\.timeout, .seconds(0.2))))
        }
        #expect("\(error as Any)".contains("timedOut"))
    }
}

extension RawConnection {
    struct Frame {
        var opcode: UInt8
        var isFinal: Bool
        var payload: Data
    }

    /// Confirms a WebSocket (RFC 6455 §4.2.2).
    func confirm(_ request: ReceivedRequest, accept: String? = nil, fields: [String] = []) throws {
        let accept = accept ?? WebSocketKey.accepted(request.headers["sec-websocket-key"] ?? "")
        try send(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + (["Sec-WebSocket-Accept: \(accept)"] + fields).joined(separator: "\r\n") + "\r\n\r\n"
        )
    }

    /// Sends a frame, without a mask, as a server does.
    func send(frame opcode: UInt8, _ payload: Data = Data(), isFinal: Bool = true) throws {
        try send(head(opcode, isFinal, count: payload.count) + payload)
    }

    func head(_ opcode: UInt8, _ isFinal: Bool = true, count: Int) -> Data {
        let start = opcode | (isFinal ? 0x80 : 0)
        func bytes(_ size: Int) -> [UInt8] { (1...size).map { UInt8(truncatingIfNeeded: count >> (8 * (size - $0))) } }
        return switch count {
        case ..<126: Data([start, UInt8(count)])
        case ..<65536: Data([start, 126] + bytes(2))
        default: Data([start, 127] + bytes(8))
        }
    }

    /// Whether the other side has reset or closed the connection (POLLRDHUP), without reading from it.
    func isClosed() throws -> Bool {
        var socket = pollfd(fd: descriptor, events: 0x2000, revents: 0)
        guard poll(&socket, 1, 0) >= 0 else { throw Closed() }
        return socket.revents != 0
    }

    func read(_ count: Int) throws -> Data {
        var data = Data(count: count)
        var start = 0
        while start < count {
            let read = data.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress! + start, count - start, 0) }
            guard read > 0 else { throw Closed() }
            start += read
        }
        return data
    }

    /// Reads a frame of a client, which must be masked.
    func readFrame() throws -> Frame {
        let head = try read(2)
        guard head[1] & 0x80 != 0 else { throw Closed() }
        var count = Int(head[1] & 0x7F)
        if count > 125 { count = try read(count == 126 ? 2 : 8).reduce(0) { $0 << 8 | Int($1) } }
        let mask = Array(try read(4))
        var payload = Array(try read(count))
        for index in payload.indices { payload[index] ^= mask[index & 3] }
        return Frame(opcode: head[0] & 0xF, isFinal: head[0] & 0x80 != 0, payload: Data(payload))
    }
}
