import TestSupport

@testable import IndicatorCore

@Suite("The nearest name")
struct NearestNameTests {
    private let names = ["enabled", "startDelay", "completionDelay", "logFile", "path"]

    @Test(
        arguments: [
            ("startdelay", "startDelay"), ("start_delay", "startDelay"), ("strtDelay", "startDelay"),
            ("satrtDelay", "startDelay"), ("enable", "enabled"), ("logfile", "logFile"), ("paht", "path"),
            ("colour", nil), ("x", nil), ("", nil), (String(repeating: "a", count: 100_000), nil),
        ] as [(String, String?)]
    )
    func `is found for typos, and not for unrelated names`(name: String, meant: String?) {
        #expect(NearestName.find(for: name, among: names) == meant)
    }

    @Test(arguments: [("no", nil), ("On", "on"), ("of", nil), ("offf", "off")])
    func `is not guessed by two letters`(name: String, meant: String?) {
        #expect(NearestName.find(for: name, among: ["on", "off", "auto"]) == meant)
    }

    @Test func `is listed only if it is there`() {
        func end(_ name: String) -> String {
            NearestName.suggestion(for: name, among: ["b", "logFile"], unlisted: ["mqtt"], listing: "known")
        }
        #expect(end("foo") == "; known: b, logFile")
        #expect(end("mqt") == ", did you mean 'mqtt'?")
    }
}

@Suite("A quoted text")
struct QuotedTextTests {
    @Test(arguments: ["\u{A0}", "\u{3000}", "\u{2003}", "\u{3164}", "\u{2800}", "\u{200B}"] as [Unicode.Scalar])
    func `shows what looks like a space and is none`(scalar: Unicode.Scalar) {
        let code = QuotedText.codePoint(scalar).dropFirst(2)
        #expect(QuotedText.escaped("startDelay:\(scalar)2") == "startDelay:\\u{\(code)}2")
    }

    @Test func `has no part of a secret, and at most 60 characters`() {
        #expect(
            ["password:hunter2", "password=x", "pass word"].map(QuotedText.name) == [
                "'password:…'", "'password=…'", "'pass …'",
            ]
        )
        #expect([60, 61].map { QuotedText.shortened(String(repeating: "a", count: $0)).count } == [60, 61])
        #expect(QuotedText.shortened(String(repeating: "a", count: 61)).hasSuffix("…"))
    }

    @Test("keeps spaces, letters and emoji") func kept() {
        #expect(QuotedText.escaped("über  zwei ❤️ 한글") == "über  zwei ❤️ 한글")
    }
}
