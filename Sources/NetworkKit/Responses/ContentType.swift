import Foundation

/// A `Content-Type` (RFC 9110 §8.3.1).
struct ContentType: Hashable, Sendable {
    /// The type without parameters, in lower case, such as `text/html`.
    var mediaType: String
    /// The value of the parameter `charset`.
    var charset: String?

    init?(_ field: String?) {
        guard let field else { return nil }
        let pieces = field.split(separator: ";", omittingEmptySubsequences: false)
        mediaType = pieces[0].trimmed.lowercased()
        guard mediaType.contains("/") else { return nil }
        for piece in pieces.dropFirst() {
            let pair = piece.split(separator: "=", maxSplits: 1)
            guard pair.count == 2, pair[0].trimmed.lowercased() == "charset" else { continue }
            charset = pair[1].trimmed.trimmingCharacters(in: ["\"", "'"]).lowercased()
        }
    }

    /// Whether the type matches a pattern such as `application/json`, `image/*` or `*/*`. `application/json` also
    /// matches types with the suffix `+json`, such as `application/problem+json` (RFC 6839 §3.1).
    func matches(_ pattern: String) -> Bool {
        let pattern = ContentType(pattern)?.mediaType ?? pattern.lowercased()
        if pattern == "*/*" || pattern == mediaType { return true }
        if pattern.hasSuffix("/*") { return mediaType.hasPrefix(pattern.dropLast()) }
        return pattern == "application/json" && mediaType.hasSuffix("+json")
    }

    /// The text encoding of the charset, by its IANA name or a common alias.
    var encoding: String.Encoding? {
        switch charset {
        case nil, "utf-8", "utf8": .utf8
        case "us-ascii", "ascii": .ascii
        case "iso-8859-1", "latin1", "iso_8859-1": .isoLatin1
        case "iso-8859-2", "latin2", "iso_8859-2": .isoLatin2
        case "windows-1250", "cp1250": .windowsCP1250
        case "windows-1251", "cp1251": .windowsCP1251
        case "windows-1252", "cp1252": .windowsCP1252
        case "utf-16": .utf16
        case "utf-16be": .utf16BigEndian
        case "utf-16le": .utf16LittleEndian
        case "shift_jis", "shift-jis", "sjis": .shiftJIS
        case "euc-jp": .japaneseEUC
        default: nil
        }
    }
}

extension StringProtocol {
    /// Without spaces and tabs at its ends (RFC 9110 §5.6.3). Foundation takes several microseconds for that.
    var trimmed: String {
        let rest = utf8.drop { $0 == 0x20 || $0 == 0x09 }
        return String(decoding: rest.dropLast(rest.reversed().prefix { $0 == 0x20 || $0 == 0x09 }.count), as: UTF8.self)
    }
}
