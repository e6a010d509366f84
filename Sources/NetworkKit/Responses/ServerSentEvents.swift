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

/// Splits bytes into lines.
struct LineSplitter: Sendable {
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
struct EventParser: Sendable {
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
