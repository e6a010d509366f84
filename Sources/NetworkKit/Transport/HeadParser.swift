import Foundation
import HTTPTypes

/// Reads the lines that come before a response's body, as libcurl passes them on.
struct HeadParser: Sendable {
    struct Problem: Error, CustomStringConvertible {
        var description: String
    }

    /// The most bytes that header fields may have, as in libcurl since 8.3.
    static var maximumSize: Int { 300 * 1024 }

    private(set) var status = 0
    private(set) var fields = HTTPFields()
    private(set) var isComplete = false
    private var reason = ""
    private var isFramed = false
    private var size = 0
    private var last: HTTPField?

    var responseStatus: HTTPResponse.Status { .init(code: min(max(status, 0), 999), reasonPhrase: reason) }

    /// Whether the end of the body will be known to be its end.
    var announcesEnd: Bool {
        if isFramed || status == 204 || status == 304 { return true }
        if fields[.transferEncoding]?.lowercased().contains("chunked") == true { return true }
        return fields[.contentLength].flatMap(Int.init) != nil
    }

    /// Takes a line. What follows the body, trailers, is not to be given.
    mutating func take(_ line: UnsafeRawBufferPointer) throws(Problem) {
        size += line.count
        guard size <= Self.maximumSize else {
            throw Problem(description: "the header fields have more than \(Self.maximumSize) bytes")
        }
        if line.starts(with: "HTTP/".utf8) { return begin(line) }
        guard !isComplete else { return }
        let text = line.prefix { $0 != 0x0D && $0 != 0x0A }
        if text.isEmpty {
            finishField()
            isComplete = true
        } else if text.first == 0x20 || text.first == 0x09 {
            // A line that goes on with the one before (RFC 9112 §5.2).
            last?.value += " " + String(decoding: text, as: UTF8.self)
        } else {
            finishField()
            guard let colon = text.firstIndex(of: UInt8(ascii: ":")),
                let name = HTTPField.Name(String(decoding: text[..<colon], as: UTF8.self))
            else { return }
            last = HTTPField(name: name, value: Array(text[(colon + 1)...]))
        }
    }

    /// Begins with a status line; what was read before belongs to an interim response.
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
