import Foundation

/// The directives of `Cache-Control` (RFC 9111 §5.2), of a request or a response.
struct CacheControl: Sendable {
    private var directives: [String: String] = [:]

    init(_ field: String?) {
        for piece in Self.split(field ?? "") {
            let pair = piece.split(separator: "=", maxSplits: 1)
            guard let name = pair.first?.trimmingCharacters(in: .whitespaces).lowercased(), !name.isEmpty else {
                continue
            }
            let value = pair.count == 2 ? pair[1].trimmingCharacters(in: CharacterSet(charactersIn: " \t\"")) : ""
            // RFC 9111 §4.2.1 allows using the first of duplicate directives.
            if directives[name] == nil { directives[name] = value }
        }
    }

    var noStore: Bool { directives["no-store"] != nil }
    var noCache: Bool { directives["no-cache"] != nil }
    var onlyIfCached: Bool { directives["only-if-cached"] != nil }
    var mustUnderstand: Bool { directives["must-understand"] != nil }
    /// An invalid value counts as 0: the response is stale (RFC 9111 §4.2.1).
    var maxAge: Double? { seconds("max-age") }
    var minFresh: Double? { seconds("min-fresh") }
    /// The staleness that the request accepts, in seconds; `.infinity` when the directive has no value.
    var maxStale: Double? {
        guard let value = directives["max-stale"] else { return nil }
        return value.isEmpty ? .infinity : seconds("max-stale")
    }
    var mustRevalidate: Bool { directives["must-revalidate"] != nil }

    private func seconds(_ name: String) -> Double? {
        guard let value = directives[name] else { return nil }
        guard !value.isEmpty, value.allSatisfy(\.isASCII), value.allSatisfy(\.isNumber) else { return 0 }
        return Double(value).map { min($0, 2_147_483_648) } ?? 0
    }

    /// Splits at commas outside quotation marks.
    private static func split(_ field: String) -> [Substring] {
        var isQuoted = false
        return field.split { character in
            if character == "\"" { isQuoted.toggle() }
            return character == "," && !isQuoted
        }
    }
}
