import Foundation

/// An event that a server sent in a `text/event-stream` (WHATWG HTML §9.2).
public struct ServerSentEvent: Hashable, Sendable {
    /// The type; `message` if the server sends none.
    public var type = "message"
    /// The data. Several lines are separated by line feeds.
    public var data = ""
    /// The identifier of the last event that had one. Send it as `Last-Event-ID` to continue after it.
    public var id: String?
    /// The delay before connecting again that the server asked for last.
    public var retry: Duration?

    /// Creates an event, for tests.
    public init() {}
}

extension ResponseStream {
    /// The body as lines of UTF-8, without their ends: LF, CR LF or CR. Invalid bytes become U+FFFD.
    ///
    /// - Parameter maximumLength: the length of a line, in bytes, above which the request fails. Default 1 MiB.
    public func lines(maximumLength: Int = 1 << 20) -> Lines {
        Lines(stream: self, maximumLength: maximumLength)
    }

    /// The body as server-sent events. An event without its empty line at the end of the body is left out.
    ///
    /// It does not connect again. Only streams with the content type `text/event-stream` are valid: a
    /// ``NetworkResponse/Validation`` of the route checks that. For a server that is silent for more than a minute, set
    /// the route's timeout.
    ///
    /// - Parameter maximumLength: the length of a line, and of an event's data, in bytes, above which the request
    ///   fails. Default 1 MiB.
    public func events(maximumLength: Int = 1 << 20) -> Events {
        Events(stream: self, maximumLength: maximumLength)
    }

    /// The lines of a body.
    public struct Lines: AsyncSequence, Sendable {
        /// A line without its end.
        public typealias Element = String

        fileprivate let stream: ResponseStream
        fileprivate let maximumLength: Int

        /// Reads the body.
        public func makeAsyncIterator() -> Iterator {
            Iterator(bytes: stream.makeAsyncIterator(), splitter: .init(maximumLength: maximumLength))
        }

        /// Reads the body.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate var bytes: ResponseStream.Iterator
            fileprivate var splitter: LineSplitter

            /// Waits for the next line; `nil` at the end.
            ///
            /// - Throws: ``NetworkError``, or `CancellationError`.
            public mutating func next() async throws -> String? {
                while true {
                    if let line = try await nextComplete() { return String(decoding: line, as: UTF8.self) }
                    if let chunk = try await bytes.next() {
                        splitter.add(chunk)
                    } else {
                        return splitter.rest().map { String(decoding: $0, as: UTF8.self) }
                    }
                }
            }

            /// The next line that has arrived with its end.
            fileprivate mutating func nextComplete() async throws -> Data? {
                do {
                    return try splitter.next()
                } catch {
                    throw await bytes.fail(error.description)
                }
            }
        }
    }

    /// The server-sent events of a body.
    public struct Events: AsyncSequence, Sendable {
        /// An event.
        public typealias Element = ServerSentEvent

        fileprivate let stream: ResponseStream
        fileprivate let maximumLength: Int

        /// Reads the body.
        public func makeAsyncIterator() -> Iterator {
            let lines = Lines(stream: stream, maximumLength: maximumLength)
            return Iterator(lines: lines.makeAsyncIterator(), parser: .init(maximumLength: maximumLength))
        }

        /// Reads the body.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate var lines: Lines.Iterator
            fileprivate var parser: EventParser

            /// Waits for the next event; `nil` at the end.
            ///
            /// - Throws: ``NetworkError``, or `CancellationError`.
            public mutating func next() async throws -> ServerSentEvent? {
                while true {
                    while let line = try await lines.nextComplete() {
                        if let event = parser.take(line) { return event }
                        if parser.isTooLong {
                            throw await lines.bytes.fail(
                                "the data of an event is longer than \(parser.maximumLength) bytes"
                            )
                        }
                    }
                    guard let chunk = try await lines.bytes.next() else { return nil }
                    lines.splitter.add(chunk)
                }
            }
        }
    }
}

/// Splits bytes into lines.
private struct LineSplitter: Sendable {
    struct TooLong: Error, CustomStringConvertible {
        var description: String
    }

    let maximumLength: Int
    private var chunk = Data()
    /// The beginning of a line, from earlier chunks.
    private var beginning = Data()
    /// Whether the last line ended with CR, so that an LF belongs to it.
    private var followsCR = false

    init(maximumLength: Int) {
        self.maximumLength = maximumLength
    }

    /// Adds bytes, after all complete lines were read.
    mutating func add(_ bytes: Data) {
        chunk = bytes
    }

    /// The next complete line.
    mutating func next() throws(TooLong) -> Data? {
        if followsCR, let first = chunk.first {
            followsCR = false
            if first == 0x0A { chunk = chunk.dropFirst() }
        }
        let end = chunk.firstIndex { $0 == 0x0A || $0 == 0x0D }
        // In place: a server may send each byte of a long line alone.
        beginning.append(chunk[..<(end ?? chunk.endIndex)])
        guard beginning.count <= maximumLength else {
            throw TooLong(description: "a line is longer than \(maximumLength) bytes; raise maximumLength to allow it")
        }
        guard let end else {
            chunk = Data()
            return nil
        }
        followsCR = chunk[end] == 0x0D
        chunk = chunk[(end + 1)...]
        defer { beginning = Data() }
        return beginning
    }

    /// A last line without an end.
    mutating func rest() -> Data? {
        defer { beginning = Data() }
        return beginning.isEmpty ? nil : beginning
    }
}

/// Interprets the lines of an event stream (WHATWG HTML §9.2.6).
private struct EventParser: Sendable {
    let maximumLength: Int
    private var event = ServerSentEvent()
    private var data: [String] = []
    private var dataCount = 0
    private var isFirstLine = true

    init(maximumLength: Int) {
        self.maximumLength = maximumLength
    }

    var isTooLong: Bool { dataCount > maximumLength }

    /// Takes a line; returns the event that it ends.
    mutating func take(_ line: Data) -> ServerSentEvent? {
        var text = String(decoding: line, as: UTF8.self)
        if isFirstLine, text.unicodeScalars.first == "\u{FEFF}" { text.unicodeScalars.removeFirst() }
        isFirstLine = false
        guard !text.isEmpty else { return end() }
        let scalars = text.unicodeScalars
        let colon = scalars.firstIndex(of: ":") ?? scalars.endIndex
        var value = scalars[colon...].dropFirst()
        if value.first == " " { value = value.dropFirst() }
        switch String(scalars[..<colon]) {
        case "event": event.type = value.isEmpty ? "message" : String(value)
        case "data":
            data.append(String(value))
            dataCount += line.count
        case "id" where !value.contains("\0"): event.id = value.isEmpty ? nil : String(value)
        case "retry" where !value.isEmpty && value.allSatisfy { ("0"..."9").contains($0) }:
            event.retry = Int(String(value)).map { .milliseconds($0) }
        default: break
        }
        return nil
    }

    private mutating func end() -> ServerSentEvent? {
        defer {
            (event.type, data, dataCount) = ("message", [], 0)
        }
        guard !data.isEmpty else { return nil }
        var complete = event
        complete.data = data.joined(separator: "\n")
        return complete
    }
}
