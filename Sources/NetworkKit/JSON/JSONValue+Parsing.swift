public import Foundation
import JSONScanning

/// A syntax error in a JSON text.
public struct JSONSyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The position, what was expected, and what was found.
    public let description: String

    fileprivate init(_ error: JSONProblem, in bytes: UnsafeBufferPointer<UInt8>) {
        let before = bytes[..<error.offset]
        let lineStart = before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
        let (line, column) = (before.count { $0 == 0x0A } + 1, error.offset - lineStart + 1)
        description = "not JSON: line \(line), column \(column): \(error.message)"
    }
}

// Not by Foundation's decoder, which loses the text of numbers and the position of errors, and accepts `[1,]`.
extension JSONValue {
    /// Parses JSON in UTF-8 (RFC 8259). A byte order mark at the beginning is ignored.
    ///
    /// - Throws: ``JSONSyntaxError``, also for more than 512 levels of nesting.
    public init(parsing data: Data) throws(JSONSyntaxError) { try self.init(parsing: [UInt8](data)) }

    /// Parses JSON (RFC 8259).
    ///
    /// - Throws: ``JSONSyntaxError``, also for more than 512 levels of nesting.
    public init(parsing text: String) throws(JSONSyntaxError) {
        try self.init(parsing: [UInt8](text.utf8))
    }

    private init(parsing bytes: [UInt8]) throws(JSONSyntaxError) {
        self = try bytes.withUnsafeBufferPointer { bytes throws(JSONSyntaxError) in
            guard let base = bytes.baseAddress else {
                throw JSONSyntaxError(JSONProblem(offset: 0, message: "expected a value, found the end"), in: bytes)
            }
            var scanner = JSONScanner(base, count: bytes.count)
            do throws(JSONProblem) {
                scanner.skipByteOrderMark()
                let value = try scanner.value(depth: 0)
                guard scanner.isAtEnd() else { throw scanner.problem("unexpected data after the value") }
                return value
            } catch {
                throw JSONSyntaxError(error, in: bytes)
            }
        }
    }

    /// The number of levels of nesting that are parsed.
    static let maximumDepth = 512
}

extension JSONScanner {
    fileprivate mutating func value(depth: Int) throws(JSONProblem) -> JSONValue {
        guard depth < JSONValue.maximumDepth else {
            throw problem("more than \(JSONValue.maximumDepth) levels of nesting")
        }
        if skip(UInt8(ascii: "{")) {
            var members: [String: JSONValue] = [:]
            try elements(until: UInt8(ascii: "}")) { scanner throws(JSONProblem) in
                guard scanner.isAtString() else {
                    throw scanner.problem("expected a key in quotes, found \(scanner.found)")
                }
                let key = try scanner.text(of: scanner.string())
                try scanner.expect(UInt8(ascii: ":"))
                members[key] = try scanner.value(depth: depth + 1)
            }
            return .object(members)
        }
        if skip(UInt8(ascii: "[")) {
            var values: [JSONValue] = []
            try elements(until: UInt8(ascii: "]")) { scanner throws(JSONProblem) in
                values.append(try scanner.value(depth: depth + 1))
            }
            return .array(values)
        }
        if isAtString() { return .string(try text(of: string())) }
        if skip("true") { return .bool(true) }
        if skip("false") { return .bool(false) }
        if skip("null") { return .null }
        return .number(JSONNumber(description: try number()))
    }
}
