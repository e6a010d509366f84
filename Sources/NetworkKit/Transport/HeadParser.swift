import Foundation
import HTTPTypes

/// Parses the status line and the header fields of a response.
struct HeadParser: Sendable {
    struct Problem: Error, CustomStringConvertible {
        var description: String
    }

    /// The maximum size of the header fields in bytes, as in libcurl since 8.3, and that of the trailers, which libcurl
    /// does not limit, and keeps in memory.
    static var maximumSize: Int { 300 * 1024 }

    private(set) var status = 0
    private(set) var fields = HTTPFields()
    private(set) var isComplete = false
    private var reason = ""
    private var isFramed = false
    private var size = 0
    private var trailerSize = 0
    private var last: HTTPField?

    var responseStatus: HTTPResponse.Status { .init(code: min(max(status, 0), 999), reasonPhrase: reason) }

    /// Whether a complete body can be distinguished from a truncated one.
    var announcesEnd: Bool {
        if isFramed || status == 204 || status == 304 { return true }
        if fields[.transferEncoding]?.lowercased().contains("chunked") == true { return true }
        return fields[.contentLength].flatMap(Int.init) != nil
    }

    /// Parses complete lines. libcurl delivers one at a time, but after a pause all that it held back. Trailers must
    /// not be passed on their own.
    mutating func take(_ lines: UnsafeRawBufferPointer) throws(Problem) {
        var rest = lines[...]
        while !rest.isEmpty {
            let end = rest.firstIndex(of: 0x0A).map { $0 + 1 } ?? rest.endIndex
            try take(line: UnsafeRawBufferPointer(rebasing: rest[..<end]))
            rest = rest[end...]
        }
    }

    /// Counts trailers, which are not part of the response.
    mutating func countTrailers(_ count: Int) throws(Problem) {
        trailerSize += count
        guard trailerSize <= Self.maximumSize else {
            throw Problem(description: "the trailers are longer than \(Self.maximumSize) bytes")
        }
    }

    private mutating func take(line: UnsafeRawBufferPointer) throws(Problem) {
        size += line.count
        guard size <= Self.maximumSize else {
            throw Problem(description: "the header fields are longer than \(Self.maximumSize) bytes")
        }
        // Elsewhere it is not a status line, but an invalid field.
        if status == 0 || isComplete, line.starts(with: "HTTP/".utf8) { return begin(line) }
        guard !isComplete else { return }
        let text = line.prefix { $0 != 0x0D && $0 != 0x0A }
        if text.isEmpty {
            finishField()
            isComplete = true
        } else if text.first == 0x20 || text.first == 0x09 {
            // A continuation of the previous line (RFC 9112 §5.2).
            last?.value += " " + String(decoding: text, as: UTF8.self)
        } else {
            finishField()
            guard let colon = text.firstIndex(of: UInt8(ascii: ":")),
                let name = HTTPField.Name(String(decoding: text[..<colon], as: UTF8.self))
            else { return }
            last = HTTPField(name: name, value: Array(text[(colon + 1)...]))
        }
    }

    /// Parses a status line. Earlier lines belong to an interim response.
    private mutating func begin(_ line: UnsafeRawBufferPointer) {
        let words = String(decoding: line, as: UTF8.self).split(maxSplits: 2) { $0.isWhitespace }
        self = HeadParser()
        size = line.count
        status = words.count > 1 ? Int(words[1]) ?? 0 : 0
        reason = words.count > 2 ? words[2].trimmingCharacters(in: .whitespacesAndNewlines) : ""
        isFramed = words[0].dropFirst("HTTP/".count).first.map { $0 != "1" } ?? false
    }

    private mutating func finishField() {
        if let last { fields.append(last) }
        last = nil
    }
}
