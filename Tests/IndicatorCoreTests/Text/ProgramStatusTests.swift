import TestSupport

@testable import IndicatorCore

/// What a parser could get wrong, beside the vectors of the article "Reporting from any language".
@Suite("The grammar of the Program Status Protocol")
struct ProgramStatusTests {
    private static func status(_ body: String) -> ProgramStatus? { ProgramStatus(Array(body.utf8)[...]) }
    private static func text(_ count: Int) -> String {
        Data(String(repeating: "x", count: count).utf8).base64EncodedString()
    }

    @Test(arguments: [
        ("state=working:progress=40:id=sync/eu:app=backup", "="), ("state=blocked:progress=0:kind=auth", "="),
        ("state=working:title=w7xiZXI", "state=working:title=w7xiZXI="),
        // One that is malformed or unknown is skipped.
        ("state=working:progress=x:progress=40:progress=:progress=a b", "state=working:progress=40"),
        ("state=working:progress=+30", "state=working"), ("state=blocked:kind=question:kind=other", "state=blocked"),
        ("state=done:app=a:app=a/b", "state=done"), ("state= done : app= a\r", "state=done:app=a"),
        ("state=done:::x:=y:a b=c:new=1,2/3=:app=a b", "state=done"),
        ("state=error:progress=4:kind=auth", "state=error"), ("state=clear:id=a/b/c/d/e/f/g/h", "="),
        ("state=done:title=\(text(192)):msg=\(text(2048))", "="),
    ])
    func `A report counts with what is valid in it`(body: String, expected: String) {
        #expect(Self.status(body)?.body == (expected == "=" ? body : expected))
    }

    @Test func `A text is that of the base64; in the escape sequence, the state may come last`() {
        let status = Self.status("\u{1B}]7501;msg=YQ:title=w7xiZXI:app=a:state=working\u{07}state=done")
        #expect(
            [status?.title, status?.message, status?.app, status?.state.rawValue] == ["über", "a", "a", "working"]
        )
    }

    @Test(arguments: [
        "", "state", "state=", "state=done:state=busy", "STATE=done", "state=done:a234567890123456x=1",
        "state=done:id=/", "state=done:id=my file", "state=done:id=a:id= ", "state=done:id=a/", "state=done:id=a,b",
        "state=done:id=a/b/c/d/e/f/g/h/i", "state=done:id=\(String(repeating: "x", count: 33))",
        "state=done:app=\(String(repeating: "x", count: 33))",
        "state=done:msg=b", "state=done:msg==", "state=done:msg=QQ=", "state=done:title=a b",
        "state=done:msg=b2s===", "state=done:msg=b2=s", "state=done:msg=/w==",
        "state=done:msg=Cg==", "state=done:msg=woA=", "state=done:title=\(text(193))", "state=done:msg=\(text(2049))",
    ])
    func `A report with a mistake is discarded`(body: String) { #expect(Self.status(body) == nil) }

    @Test func `What is written fits a terminal: no control characters, the texts and names within their limits`() {
        var status = ProgramStatus(.blocked, id: "not an id")
        (status.kind, status.progress, status.app) = (.permission, 140, "my app")
        (status.title, status.message) = ("a\u{1B}[2Jb", String(repeating: "é", count: 1025))
        let message = Data(String(repeating: "é", count: 1024).utf8).base64EncodedString()
        #expect(status.body == "state=blocked:progress=100:kind=permission:title=YVsySmI=:msg=\(message)")
        #expect(ProgramStatus(.done).sequence == "\u{1B}]7501;state=done\u{1B}\\")
        #expect(status.sequence.utf8.count <= ProgramStatus.sequenceLimit)
    }
}
