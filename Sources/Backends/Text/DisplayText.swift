/// Makes text of unknown origin fit to be shown on one line of somebody else's surface.
package enum DisplayText {
    /// What stands for the part of a text that was cut off.
    package static let ellipsis = "…"

    /// `text` on one line, without anything that a terminal or a panel would obey instead of show, and not too long.
    ///
    /// - White space and line breaks of every kind become single spaces; those at the ends go.
    /// - Control characters (C0, DEL, C1) go: without them no escape sequence can begin or end.
    /// - Bidirectional embeddings, overrides and isolates go: they would reorder what the surface shows after the text.
    ///
    /// - Parameters:
    ///   - text: any text.
    ///   - limit: how many Unicode scalars may remain, an ellipsis included. The cut falls between two characters as
    ///     the user sees them, unless a single one is longer than the limit.
    package static func singleLine(_ text: some StringProtocol, limit: Int) -> String {
        var kept = String.UnicodeScalarView()
        var count = 0
        var inspected = 0
        var owesSpace = false
        var isCut = false
        for scalar in text.unicodeScalars {
            inspected += 1
            // The cost of a text is bounded too, even of one that consists of what is left out.
            guard count <= limit, inspected <= 16 * limit else {
                isCut = true
                break
            }
            if scalar.properties.isWhitespace {
                owesSpace = count > 0
            } else if !isObeyed(scalar) {
                if owesSpace {
                    kept.append(" ")
                    count += 1
                    owesSpace = false
                }
                kept.append(scalar)
                count += 1
            }
        }
        return count > limit || isCut ? cut(kept, to: limit) : String(kept)
    }

    private static func isObeyed(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x00...0x1F, 0x7F...0x9F: true
        case 0x202A...0x202E, 0x2066...0x2069: true
        // Deprecated format characters, the byte order mark, interlinear annotation: no surface shows them.
        case 0x206A...0x206F, 0xFEFF, 0xFFF9...0xFFFB: true
        default: false
        }
    }

    private static func cut(_ scalars: String.UnicodeScalarView, to limit: Int) -> String {
        guard limit > 0 else { return "" }
        let room = limit - ellipsis.unicodeScalars.count
        var kept = ""
        var count = 0
        for character in String(scalars) {
            count += character.unicodeScalars.count
            if count > room { break }
            kept.append(character)
        }
        if kept.isEmpty { kept.unicodeScalars.append(contentsOf: scalars.prefix(room)) }
        if kept.last == " " { kept.removeLast() }
        return kept + ellipsis
    }
}
