import TestSupport

@testable import IndicatorCore

@Suite struct SafeTextTests {
    @Test(arguments: [
        ("\u{1B}]0;owned\u{07}", "]0;owned"), ("\u{1B}[31mred\u{1B}[0m", "[31mred[0m"),
        ("a\u{9B}31mb\u{9D}0;c\u{9C}", "a31mb0;c"), ("a\u{7F}b\u{00}c\u{08}", "abc"),
        ("pay\u{202E}gpj.exe\u{202C}", "paygpj.exe"), ("a\u{2066}b\u{2069}", "ab"),
        // White space becomes one space.
        ("one\ntwo", "one two"), ("one\r\n\r\ntwo", "one two"), ("one\u{2028}two\u{2029}three", "one two three"),
        ("one\u{85}two\u{0B}three\tfour", "one two three four"), ("  \n padded \n ", "padded"), (" \n\t ", ""),
        ("", ""),
        // Joiners, selectors and tags that no script and no emoji needs.
        ("pay\u{200D}pal", "paypal"), ("\u{200D}👩", "👩"), ("👩\u{200D}", "👩"), ("👩\u{200D}x", "👩x"),
        ("a\u{200C}b", "ab"), ("a\u{FE0F}b", "ab"), ("1\u{FE0F}2", "12"), ("❤\u{FE0F}\u{FE0F}", "❤\u{FE0F}"),
        ("\u{FE0F}x", "x"), ("👩\u{E0100}", "👩"), ("葛\u{E0100}\u{E0101}", "葛\u{E0100}"), ("a\u{180B}", "a"),
        // Tags: invisible text. Without them, the flag of England is a black one.
        ("a\u{E0068}\u{E0069}", "a"), ("🏴󠁧󠁢󠁥󠁮󠁧󠁿", "🏴"),
        ("a\u{200F}b\u{61C}c\u{200B}d\u{AD}e\u{2060}f\u{FEFF}g", "abcdefg"),
        ("x\u{3164}\u{115F}", "x"), ("\u{FFFE}a\u{10FFFF}", "a"),
    ])
    func `What would change a line, or has no effect, is removed`(text: String, expected: String) {
        #expect(scalars(SafeText.singleLine(text, limit: 100)) == scalars(expected))
    }

    @Test(arguments: [
        "Größe: 3 × 4 – „日本語“ 👩‍👩‍👧 🏴", "👩‍👩‍👧‍👦", "🏳️‍🌈", "👩🏽‍⚕️", "❤️‍🔥", "1️⃣ #️⃣", "❤️ ☺︎",
        "🇩🇪",
        // Persian, with a non-joiner; Sanskrit, with a joiner; Mongolian, with its own selector; a variant of an
        // ideograph.
        "می\u{200C}خواهم", "क्\u{200D}ष", "\u{1820}\u{180B}", "葛\u{E0100}", "e\u{301}", "\u{E0B0}",
    ])
    func `Text, with what its script or an emoji needs, is unchanged`(text: String) {
        #expect(scalars(SafeText.singleLine(text, limit: 100)) == scalars(text))
    }

    @Test(arguments: [
        ("abcde", 5, "abcde"), ("abcdef", 5, "abcd…"), ("abc def", 5, "abc…"),
        // Between characters: seven scalars are one for the user.
        ("ab👩‍👩‍👧‍👦c", 8, "ab…"),
        // Without characters that affect only what is removed.
        ("க்\u{200D}ஷxy", 4, "க்…"), ("ab\u{644}\u{200C}\u{644}xy", 5, "ab\u{644}…"),
        ("1\u{FE0F}\u{20E3}xy", 3, "1…"),
    ])
    func `Long text is cut with an ellipsis`(text: String, limit: Int, expected: String) {
        let shown = SafeText.singleLine(text, limit: limit)
        #expect(scalars(shown) == scalars(expected))
        #expect(scalars(SafeText.singleLine(shown, limit: limit)) == scalars(shown))
    }

    /// No arguments, which would be printed.
    @Test func `Text of any length is cut`() {
        let marks = String(repeating: "\u{301}", count: 10_000)
        #expect(
            SafeText.singleLine(String(repeating: "ä", count: 5_000_000), limit: 120)
                == String(repeating: "ä", count: 119) + "…"
        )
        #expect(SafeText.singleLine(String(repeating: "\u{1B}", count: 10_000) + "end", limit: 10) == "…")
        #expect(scalars(SafeText.singleLine("a\(marks)", limit: 10)) == scalars("a\(marks)").prefix(9) + ["…"])
    }

    /// From the Unicode Character Database: general categories Cc and Cf, Default_Ignorable_Code_Point, Bidi_Control,
    /// noncharacters.
    private static let removedRanges: [ClosedRange<UInt32>] = [
        0x00...0x08, 0x0E...0x1F, 0x7F...0x84, 0x86...0x9F, 0xAD...0xAD, 0x34F...0x34F, 0x600...0x605, 0x61C...0x61C,
        0x6DD...0x6DD, 0x70F...0x70F, 0x890...0x891, 0x8E2...0x8E2, 0x115F...0x1160, 0x17B4...0x17B5, 0x180B...0x180F,
        0x200B...0x200F, 0x202A...0x202E, 0x2060...0x206F, 0x3164...0x3164, 0xFDD0...0xFDEF, 0xFE00...0xFE0F,
        0xFEFF...0xFEFF, 0xFFA0...0xFFA0, 0xFFF0...0xFFFB, 0x110BD...0x110BD, 0x110CD...0x110CD, 0x13430...0x1343F,
        0x1BCA0...0x1BCA3, 0x1D173...0x1D17A, 0xE0000...0xE0FFF,
    ]

    /// From PropList.txt: White_Space.
    private static let whiteSpace: [ClosedRange<UInt32>] = [
        0x09...0x0D, 0x20...0x20, 0x85...0x85, 0xA0...0xA0, 0x1680...0x1680, 0x2000...0x200A, 0x2028...0x2029,
        0x202F...0x202F, 0x205F...0x205F, 0x3000...0x3000,
    ]

    @Test(arguments: 0...16) func `Each character of Unicode is kept, removed or a space`(plane: UInt32) {
        var text = String.UnicodeScalarView("a".unicodeScalars)
        var expected = text
        let values = plane << 16...(plane << 16 | 0xFFFF)
        let (removed, spaces) = (Self.removedRanges.filter(values.overlaps), Self.whiteSpace.filter(values.overlaps))
        for value in values {
            guard let scalar = Unicode.Scalar(value) else { continue }
            text.append(scalar)
            let isRemoved = value & 0xFFFE == 0xFFFE || removed.contains { $0.contains(value) }
            if spaces.contains(where: { $0.contains(value) }) {
                expected.append(" ")
            } else if !isRemoved {
                expected.append(scalar)
            }
            text.append("a")
            expected.append("a")
        }
        let shown = Array(SafeText.singleLine(String(text), limit: 1 << 20).unicodeScalars)
        let difference = zip(shown, expected).first { $0 != $1 }
        #expect(difference == nil)
        #expect(shown.count == expected.count)
    }

    @Test(arguments: [
        ("a", 1), ("é", 1), ("e\u{301}", 1), ("日", 2), ("\u{AD}", 1), ("\u{2329}", 2), ("\u{232A}", 2),
        // Decomposed, as in file names of macOS: が.
        ("\u{304B}\u{3099}", 2), ("\u{3099}", 0), ("\u{200B}", 0), ("\u{1F600}", 2), ("\u{FF21}", 2),
    ])
    func `A character has the columns that terminals give it`(text: String, columns: Int) {
        #expect(text.map(SafeText.columns).reduce(0, +) == columns)
    }

    @Test func `Errors are ASCII without Unicode`() {
        #expect(SafeText.escapingUnicode("unknown key 'bäck…' 日") == "unknown key 'b\\u{00E4}ck...' \\u{65E5}")
    }

    /// Scalars, because strings with different scalars can be equal (canonical equivalence).
    private func scalars(_ text: String) -> [Unicode.Scalar] { Array(text.unicodeScalars) }
}
