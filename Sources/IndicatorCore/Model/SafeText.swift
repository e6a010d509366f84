import Foundation

/// Makes untrusted text safe for one line of a surface: a title, a notification, a property on a bus, a line of a log.
///
/// The texts of an activity are made safe where they enter the indicator: a backend can print those of a snapshot as
/// they are. It uses this for other texts, such as the app's name. Any thread may use it.
public enum SafeText {
    // It uses the properties of the Unicode Character Database, so characters of later versions need no change here.

    /// The longest text of an activity, in Unicode scalars: 320.
    public static var limit: Int { 320 }

    /// The character in place of truncated text.
    package static let ellipsis = "…"

    /// `text` on one line, truncated, without characters that a surface would interpret instead of show.
    ///
    /// - White space and line breaks of every kind become single spaces; those at the ends are removed.
    /// - Removed: control characters (without them, no escape sequence can begin or end), format characters, default
    ///   ignorable characters (invisible, so they can hide text), bidirectional controls (they would reorder what
    ///   follows the text), and noncharacters.
    /// - Kept, only where they have their effect, are the characters that scripts and emoji need: the joiner inside an
    ///   emoji, a single variation selector after a character that has variants, and the joiners between letters of
    ///   scripts that use them.
    ///
    /// - Parameters:
    ///   - text: any text.
    ///   - limit: the longest result in Unicode scalars, including an ellipsis. The text is truncated between two
    ///     user-perceived characters, unless a single one exceeds the limit. Default: that of an activity's texts.
    public static func singleLine(_ text: String, limit: Int = Self.limit) -> String {
        isPlain(text, limit: limit) ? text : cleaned(text, limit: limit)
    }

    private static func cleaned(_ text: String, limit: Int) -> String {
        let scalars = text.unicodeScalars
        var kept = String.UnicodeScalarView()
        var count = 0
        var inspected = 0
        var owesSpace = false
        var isCut = false
        var previous: Unicode.Scalar?
        var index = scalars.startIndex
        while index < scalars.endIndex {
            inspected += 1
            // Bounds the cost even of a text in which everything is removed.
            guard count <= limit, inspected <= 16 * limit else {
                isCut = true
                break
            }
            let scalar = scalars[index]
            let next = scalars.index(after: index)
            defer { index = next }
            let isLetter = isLetter(scalar)
            if !isLetter, scalar.properties.isWhitespace {
                owesSpace = count > 0
                previous = scalar
                continue
            }
            let following = next < scalars.endIndex ? scalars[next] : nil
            guard isLetter || !isRemoved(scalar) || isEffective(scalar, after: previous, before: following)
            else { continue }
            if owesSpace {
                kept.append(" ")
                count += 1
                owesSpace = false
            }
            kept.append(scalar)
            count += 1
            previous = scalar
        }
        return count > limit || isCut ? cut(kept, to: limit) : String(kept)
    }

    /// Whether a text is already one line of visible ASCII characters and single spaces, as most texts are.
    private static func isPlain(_ text: String, limit: Int) -> Bool {
        text.utf8.withContiguousStorageIfAvailable { bytes in
            guard bytes.count <= limit else { return false }
            var previous = UInt8(ascii: " ")
            for byte in bytes {
                guard byte &- 0x20 < 0x5F, byte | previous != 0x20 else { return false }
                previous = byte
            }
            return bytes.isEmpty || previous != 0x20
        } ?? false
    }

    /// Whether a character of a frequent script is neither white space nor removed: looking up properties takes long.
    private static func isLetter(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x21...0x7E, 0xA1...0xAC, 0xAE...0x2FF, 0x370...0x5FF, 0x3041...0x30FF, 0x4E00...0x9FFF, 0xAC00...0xD7A3:
            true
        default: false
        }
    }

    private static func isRemoved(_ scalar: Unicode.Scalar) -> Bool {
        let properties = scalar.properties
        return switch properties.generalCategory {
        case .control, .format: true
        default:
            properties.isDefaultIgnorableCodePoint || properties.isBidiControl || properties.isNoncharacterCodePoint
        }
    }

    /// Whether a character that is otherwise removed has its intended effect here.
    private static func isEffective(
        _ scalar: Unicode.Scalar,
        after previous: Unicode.Scalar?,
        before next: Unicode.Scalar?
    ) -> Bool {
        guard let previous else { return false }
        switch scalar.value {
        case 0x200C, 0x200D:
            // A non-joiner and a joiner of letters (Unicode Standard, section 23.2); the joiner of emoji (UTS #51).
            guard let next else { return false }
            if isJoiningLetter(previous), isJoiningLetter(next) { return true }
            return scalar.value == 0x200D && isPictograph(next) && (isPictograph(previous) || previous.value == 0xFE0F)
        case 0xFE0E, 0xFE0F:
            // Text or emoji presentation (UTS #51); in ASCII only for keycaps.
            return previous.isASCII
                ? previous.properties.isEmoji && next?.value == 0x20E3 : previous.properties.isEmoji
        case 0xFE00...0xFE02, 0xE0100...0xE01EF:
            return previous.properties.isIdeographic
        case 0x180B...0x180D, 0x180F:
            return (0x1820...0x18AA).contains(previous.value)
        default:
            return false
        }
    }

    private static func isPictograph(_ scalar: Unicode.Scalar) -> Bool {
        !scalar.isASCII && scalar.properties.isEmoji
    }

    /// Whether it is a letter or mark of a script from Arabic to Mongolian, where joiners are part of the spelling.
    private static func isJoiningLetter(_ scalar: Unicode.Scalar) -> Bool {
        guard (0x0600...0x18AF).contains(scalar.value) else { return false }
        return switch scalar.properties.generalCategory {
        case .otherLetter, .modifierLetter, .nonspacingMark, .spacingMark: true
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
        // The truncation takes a joiner's effect.
        while let last = kept.unicodeScalars.last,
            last == " "
                || isRemoved(last)
                    && !isEffective(last, after: kept.unicodeScalars.dropLast().last, before: nil)
        {
            kept.unicodeScalars.removeLast()
        }
        return kept + ellipsis
    }
}

extension SafeText {
    /// A text for a reader of markup, as many parts of a desktop are, with `&`, `<` and `>` escaped.
    public static func markup(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }
}
