import IndicatorCore
import Testing

@testable import DisplayText

@Suite struct SafeTextOfTerminalsTests {
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
}
