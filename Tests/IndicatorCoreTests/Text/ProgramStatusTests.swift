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
        ("state=working", ProgramStatus(.working)),
        (
            "state=working:progress=40:id=sync/eu:app=backup",
            .init(.working, progress: 40, id: "sync/eu", app: "backup")
        ),
        ("progress=0:state=blocked:kind=auth", .init(.blocked, kind: .auth, progress: 0)),
        ("state=working:title=w7xiZXI", .init(.working, title: "über")),
        // One that is malformed or unknown is skipped.
        ("state=working:progress=x:progress=40:progress=:progress=a b", .init(.working, progress: 40)),
        ("state=working:progress=+30", .init(.working)),
        ("state=blocked:kind=question:kind=other", .init(.blocked)),
        ("state=done:app=a:app=a/b", .init(.done)),
        (" state = done : app= a\r", .init(.done, app: "a")),
        ("state=done:::x:=y:a b=c:new=1,2/3=:app=a b", .init(.done)),
        ("state=error:progress=4:kind=auth", .init(.error)),
        ("state=clear:id=a/b/c/d/e/f/g/h", .init(.clear, id: "a/b/c/d/e/f/g/h")),
        (
            "state=done:title=\(text(192)):msg=\(text(2048))",
            .init(.done, title: String(repeating: "x", count: 192), message: String(repeating: "x", count: 2048))
        ),
    ])
    func `A report that counts`(body: String, expected: ProgramStatus) {
        #expect(Self.status(body) == expected)
        #expect(Self.status(expected.body) == expected, "what it writes, it reads")
    }

    @Test(arguments: [
        "", "state", "state=", "state=done:state=busy", "STATE=done",
        "state=done:a234567890123456x=1",
        "state=done:id=/", "state=done:id=my file", "state=done:id=a:id= ",
        "state=done:id=a/", "state=done:id=a,b",
        "state=done:id=a/b/c/d/e/f/g/h/i", "state=done:id=\(String(repeating: "x", count: 33))",
        "state=done:app=\(String(repeating: "x", count: 33))",
        "state=done:msg=b", "state=done:msg==", "state=done:msg=QQ=", "state=done:title=a b",
        "state=done:msg=b2s===", "state=done:msg=b2=s", "state=done:msg=/w==",
        "state=done:msg=Cg==", "state=done:msg=woA=",
        "state=done:title=\(text(193))", "state=done:msg=\(text(2049))",
    ])
    func `A report that is discarded`(body: String) { #expect(Self.status(body) == nil) }

    @Test func `What is written fits a terminal: no control characters, the texts and names within their limits`() {
        let status = ProgramStatus(
            .blocked,
            kind: .permission,
            progress: 140,
            id: "not an id",
            app: "my app",
            title: "a\u{1B}[2Jb",
            message: String(repeating: "é", count: 1025)
        )
        let message = String(repeating: "é", count: 1024)
        #expect(
            Self.status(status.body)
                == .init(.blocked, kind: .permission, progress: 100, title: "a[2Jb", message: message)
        )
        #expect(ProgramStatus(.done).sequence == "\u{1B}]7501;state=done\u{1B}\\")
        #expect(status.sequence.utf8.count <= ProgramStatus.sequenceLimit)
    }
}
