public import Foundation

/// A syntax error in a JSON text.
public struct JSONSyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What was expected and what was found.
    public let problem: String
    /// The offset in bytes, from 0.
    package let offset: Int
    /// The line, from 1.
    public let line: Int
    /// The column in bytes, from 1.
    public let column: Int

    /// The problem and its position.
    public var description: String { "not JSON: line \(line), column \(column): \(problem)" }
}

extension JSONValue {
    /// Parses JSON in UTF-8 (RFC 8259). A byte order mark at the beginning is ignored.
    ///
    /// - Throws: ``JSONSyntaxError``, also for more than 512 levels of nesting.
    public init(parsing data: Data) throws(JSONSyntaxError) {
        var parser = JSONParser(bytes: [UInt8](data))
        self = try parser.parse()
    }

    /// Parses JSON (RFC 8259).
    ///
    /// - Throws: ``JSONSyntaxError``, also for more than 512 levels of nesting.
    public init(parsing text: String) throws(JSONSyntaxError) {
        var parser = JSONParser(bytes: [UInt8](text.utf8))
        self = try parser.parse()
    }
}

/// A strict parser of RFC 8259 that, unlike `JSONSerialization`, keeps the text of numbers.
struct JSONParser {
    static var maximumDepth: Int { 512 }

    private let bytes: [UInt8]
    private var position = 0

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    mutating func parse() throws(JSONSyntaxError) -> JSONValue {
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
        let value = try parseValue(depth: 0)
        skipSpace()
        guard position == bytes.count else { throw error("unexpected data after the value") }
        return value
    }

    private mutating func parseValue(depth: Int) throws(JSONSyntaxError) -> JSONValue {
        guard depth < Self.maximumDepth else { throw error("more than \(Self.maximumDepth) levels of nesting") }
        skipSpace()
        switch peek() {
        case UInt8(ascii: "{"): return try parseObject(depth: depth)
        case UInt8(ascii: "["): return try parseArray(depth: depth)
        case UInt8(ascii: "\""): return .string(try parseString())
        case UInt8(ascii: "t"): return try parseWord("true", .bool(true))
        case UInt8(ascii: "f"): return try parseWord("false", .bool(false))
        case UInt8(ascii: "n"): return try parseWord("null", .null)
        case .some(UInt8(ascii: "0")...UInt8(ascii: "9")), UInt8(ascii: "-"): return .number(try parseNumber())
        default: throw error("expected a value, found \(found)")
        }
    }

    private mutating func parseObject(depth: Int) throws(JSONSyntaxError) -> JSONValue {
        position += 1
        var members: [String: JSONValue] = [:]
        skipSpace()
        if take(UInt8(ascii: "}")) { return .object(members) }
        while true {
            skipSpace()
            guard peek() == UInt8(ascii: "\"") else { throw error("expected a key in quotes, found \(found)") }
            let key = try parseString()
            skipSpace()
            guard take(UInt8(ascii: ":")) else { throw error("expected ':' after a key, found \(found)") }
            members[key] = try parseValue(depth: depth + 1)
            skipSpace()
            if take(UInt8(ascii: "}")) { return .object(members) }
            guard take(UInt8(ascii: ",")) else { throw error("expected ',' or '}', found \(found)") }
        }
    }

    private mutating func parseArray(depth: Int) throws(JSONSyntaxError) -> JSONValue {
        position += 1
        var elements: [JSONValue] = []
        skipSpace()
        if take(UInt8(ascii: "]")) { return .array(elements) }
        while true {
            elements.append(try parseValue(depth: depth + 1))
            skipSpace()
            if take(UInt8(ascii: "]")) { return .array(elements) }
            guard take(UInt8(ascii: ",")) else { throw error("expected ',' or ']', found \(found)") }
        }
    }

    private mutating func parseWord(_ word: StaticString, _ value: JSONValue) throws(JSONSyntaxError) -> JSONValue {
        let text = "\(word)".utf8
        guard bytes[position...].starts(with: text) else { throw error("expected a value, found \(found)") }
        position += text.count
        return value
    }

    private mutating func parseNumber() throws(JSONSyntaxError) -> JSONNumber {
        let start = position
        _ = take(UInt8(ascii: "-"))
        if !take(UInt8(ascii: "0")) { try skipDigits() }
        if take(UInt8(ascii: ".")) { try skipDigits() }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            try skipDigits()
        }
        return JSONNumber(unchecked: String(decoding: bytes[start..<position], as: UTF8.self))
    }

    private mutating func skipDigits() throws(JSONSyntaxError) {
        let start = position
        while let byte = peek(), (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { position += 1 }
        guard position > start else { throw error("expected a digit, found \(found)") }
    }

    private mutating func parseString() throws(JSONSyntaxError) -> String {
        let start = position
        position += 1
        var contents: [UInt8] = []
        while true {
            guard let byte = peek() else { throw error("unterminated string", at: start) }
            switch byte {
            case UInt8(ascii: "\""):
                position += 1
                guard let string = String(validating: contents, as: UTF8.self) else {
                    throw error("invalid UTF-8 in a string", at: start)
                }
                return string
            case UInt8(ascii: "\\"):
                position += 1
                try parseEscape(into: &contents)
            case 0x00...0x1F:
                throw error("a control character in a string must be escaped")
            default:
                contents.append(byte)
                position += 1
            }
        }
    }

    private mutating func parseEscape(into contents: inout [UInt8]) throws(JSONSyntaxError) {
        let start = position - 1
        guard let byte = peek() else { throw error("unterminated string", at: start) }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): contents.append(byte)
        case UInt8(ascii: "b"): contents.append(0x08)
        case UInt8(ascii: "f"): contents.append(0x0C)
        case UInt8(ascii: "n"): contents.append(0x0A)
        case UInt8(ascii: "r"): contents.append(0x0D)
        case UInt8(ascii: "t"): contents.append(0x09)
        case UInt8(ascii: "u"):
            var code = UInt32(try parseHexadecimal())
            if (0xD800...0xDBFF).contains(code), take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) {
                let low = UInt32(try parseHexadecimal())
                guard (0xDC00...0xDFFF).contains(low) else { throw error("unpaired surrogate", at: start) }
                code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
            }
            guard let scalar = Unicode.Scalar(code) else { throw error("unpaired surrogate", at: start) }
            contents += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
        default:
            throw error("invalid escape", at: start)
        }
    }

    private mutating func parseHexadecimal() throws(JSONSyntaxError) -> UInt16 {
        var code: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = peek(), let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
                throw error("expected four hexadecimal digits, found \(found)")
            }
            code = code << 4 | UInt16(digit)
            position += 1
        }
        return code
    }

    // MARK: - Bytes

    private func peek() -> UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard peek() == byte else { return false }
        position += 1
        return true
    }

    private mutating func skipSpace() {
        while let byte = peek(), byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { position += 1 }
    }

    private var found: String {
        guard let byte = peek() else { return "the end" }
        return (0x21...0x7E).contains(byte)
            ? "'\(Character(Unicode.Scalar(byte)))'" : "byte 0x\(String(byte, radix: 16))"
    }

    private func error(_ problem: String, at offset: Int? = nil) -> JSONSyntaxError {
        let offset = offset ?? position
        let before = bytes[..<offset]
        let line = before.count { $0 == 0x0A } + 1
        let lineStart = before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
        return JSONSyntaxError(problem: problem, offset: offset, line: line, column: offset - lineStart + 1)
    }
}
