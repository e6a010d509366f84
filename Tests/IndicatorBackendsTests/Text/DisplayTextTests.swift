import IndicatorBackends
import Testing

@Suite struct DisplayTextTests {
    @Test func ordinaryTextStaysAsItIs() {
        let text = "Größe: 3 × 4 – „日本語“ 👩‍👩‍👧 🏴󠁧󠁢󠁥󠁮󠁧󠁿"
        #expect(DisplayText.singleLine(text, limit: 100) == text)
    }

    @Test(arguments: [
        ("\u{1B}]0;owned\u{07}", "]0;owned"),
        ("\u{1B}[31mred\u{1B}[0m", "[31mred[0m"),
        ("a\u{9B}31mb\u{9D}0;c\u{9C}", "a31mb0;c"),
        ("a\u{7F}b\u{00}c\u{08}", "abc"),
        ("pay\u{202E}gpj.exe\u{202C}", "paygpj.exe"),
        ("a\u{2066}b\u{2069}", "ab"),
    ])
    func nothingIsLeftThatASurfaceWouldObey(text: String, expected: String) {
        #expect(DisplayText.singleLine(text, limit: 100) == expected)
    }

    @Test(arguments: [
        ("one\ntwo", "one two"), ("one\r\n\r\ntwo", "one two"), ("one\u{2028}two\u{2029}three", "one two three"),
        ("one\u{85}two\u{0B}three\tfour", "one two three four"), ("  \n padded \n ", "padded"), (" \n\t ", ""),
        ("", ""),
    ])
    func whiteSpaceBecomesOneSpace(text: String, expected: String) {
        #expect(DisplayText.singleLine(text, limit: 100) == expected)
    }

    @Test func longTextIsCutWithAnEllipsis() {
        #expect(DisplayText.singleLine("abcde", limit: 5) == "abcde")
        #expect(DisplayText.singleLine("abcdef", limit: 5) == "abcd…")
        #expect(DisplayText.singleLine("abc def", limit: 5) == "abc…")
        let long = DisplayText.singleLine(String(repeating: "ä", count: 10_000), limit: 120)
        #expect(long == String(repeating: "ä", count: 119) + "…")
    }

    @Test func theCutFallsBetweenCharacters() {
        // Seven scalars that are one character for the user.
        let family = "👩‍👩‍👧‍👦"
        #expect(family.unicodeScalars.count == 7)
        #expect(DisplayText.singleLine("ab" + family + "c", limit: 8) == "ab…")
    }

    @Test func aCharacterOfTenThousandScalarsIsCutAllTheSame() {
        let monster = "a" + String(repeating: "\u{0301}", count: 10_000)
        #expect(monster.count == 1)
        #expect(DisplayText.singleLine(monster, limit: 10).unicodeScalars.count == 10)
    }

    @Test func aTextOfNothingButControlCharactersEndsSoon() {
        let text = String(repeating: "\u{1B}", count: 10_000) + "end"
        #expect(DisplayText.singleLine(text, limit: 10) == "…")
    }
}
