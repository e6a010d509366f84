/// Percent-encoding (RFC 3986).
enum PercentEncoding {
    /// The characters that are not encoded.
    enum Allowed {
        /// The unreserved characters only (§2.3): for values.
        case unreserved
        /// The characters of a path, including slashes (§3.3).
        case path
    }

    static func encode(_ text: String, allowed: Allowed = .unreserved, plusForSpace: Bool = false) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            if isUnreserved(byte) || (allowed == .path && isPathCharacter(byte)) {
                bytes.append(byte)
            } else if plusForSpace, byte == UInt8(ascii: " ") {
                bytes.append(UInt8(ascii: "+"))
            } else {
                bytes += [UInt8(ascii: "%"), hexadecimal(byte >> 4), hexadecimal(byte & 15)]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }

    private static func isPathCharacter(_ byte: UInt8) -> Bool {
        "/:@!$&'()*+,;=".utf8.contains(byte)
    }

    private static func hexadecimal(_ digit: UInt8) -> UInt8 {
        digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "A") + digit - 10
    }
}
