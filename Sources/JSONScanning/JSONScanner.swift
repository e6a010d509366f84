import Foundation

/// A problem in a JSON text, with its offset in bytes.
package struct JSONProblem: Error, Hashable {
    package var offset: Int
    package var message: String

    package init(offset: Int, message: String) {
        self.offset = offset
        self.message = message
    }
}

/// Scans a JSON text (RFC 8259) in memory. The caller requests each token that it expects.
///
/// It is the only reader of JSON that keeps positions and the text of numbers: `JSONDecoder` and `JSONSerialization` do
/// not report where a mistake is, and change large numbers.
package struct JSONScanner {
    /// The position of a string, without its quotes. It is not decoded yet.
    package struct StringToken {
        fileprivate var range: Range<Int>
        fileprivate var hasEscapes: Bool
    }

    private let base: UnsafePointer<UInt8>
    private let end: Int
    /// The offset of the next byte.
    package private(set) var position = 0

    /// Creates a scanner. The text must outlive it.
    package init(_ base: UnsafePointer<UInt8>, count: Int) {
        self.base = base
        end = count
    }

    /// Skips a byte order mark at the beginning.
    package mutating func skipByteOrderMark() {
        if position == 0, end >= 3, base[0] == 0xEF, base[1] == 0xBB, base[2] == 0xBF { position = 3 }
    }

    /// Skips white space, and returns whether the end follows.
    package mutating func isAtEnd() -> Bool {
        skipWhitespace()
        return position == end
    }

    /// Skips white space, and the byte if it follows. Returns whether it did.
    package mutating func skip(_ byte: UInt8) -> Bool {
        skipWhitespace()
        guard position < end, base[position] == byte else { return false }
        position += 1
        return true
    }

    /// Skips white space and this byte, which must follow.
    package mutating func expect(_ byte: UInt8) throws(JSONProblem) {
        guard skip(byte) else {
            throw problem("expected '\(Character(UnicodeScalar(byte)))', found \(found)")
        }
    }

    /// Skips white space, and returns whether a number follows.
    package mutating func isAtNumber() -> Bool {
        skipWhitespace()
        return position < end && (Self.isDigit(base[position]) || base[position] == UInt8(ascii: "-"))
    }

    /// Skips white space, and returns whether a string follows.
    package mutating func isAtString() -> Bool {
        skipWhitespace()
        return position < end && base[position] == UInt8(ascii: "\"")
    }

    /// Skips a string.
    package mutating func string() throws(JSONProblem) -> StringToken {
        guard skip(UInt8(ascii: "\"")) else { throw problem("expected a string, found \(found)") }
        let start = position
        var hasEscapes = false
        while position < end {
            let byte = base[position]
            if byte == UInt8(ascii: "\"") {
                position += 1
                return StringToken(range: start..<(position - 1), hasEscapes: hasEscapes)
            }
            guard byte >= 0x20 else { throw problem("a string must not contain \(found)") }
            if byte == UInt8(ascii: "\\") {
                hasEscapes = true
                position += 1
            }
            position += 1
        }
        position = end
        throw problem("unterminated string", at: start - 1)
    }

    /// The text of a string.
    package func text(of token: StringToken) throws(JSONProblem) -> String {
        let bytes = UnsafeBufferPointer(start: base + token.range.lowerBound, count: token.range.count)
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw problem("invalid UTF-8 in the string", at: token.range.lowerBound)
        }
        guard token.hasEscapes else { return text }
        var result = ""
        var inner = self
        inner.position = token.range.lowerBound
        let end = token.range.upperBound
        while inner.position < end {
            let start = inner.position
            while inner.position < end, base[inner.position] != UInt8(ascii: "\\") { inner.position += 1 }
            let plain = UnsafeBufferPointer(start: base + start, count: inner.position - start)
            result += String(decoding: plain, as: UTF8.self)
            if inner.position < end { result.unicodeScalars.append(try inner.escape()) }
        }
        return result
    }

    /// Reads an escape sequence in a string.
    private mutating func escape() throws(JSONProblem) -> Unicode.Scalar {
        let start = position
        // The string does not end with a backslash.
        let byte = base[position + 1]
        position += 2
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"):
            var code = try hexadecimal()
            if (0xD800...0xDBFF).contains(code), take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) {
                let low = try hexadecimal()
                guard (0xDC00...0xDFFF).contains(low) else { throw problem("unpaired surrogate", at: start) }
                code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
            }
            guard let scalar = Unicode.Scalar(code) else { throw problem("unpaired surrogate", at: start) }
            return scalar
        default: throw problem("invalid escape in the string", at: start)
        }
    }

    private mutating func hexadecimal() throws(JSONProblem) -> UInt32 {
        var code: UInt32 = 0
        for _ in 0..<4 {
            guard position < end, let digit = Character(Unicode.Scalar(base[position])).hexDigitValue else {
                throw problem("expected four hexadecimal digits, found \(found)")
            }
            code = code << 4 | UInt32(digit)
            position += 1
        }
        return code
    }

    /// Skips a value of any kind.
    package mutating func skipValue(depth: Int = 0) throws(JSONProblem) {
        guard depth < 100 else { throw problem("more than 100 levels of nesting") }
        if skip(UInt8(ascii: "{")) {
            try elements(until: UInt8(ascii: "}")) { scanner throws(JSONProblem) in
                _ = try scanner.text(of: scanner.string())
                try scanner.expect(UInt8(ascii: ":"))
                try scanner.skipValue(depth: depth + 1)
            }
        } else if skip(UInt8(ascii: "[")) {
            try elements(until: UInt8(ascii: "]")) { scanner throws(JSONProblem) in
                try scanner.skipValue(depth: depth + 1)
            }
        } else if isAtString() {
            _ = try text(of: string())
        } else {
            guard !skip("true"), !skip("false"), !skip("null") else { return }
            _ = try number()
        }
    }

    /// Skips white space, and the word if it follows. Returns whether it did.
    package mutating func skip(_ word: StaticString) -> Bool {
        skipWhitespace()
        let stop = position + word.utf8CodeUnitCount
        guard stop <= end, memcmp(base + position, word.utf8Start, word.utf8CodeUnitCount) == 0,
            stop == end || !Self.continuesWord(base[stop])
        else { return false }
        position = stop
        return true
    }

    /// Skips a number, and returns its text.
    package mutating func number() throws(JSONProblem) -> String {
        skipWhitespace()
        let start = position
        let hasSign = take(UInt8(ascii: "-"))
        guard position < end, Self.isDigit(base[position]) else {
            if hasSign { throw problem("expected a digit, found \(found)") }
            throw problem("expected a value, found \(found)")
        }
        if !take(UInt8(ascii: "0")) { try digits() }
        if take(UInt8(ascii: ".")) { try digits() }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            try digits()
        }
        return String(decoding: UnsafeBufferPointer(start: base + start, count: position - start), as: UTF8.self)
    }

    private mutating func digits() throws(JSONProblem) {
        guard position < end, Self.isDigit(base[position]) else { throw problem("expected a digit, found \(found)") }
        while position < end, Self.isDigit(base[position]) { position += 1 }
    }

    /// Skips the byte if it follows immediately.
    private mutating func take(_ byte: UInt8) -> Bool {
        guard position < end, base[position] == byte else { return false }
        position += 1
        return true
    }

    /// Reads the elements of an object or an array after its opening bracket, and the closing bracket.
    package mutating func elements(
        until close: UInt8,
        _ element: (inout JSONScanner) throws(JSONProblem) -> Void
    ) throws(JSONProblem) {
        if skip(close) { return }
        repeat {
            try element(&self)
        } while skip(UInt8(ascii: ","))
        guard skip(close) else {
            throw problem("expected ',' or '\(Character(UnicodeScalar(close)))', found \(found)")
        }
    }

    /// A problem at the current position, or at another one.
    package func problem(_ message: String, at offset: Int? = nil) -> JSONProblem {
        JSONProblem(offset: offset ?? position, message: message)
    }

    /// A description of the character at the current position, for messages. Not of more, which may be a secret.
    package var found: String {
        guard position < end else { return "the end" }
        let byte = base[position]
        if byte == 0x0A { return "the end of the line" }
        return byte < 0x20 || byte >= 0x7F ? Self.hexadecimal(byte) : "'\(Character(Unicode.Scalar(byte)))'"
    }

    private mutating func skipWhitespace() {
        while position < end {
            let byte = base[position]
            guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return }
            position += 1
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func continuesWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "."), UInt8(ascii: "+"), UInt8(ascii: "-"),
            UInt8(ascii: "_"):
            true
        default: false
        }
    }

    private static func hexadecimal(_ byte: UInt8) -> String {
        "byte 0x" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
    }
}

/// The lines of a text, without their ends.
package struct JSONLines: Sequence, IteratorProtocol {
    private var rest: UnsafeBufferPointer<UInt8>?

    /// The text must outlive it.
    package init(_ bytes: UnsafeBufferPointer<UInt8>) { rest = bytes }

    package mutating func next() -> UnsafeBufferPointer<UInt8>? {
        guard let bytes = rest else { return nil }
        guard let base = bytes.baseAddress, let end = memchr(base, 0x0A, bytes.count) else {
            rest = nil
            return bytes
        }
        let count = UnsafeRawPointer(base).distance(to: UnsafeRawPointer(end))
        rest = UnsafeBufferPointer(rebasing: bytes[(count + 1)...])
        return UnsafeBufferPointer(rebasing: bytes[..<count])
    }
}
