/// Formats untrusted texts for messages.
package enum QuotedText {
    /// A text for one line of a message, truncated if it is long.
    package static func shortened(_ text: String) -> String {
        let beginning = String(text.unicodeScalars.prefix(60))
        return beginning.unicodeScalars.count < text.unicodeScalars.count ? escaped(beginning) + "…" : escaped(text)
    }

    /// A name between quotes: without what follows a colon, `=` or space, which may be a secret, but with what looks
    /// like the space after a colon.
    package static func name(_ text: String) -> String {
        let end = text.firstIndex { ":=".contains($0) || $0.isWhitespace }
        guard let end else { return "'\(shortened(text))'" }
        let next = text[text.index(after: end)...].prefix(1).filter(\.isWhitespace)
        return "'\(shortened(text[...end] + next))…'"
    }

    /// Such as `U+001B`.
    package static func codePoint(_ scalar: Unicode.Scalar) -> String {
        let digits = String(scalar.value, radix: 16, uppercase: true)
        return "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }

    /// Whether a terminal would interpret a character, or show it as nothing or as a space that it is not.
    private static func isUnreadable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        case .spaceSeparator: scalar != " "
        // The fillers of Hangul, and the empty pattern of Braille.
        case .otherLetter: scalar.properties.isDefaultIgnorableCodePoint
        case .otherSymbol: scalar == "\u{2800}"
        default: false
        }
    }

    /// A text between quotes, without control characters a JSON string.
    package static func quoted(_ text: String) -> String {
        var result = "\""
        // Not by characters: a quote is one with a combining mark that follows it.
        for scalar in text.unicodeScalars {
            if scalar == "\"" || scalar == "\\" { result.unicodeScalars.append("\\") }
            result.unicodeScalars.append(scalar)
        }
        return result + "\""
    }

    /// A text for one line of a terminal.
    package static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n": result += "\\n"
            case "\t": result += "\\t"
            case "\r": result += "\\r"
            default:
                if isUnreadable(scalar) {
                    result += "\\u{\(codePoint(scalar).dropFirst(2))}"
                } else {
                    result.unicodeScalars.append(scalar)
                }
            }
        }
        return result
    }
}

/// Finds the known name that is nearest to an unknown one.
package enum NearestName {
    /// The nearest of `candidates`, if it is near enough to suggest: it differs only in case, or in at most a third of
    /// its letters.
    package static func find(for name: String, among candidates: [String]) -> String? {
        // A long name is not a typo, and the comparison below is quadratic.
        guard name.count <= 64 else { return nil }
        let folded = name.lowercased()
        // Two letters are not enough to guess by: 'no' is nearly 'on'.
        guard name.count > 2 else { return candidates.first { $0.lowercased() == folded && $0 != name } }
        var best: (distance: Int, name: String)?
        for candidate in candidates where candidate != name {
            let distance = distance(folded, candidate.lowercased())
            let length = max(name.count, candidate.count)
            guard distance <= max(1, length / 3), distance < length else { continue }
            if best == nil || distance < best?.distance ?? 0 { best = (distance, candidate) }
        }
        return best?.name
    }

    /// The end of a message about an unknown name: `, did you mean 'startDelay'?`, or the first known names.
    ///
    /// - Parameter unlisted: other names that may be meant, but are not worth listing.
    package static func suggestion(
        for name: String,
        among candidates: [String],
        unlisted: [String] = [],
        listing noun: String
    ) -> String {
        if let nearest = find(for: name, among: candidates + unlisted) { return ", did you mean '\(nearest)'?" }
        guard !candidates.isEmpty else { return "" }
        guard candidates.count > 3 else { return "; \(noun): \(candidates.joined(separator: ", "))" }
        return "; \(noun): \(candidates.prefix(3).joined(separator: ", ")) and \(candidates.count - 3) more"
    }

    /// The number of insertions, deletions, replacements and swaps of adjacent characters between two texts.
    package static func distance(_ first: String, _ second: String) -> Int {
        let (first, second) = (Array(first.unicodeScalars), Array(second.unicodeScalars))
        guard !first.isEmpty, !second.isEmpty else { return max(first.count, second.count) }
        var beforePrevious: [Int] = []
        var previous = Array(0...second.count)
        for row in 1...first.count {
            var current = [row]
            for column in 1...second.count {
                let same = first[row - 1] == second[column - 1]
                var best = min(previous[column] + 1, current[column - 1] + 1, previous[column - 1] + (same ? 0 : 1))
                if row > 1, column > 1, first[row - 1] == second[column - 2], first[row - 2] == second[column - 1] {
                    best = min(best, beforePrevious[column - 2] + 1)
                }
                current.append(best)
            }
            beforePrevious = previous
            previous = current
        }
        return previous[second.count]
    }
}
