import Testing

@testable import DisplayText

@Suite struct CharsetTests {
    @Test(arguments: [
        (["LANG": "C.UTF-8"], Charset.utf8), (["LANG": "de_DE.utf8@euro"], .utf8), (["LC_CTYPE": "UTF-8"], .utf8),
        (["LANG": "de_DE.ISO-8859-1"], .latin1), (["LANG": "de_DE.iso885915@euro"], .latin1),
        (["LANG": "ru_RU.ISO-8859-5"], .ascii), (["LANG": "en_GB.ISO-8859-16"], .ascii), ([:], .ascii),
        (["LANG": "C"], .ascii), (["LANG": "de_DE"], .ascii), (["LANG": "ja_JP.EUC-JP"], .ascii),
        // The first that is not empty.
        (["LC_ALL": "C", "LC_CTYPE": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"], .ascii),
        (["LC_ALL": "", "LC_CTYPE": "de_DE.ISO-8859-1", "LANG": "de_DE.UTF-8"], .latin1),
    ])
    func theLocaleNamesTheCharacterSet(variables: [String: String], charset: Charset) {
        #expect(Charset(environment: variables) == charset)
    }

    @Test(arguments: [
        (Charset.ascii, "Überprüfe café… – “x” ½ ⠇", "Uberprufe cafe... - 'x' 1?2 ?"),
        (.latin1, "Überprüfe ½ – 10 € œ ÿ", "Überprüfe 1?2 - 10 ? ? ÿ"), (.utf8, "Ü ⠇", "Ü ⠇"),
    ])
    func aMissingCharacterIsReplaced(charset: Charset, text: String, result: String) {
        #expect(charset.text(text) == result)
    }

    /// No byte is a control character of ISO 8859-1 (C1) that the text does not have.
    @Test(arguments: [Charset.ascii, .latin1]) func noByteIsAControlCharacter(charset: Charset) {
        let all = String(String.UnicodeScalarView((0xA0...0x3100).compactMap { Unicode.Scalar($0) }))
        #expect(charset.bytes(of: all).allSatisfy { $0 >= 0x20 && !(0x7F...0x9F).contains($0) })
        #expect(charset.bytes(of: "\u{1B}]0;\u{7}") == [0x1B, 0x5D, 0x30, 0x3B, 7])
    }
}
