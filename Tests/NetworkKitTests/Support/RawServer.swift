import NetworkKit
import TestSupport

/// A server on loopback whose bytes a test controls: it can send what no library would send.
final class RawServer: Sendable {
    private struct State {
        var connections: Set<Int32> = []
        var connectionCount = 0
        var requests: [ReceivedRequest] = []
        /// Whether the listening socket is closed or about to be.
        var isStopped = false

        mutating func add(_ descriptor: Int32) -> Bool {
            guard !isStopped else { return false }
            connections.insert(descriptor)
            connectionCount += 1
            return true
        }
    }

    private let listener: Int32
    /// What the server's threads share.
    private final class Shared: Sendable {
        let state = Locked(State())
    }

    private let shared = Shared()
    let url: URL

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - host: a loopback address.
    ///   - receive: called with the number of received bytes of a body, on the connection's thread.
    ///   - answer: called for each request, on the connection's thread. Returning `false`, or throwing, closes the
    ///     connection.
    init(
        at host: String = "127.0.0.1",
        receive: @escaping @Sendable (Int) -> Void = { _ in },
        answer: @escaping @Sendable (ReceivedRequest, RawConnection) throws -> Bool
    ) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr(host)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, length) == 0 && listen(listener, 1024) == 0
                    && getsockname(listener, address, &length) == 0
            }
        }
        guard isListening else { throw POSIXError(.EADDRINUSE) }
        url = URL(string: "http://\(host):\(UInt16(bigEndian: address.sin_port))")!
        self.listener = listener
        // The threads do not need the server, which may be deallocated while they end: the state must have only
        // descriptors that are open, because another socket may get a closed one's number immediately.
        Thread.detachNewThread { [shared] in
            while true {
                let descriptor = accept(listener, nil, nil)
                guard descriptor >= 0 else { break }
                guard shared.state.withLock({ $0.add(descriptor) }) else {
                    close(descriptor)
                    break
                }
                Thread.detachNewThread {
                    let connection = RawConnection(descriptor: descriptor)
                    while let request = try? connection.readRequest(receive) {
                        shared.state.withLock { $0.requests.append(request) }
                        guard (try? answer(request, connection)) == true else { break }
                    }
                    shared.state.withLock { _ = $0.connections.remove(descriptor) }
                    close(descriptor)
                }
            }
            shared.state.withLock { $0.isStopped = true }
            close(listener)
        }
    }

    /// A server that closes each connection after its answer, and says so, if that is a complete response. Otherwise a
    /// client may send the next request on the connection before it notices.
    static func closing(_ answer: @escaping @Sendable (ReceivedRequest, RawConnection) throws -> Void) throws
        -> RawServer
    {
        try RawServer { request, connection in
            var connection = connection
            connection.announcesClose = true
            try answer(request, connection)
            return false
        }
    }

    /// A server that keeps each connection.
    static func keeping(
        at host: String = "127.0.0.1",
        _ answer: @escaping @Sendable (ReceivedRequest, RawConnection) throws -> Void
    ) throws -> RawServer {
        try RawServer(at: host) { request, connection in
            try answer(request, connection)
            return true
        }
    }

    /// A server that sends the same bytes to each request, if any, and waits until the client closes the connection.
    static func silent(after text: String = "") throws -> RawServer {
        try closing { _, connection in
            try connection.send(text)
            connection.waitForEnd()
        }
    }

    /// A server that sends the same bytes to each request and closes the connection.
    static func sending(_ text: String) throws -> RawServer {
        try closing { _, connection in try connection.send(text) }
    }

    /// The requests that have arrived.
    var requests: [ReceivedRequest] { shared.state.withLock { $0.requests } }

    /// Whether a connection is open.
    var isConnected: Bool { shared.state.withLock { !$0.connections.isEmpty } }

    /// How many connections there have been.
    var connectionCount: Int { shared.state.withLock { $0.connectionCount } }

    func stop() {
        shared.state.withLock { state in
            for descriptor in state.connections { shutdown(descriptor, Int32(SHUT_RDWR)) }
            guard !state.isStopped else { return }
            state.isStopped = true
            shutdown(listener, Int32(SHUT_RDWR))
        }
    }

    deinit { stop() }
}

/// Counts from 1.
final class Counter: Sendable {
    private let count = Locked(0)

    /// The last number.
    var current: Int { count.withLock(\.self) }

    func next() -> Int {
        count.withLock { count in
            count += 1
            return count
        }
    }
}

/// What a test and a server's threads share.
final class Flag: Sendable {
    private let isUp = Locked(false)

    var isRaised: Bool { isUp.withLock(\.self) }
    func raise() { isUp.withLock { $0 = true } }
    /// Blocks the thread until it is raised.
    func wait() { waitUntil { isRaised } }
}

/// Blocks the thread until the condition is true, for 300 s at most.
func waitUntil(_ isTrue: () -> Bool) {
    for _ in 0..<300_000 {
        if isTrue() { return }
        usleep(1000)
    }
}

/// A request as it arrived.
struct ReceivedRequest: Sendable {
    var method: String
    var target: String
    /// The fields, by their names in lower case.
    var headers: [String: String]
    var body: Data
    var bodyCount: Int
    /// The request line and the fields.
    var lines: [String]
}

/// A connection that a ``RawServer`` has accepted.
struct RawConnection: Sendable {
    let descriptor: Int32
    /// Whether complete responses announce that they are the last.
    var announcesClose = false

    struct Closed: Error {}

    func send(_ text: String) throws { try send(Data(text.utf8)) }

    func send(_ data: Data) throws {
        try data.withUnsafeBytes { bytes in
            var start = 0
            while start < bytes.count {
                let count = Glibc.send(descriptor, bytes.baseAddress! + start, bytes.count - start, Int32(MSG_NOSIGNAL))
                guard count > 0 else { throw Closed() }
                start += count
            }
        }
    }

    /// Sends a complete response.
    func respond(_ status: String = "200 OK", headers: [String] = [], body: Data = Data()) throws {
        let lines = ["HTTP/1.1 \(status)", "Content-Length: \(body.count)"] + headers
        let head = (announcesClose ? lines + ["Connection: close"] : lines).joined(separator: "\r\n")
        try send(Data((head + "\r\n\r\n").utf8) + body)
    }

    func respond(_ status: String = "200 OK", headers: [String] = [], text: String) throws {
        try respond(status, headers: headers, body: Data(text.utf8))
    }

    /// Sends a body with a tag, or the range of it that a download requests to continue.
    func respond(to request: ReceivedRequest, body: Data) throws {
        let range = request.headers["if-range"] == "\"x\"" ? request.headers["range"] : nil
        guard let start = range.flatMap({ Int($0.dropFirst("bytes=".count).dropLast()) }) else {
            return try respond(headers: ["ETag: \"x\""], body: body)
        }
        let fields = ["ETag: \"x\"", "Content-Range: bytes \(start)-\(body.count - 1)/\(body.count)"]
        try respond("206 Partial Content", headers: fields, body: body.dropFirst(start))
    }

    /// Waits until the other side closes the connection.
    func waitForEnd() {
        var byte: UInt8 = 0
        while recv(descriptor, &byte, 1, 0) > 0 {}
    }

    /// Reads a request, and keeps the first megabyte of its body, which it leaves if the path is `/unread`.
    func readRequest(_ receive: (Int) -> Void = { _ in }) throws -> ReceivedRequest {
        var head: [UInt8] = []
        while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
            var byte: UInt8 = 0
            guard recv(descriptor, &byte, 1, 0) == 1 else { throw Closed() }
            head.append(byte)
        }
        let lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n")
        let first = lines[0].split(separator: " ")
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let pair = line.split(separator: ":", maxSplits: 1)
            headers[pair[0].lowercased()] = pair.count == 2 ? pair[1].trimmingCharacters(in: .whitespaces) : ""
        }
        if headers["expect"]?.lowercased() == "100-continue" { try send("HTTP/1.1 100 Continue\r\n\r\n") }
        let count = first[1] == "/unread" ? 0 : headers["content-length"].flatMap(Int.init) ?? 0
        let body = try readBody(count, receive)
        return ReceivedRequest(
            method: String(first[0]),
            target: String(first[1]),
            headers: headers,
            body: body,
            bodyCount: count,
            lines: lines.map(String.init)
        )
    }

    private func readBody(_ count: Int, _ receive: (Int) -> Void) throws -> Data {
        var body = Data()
        var rest = count
        let buffer = UnsafeMutableRawPointer.allocate(byteCount: 1 << 18, alignment: 16)
        defer { buffer.deallocate() }
        while rest > 0 {
            let read = recv(descriptor, buffer, min(rest, 1 << 18), 0)
            guard read > 0 else { throw Closed() }
            rest -= read
            receive(count - rest)
            if body.count < 1 << 20 { body.append(buffer.assumingMemoryBound(to: UInt8.self), count: read) }
        }
        return body
    }
}

/// A route for any request.
func route(_ server: RawServer, _ request: Endpoint = .get("")) -> URLRoute {
    URLRoute(server.url, request)
}

/// The kind of a request's failure; `nil` for any other error.
func kind(of error: (any Error)?) -> TransportFailure.Kind? {
    if case .transport(let failure)? = error as? NetworkError { failure.kind } else { nil }
}

/// The error that an asynchronous function throws, or `nil`.
func thrown<Value>(_ body: () async throws -> Value) async -> (any Error)? {
    do {
        _ = try await body()
        return nil
    } catch {
        return error
    }
}

/// The kind of the failure that an asynchronous function throws; `nil` for any other error, or none.
func failure<Value>(_ body: () async throws -> Value) async -> TransportFailure.Kind? { kind(of: await thrown(body)) }

/// The response whose status is the error that an asynchronous function throws.
func refusal<Value>(_ body: () async throws -> Value) async throws -> NetworkResponse {
    let error = await thrown(body)
    if case .unacceptableStatus(let response)? = error as? NetworkError { return response }
    return try #require(nil as NetworkResponse?, "\(error as Any)")
}

extension NetworkClient.Options {
    /// Options that differ from the default ones.
    init(_ change: (inout Self) -> Void) {
        self.init()
        change(&self)
    }
}
