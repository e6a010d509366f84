import TestSupport

@testable import IndicatorCore

@Suite struct CharsetTests {
    @Test(arguments: [
        (["LANG": "C.UTF-8"], Charset.utf8), (["LANG": "de_DE.utf8@euro"], .utf8), (["LC_CTYPE": "UTF-8"], .utf8),
        (["LANG": "de_DE.ISO-8859-1"], .ascii), ([:], .ascii), (["LANG": "C"], .ascii), (["LANG": "de_DE"], .ascii),
        (["LANG": "ja_JP.EUC-JP"], .ascii),
        // The first that is not empty.
        (["LC_ALL": "C", "LC_CTYPE": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"], .ascii),
        (["LC_ALL": "", "LC_CTYPE": "de_DE.ISO-8859-1", "LANG": "de_DE.UTF-8"], .ascii),
        (["LC_ALL": "", "LC_CTYPE": "C.utf8", "LANG": "C"], .utf8),
    ])
    func `The locale names the character set`(variables: [String: String], charset: Charset) {
        #expect(Charset { variables[$0] } == charset)
    }

    @Test(arguments: [
        (Charset.ascii, "Überprüfe café… – “x” ½ ⠇", "Uberprufe cafe... - 'x' 1?2 ?"),
        (.utf8, "Ü ⠇", "Ü ⠇"),
    ])
    func `A missing character is replaced`(charset: Charset, text: String, result: String) {
        #expect(charset.text(text) == result)
    }
}
