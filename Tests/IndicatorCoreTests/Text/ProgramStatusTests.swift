import TestSupport

@testable import IndicatorCore

/// The vectors of the article "Reporting from any language", and what a parser could get wrong.
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
        ("state=done:msg=b2s=", .init(.done, message: "ok")),
        ("state=done:msg=b2s", .init(.done, message: "ok")),
        ("state=working:title=w7xiZXI", .init(.working, title: "über")),
        // The last of equal keys counts; one that is malformed or unknown is skipped.
        ("state=idle:state=done", .init(.done)),
        ("state=working:progress=x:progress=40:progress=:progress=a b", .init(.working, progress: 40)),
        ("state=working:progress=40:progress=101", .init(.working)),
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
        "", "state", "state=", "progress=4", "state=busy", "state=done:state=busy", "STATE=done",
        "state=done:a234567890123456x=1",
        "state=done:id=/", "state=done:id=", "state=done:id=my file", "state=done:id=a:id= ",
        "state=done:id=a//b", "state=done:id=a/", "state=done:id=a,b",
        "state=done:id=a/b/c/d/e/f/g/h/i", "state=done:id=\(String(repeating: "x", count: 33))",
        "state=done:app=\(String(repeating: "x", count: 33))",
        "state=done:msg=b", "state=done:msg==", "state=done:msg=QQ=", "state=done:title=a b",
        "state=done:msg=b2s===", "state=done:msg=b2=s", "state=done:msg=/w==",
        "state=done:msg=Gw==", "state=done:msg=Cg==", "state=done:msg=woA=",
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
        #expect(status.sequence.utf8.count <= ProgramStatus.Limit.sequence)
    }

    @Test(arguments: [
        ("state=done", [ProgramReport.status(.init(.done))]),
        (
            "state=working\nSTATUS=Copying\n\nX_INDICATOR_PROGRESS=40\n",
            [.status(.init(.working)), .label("Copying"), .progress(0.4)]
        ),
        (
            "\u{1B}]7501;app=a:state=done\u{1B}\\\n\u{1B}]7501;state=idle\u{07}",
            [.status(.init(.done, app: "a")), .status(.init(.idle))]
        ),
        ("READY=1\nSTATUS=\nX_INDICATOR_PROGRESS=", [.label(nil), .progress(nil)]),
        ("X_INDICATOR_PROGRESS=nan\nX_INDICATOR_PROGRESS=-5\nX_INDICATOR_PROGRESS=101\nprogress=4\n\u{1B}]0;a", []),
        (String(repeating: "STATUS=a\n", count: 456), []),
    ])
    func `The lines of a datagram`(text: String, expected: [ProgramReport]) {
        #expect(ProgramReport.all(in: Array(text.utf8)) == expected)
    }
}
