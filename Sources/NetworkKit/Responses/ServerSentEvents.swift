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

/// Finds elements in the bytes of a body.
protocol BodyParser<Element> {
    associatedtype Element
    /// Adds bytes, after all complete elements were read.
    mutating func add(_ bytes: Data)
    /// The next complete element.
    mutating func next() throws(TooLong) -> Element?
    /// A last element without an end.
    mutating func rest() -> Element?
}

/// An element is longer than the app allows.
struct TooLong: Error, CustomStringConvertible {
    let what: String
    let limit: Int
    var description: String { "\(what) is longer than \(limit) bytes; raise maximumLength to allow it" }
}

/// Splits bytes into lines of UTF-8.
struct LineParser: BodyParser {
    private let maximumLength: Int
    private var chunk = Data()
    /// The beginning of a line, from earlier chunks.
    private var beginning = Data()
    /// Whether the last line ended with CR, so that an LF belongs to it.
    private var followsCR = false

    init(maximumLength: Int) {
        self.maximumLength = maximumLength
    }

    mutating func add(_ bytes: Data) {
        chunk = bytes
    }

    mutating func next() throws(TooLong) -> String? {
        if followsCR, let first = chunk.first {
            followsCR = false
            if first == 0x0A { chunk = chunk.dropFirst() }
        }
        let end = chunk.firstIndex { $0 == 0x0A || $0 == 0x0D }
        // In place: a server may send each byte of a long line alone.
        beginning.append(chunk[..<(end ?? chunk.endIndex)])
        guard beginning.count <= maximumLength else {
            throw TooLong(what: "a line", limit: maximumLength)
        }
        guard let end else {
            chunk = Data()
            return nil
        }
        followsCR = chunk[end] == 0x0D
        chunk = chunk[(end + 1)...]
        return takeLine()
    }

    mutating func rest() -> String? { beginning.isEmpty ? nil : takeLine() }

    private mutating func takeLine() -> String {
        defer { beginning = Data() }
        return String(decoding: beginning, as: UTF8.self)
    }
}

/// Interprets the lines of an event stream (WHATWG HTML §9.2.6).
struct EventParser: BodyParser {
    private let maximumLength: Int
    private var lines: LineParser
    private var event = ServerSentEvent()
    private var data: [String] = []
    private var dataCount = 0
    private var isFirstLine = true

    init(maximumLength: Int) {
        self.maximumLength = maximumLength
        lines = LineParser(maximumLength: maximumLength)
    }

    mutating func add(_ bytes: Data) { lines.add(bytes) }

    mutating func next() throws(TooLong) -> ServerSentEvent? {
        while let line = try lines.next() {
            if let event = take(line) { return event }
            if dataCount > maximumLength { throw TooLong(what: "the data of an event", limit: maximumLength) }
        }
        return nil
    }

    /// An event without an empty line is none.
    mutating func rest() -> ServerSentEvent? { nil }

    /// Takes a line; returns the event that it ends.
    private mutating func take(_ line: String) -> ServerSentEvent? {
        var text = line
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
            dataCount += line.utf8.count
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
