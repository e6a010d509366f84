import Foundation
import IndicatorThreads
import NetworkKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct ServerSentEventTests {
    /// A server that sends a body in pieces.
    private func serve(_ pieces: [Data]) throws -> RawServer {
        try RawServer.closing { _, connection in
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(pieces.reduce(0) { $0 + $1.count })\r\n\r\n")
            for piece in pieces { try connection.send(piece) }
        }
    }

    private func lines(_ text: String, pieces size: Int = .max) async throws -> [String] {
        let server = try serve(split(text, size))
        defer { server.stop() }
        let stream = try await NetworkClient().bytes(route(server))
        return try await stream.lines().reduce(into: []) { $0.append($1) }
    }

    private func events(_ text: String, pieces size: Int = .max) async throws -> [ServerSentEvent] {
        let server = try serve(split(text, size))
        defer { server.stop() }
        let stream = try await NetworkClient().bytes(route(server))
        return try await stream.events().reduce(into: []) { $0.append($1) }
    }

    private func split(_ text: String, _ size: Int) -> [Data] {
        let bytes = Data(text.utf8)
        return stride(from: 0, to: bytes.count, by: min(size, max(bytes.count, 1))).map { start in
            bytes[start..<min(start + min(size, bytes.count), bytes.count)]
        }
    }

    private func event(_ data: String, type: String = "message", id: String? = nil) -> ServerSentEvent {
        var event = ServerSentEvent()
        (event.data, event.type, event.id) = (data, type, id)
        return event
    }

    @Test(arguments: [1, 2, 3, .max]) func `All ends of lines are read`(_ size: Int) async throws {
        let text = "a\nb\r\nc\rd\r\r\n\n\nä\n\re"
        #expect(try await lines(text, pieces: size) == ["a", "b", "c", "d", "", "", "", "ä", "", "e"])
        #expect(try await lines("", pieces: size) == [])
        #expect(try await lines("\n", pieces: size) == [""])
    }

    /// The examples of WHATWG HTML §9.2.6, and fields that must be ignored.
    @Test(arguments: [1, 7, .max]) func `Events are read as the specification says`(_ size: Int) async throws {
        #expect(try await events("data: YHOO\ndata: +2\ndata: 10\n\n", pieces: size) == [event("YHOO\n+2\n10")])
        let text = ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n"
        #expect(
            try await events(text, pieces: size)
                == [event("first event", id: "1"), event("second event"), event(" third event")]
        )
        // The last one has no empty line.
        #expect(try await events("data\n\ndata\ndata\n\ndata:", pieces: size) == [event(""), event("\n")])
        let typed = "\u{FEFF}event: add\r\ndata: 73857293\r\n\r\nevent: none\r\n\r\ndata: 1\r\r"
        #expect(try await events(typed, pieces: size) == [event("73857293", type: "add"), event("1")])
        let ignored = "id: 7\nid: a\0b\nretry: 1x\nretry: 250\nData: x\n data: y\ndata: z: \u{301}\n\n"
        var expected = event("z: \u{301}", id: "7")
        expected.retry = .milliseconds(250)
        #expect(try await events(ignored, pieces: size) == [expected])
    }

    @Test func `Events of a stream without end arrive at once`() async throws {
        let seen = Locked(0)
        let server = try RawServer.closing { _, connection in
            try connection.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
            for number in 0..<5 {
                try connection.send("data: \(number)\n\n")
                waitUntil { seen.withLock { $0 } > number }
            }
            connection.waitForEnd()
        }
        let stream = try await NetworkClient().bytes(route(server))
        for try await event in stream.events() {
            #expect(event.data == "\(seen.withLock { $0 })")
            if seen.withLock({ seen in
                seen += 1; return seen == 5
            }) {
                break
            }
        }
    }

    /// A server that sends 1 GB, or as much as the client accepts.
    private func flood(_ text: String, isClosed: @escaping @Sendable () -> Void) throws -> RawServer {
        try RawServer.closing { _, connection in
            defer { isClosed() }
            try connection.send("HTTP/1.1 200 OK\r\n\r\n")
            let piece = Data(String(repeating: text, count: (1 << 20) / text.utf8.count).utf8)
            for _ in 0..<1024 { try connection.send(piece) }
        }
    }

    @Test(arguments: [("x", false), ("x", true), ("data: x\n", false), (":", false), (":", true)])
    func `A line or event of 1 GB is an error before it is read`(_ text: String, _ readsLines: Bool) async throws {
        let isClosed = Locked(false)
        let server = try flood(text) { isClosed.withLock { $0 = true } }
        let task = Locked<NetworkTask?>(nil)
        let center = NotificationCenter()
        let token = center.addObserver(forName: nil, object: nil, queue: nil) { notification in
            task.withLock { $0 = notification.object as? NetworkTask }
        }
        defer { center.removeObserver(token) }
        let recorder = NotificationRecorder(center)
        let stream = try await NetworkClient(notificationCenter: center).bytes(route(server))
        let error = await thrown {
            if readsLines { for try await _ in stream.lines() {} } else { for try await _ in stream.events() {} }
        }
        #expect("\(error as Any)".contains("longer than 1048576 bytes"), "\(error as Any)")
        #expect(recorder.names == ["Resume", "Complete"])
        #expect(await eventually { isClosed.withLock { $0 } })
        #expect(try #require(task.withLock { $0 }).progress.bytesReceived < 16 << 20)
    }
}
