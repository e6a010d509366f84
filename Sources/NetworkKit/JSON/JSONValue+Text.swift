public import Foundation

extension JSONValue: CustomStringConvertible {
    /// ``description`` in UTF-8.
    public var serializedData: Data {
        var bytes: [UInt8] = []
        write(to: &bytes)
        return Data(bytes)
    }

    /// The value as JSON on one line, with object keys sorted by their Unicode code points.
    public var description: String { String(decoding: serializedData, as: UTF8.self) }

    private func write(to bytes: inout [UInt8]) {
        switch self {
        case .null: bytes += "null".utf8
        case .bool(let value): bytes += "\(value)".utf8
        case .number(let number): bytes += number.description.utf8
        case .string(let string): Self.write(string, to: &bytes)
        case .array(let elements):
            for (index, element) in elements.enumerated() {
                bytes += (index == 0 ? "[" : ",").utf8
                element.write(to: &bytes)
            }
            bytes += (elements.isEmpty ? "[]" : "]").utf8
        case .object(let members):
            for (index, member) in members.sortedByName.enumerated() {
                bytes += (index == 0 ? "{" : ",").utf8
                Self.write(member.key, to: &bytes)
                bytes += ":".utf8
                member.value.write(to: &bytes)
            }
            bytes += (members.isEmpty ? "{}" : "}").utf8
        }
    }

    /// Writes a string. Non-ASCII text is not escaped (RFC 8259 §8.1), control characters are.
    private static func write(_ string: String, to bytes: inout [UInt8]) {
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

extension [String: JSONValue] {
    /// The members, sorted by the Unicode code points of their names.
    var sortedByName: [(key: String, value: JSONValue)] {
        sorted { $0.key.unicodeScalars.lexicographicallyPrecedes($1.key.unicodeScalars) }
    }
}
