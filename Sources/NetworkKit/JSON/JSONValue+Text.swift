public import Foundation

extension JSONValue: CustomStringConvertible {
    /// ``description`` in UTF-8.
    public var serializedData: Data { Data(bytes()) }

    /// The value as JSON on one line, with object keys sorted by their Unicode code points.
    public var description: String { String(decoding: bytes(), as: UTF8.self) }

    private func bytes() -> [UInt8] {
        var writer = JSONWriter()
        writer.write(self)
        return writer.bytes
    }
}

/// Writes JSON. Non-ASCII text is not escaped (RFC 8259 §8.1), control characters are.
private struct JSONWriter {
    var bytes: [UInt8] = []

    mutating func write(_ value: JSONValue) {
        switch value {
        case .null: bytes += "null".utf8
        case .bool(let value): bytes += (value ? "true" : "false").utf8
        case .number(let number): bytes += number.text.utf8
        case .string(let string): write(string)
        case .array(let elements):
            writeList("[", "]", elements) { writer, element in writer.write(element) }
        case .object(let members):
            let sorted = members.sorted { $0.key.unicodeScalars.lexicographicallyPrecedes($1.key.unicodeScalars) }
            writeList("{", "}", sorted) { writer, member in
                writer.write(member.key)
                writer.bytes += ":".utf8
                writer.write(member.value)
            }
        }
    }

    private mutating func writeList<Element>(
        _ open: String,
        _ close: String,
        _ elements: [Element],
        _ write: (inout JSONWriter, Element) -> Void
    ) {
        bytes += open.utf8
        for (index, element) in elements.enumerated() {
            if index > 0 { bytes += ",".utf8 }
            write(&self, element)
        }
        bytes += close.utf8
    }

    private mutating func write(_ string: String) {
        bytes.append(UInt8(ascii: "\""))
        for byte in string.utf8 {
            switch byte {
            case UInt8(ascii: "\""): bytes += "\\\"".utf8
            case UInt8(ascii: "\\"): bytes += "\\\\".utf8
            case UInt8(ascii: "\n"): bytes += "\\n".utf8
            case UInt8(ascii: "\r"): bytes += "\\r".utf8
            case UInt8(ascii: "\t"): bytes += "\\t".utf8
            case 0x00...0x1F, 0x7F: bytes += "\\u00\(byte < 16 ? "0" : "")\(String(byte, radix: 16))".utf8
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}
