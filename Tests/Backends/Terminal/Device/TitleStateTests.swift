import TestSupport
import Testing

@testable import DisplayText
@testable import TerminalBackends

@Suite struct TitleStateTests {
    private final class Claimant: Sendable {}

    private let first = Claimant()
    private let second = Claimant()

    private func written(_ ledger: inout TitleState) -> String {
        String(decoding: ledger.render(), as: UTF8.self)
    }

    @Test func `The title is saved set and restored`() {
        var ledger = TitleState(style: .stack)
        #expect(written(&ledger) == "")
        ledger.show(ObjectIdentifier(first), .init(title: "Work"))
        #expect(written(&ledger) == "\u{1B}[22;0t\u{1B}]0;Work\u{07}")
        ledger.show(ObjectIdentifier(first), .init(title: "Work"))
        #expect(written(&ledger) == "")
        ledger.show(ObjectIdentifier(first), .init(title: "More"))
        #expect(written(&ledger) == "\u{1B}]0;More\u{07}")
        ledger.hide(ObjectIdentifier(first))
        #expect(written(&ledger) == "\u{1B}[23;0t")
        ledger.hide(ObjectIdentifier(first))
        #expect(written(&ledger) == "")
    }

    @Test func `Progress is shown and cleared`() throws {
        var ledger = TitleState(style: .stack)
        ledger.show(ObjectIdentifier(first), .init(title: "Work", progress: TerminalProgress()))
        #expect(written(&ledger) == "\u{1B}[22;0t\u{1B}]0;Work\u{07}\u{1B}]9;4;3\u{1B}\\")
        ledger.show(
            ObjectIdentifier(first),
            .init(title: "Work", progress: TerminalProgress(percentage: Percentage(0.5)))
        )
        #expect(written(&ledger) == "\u{1B}]9;4;1;50\u{1B}\\")
        ledger.show(
            ObjectIdentifier(first),
            .init(title: "Work", progress: TerminalProgress(percentage: Percentage(0.501)))
        )
        #expect(written(&ledger) == "")
        ledger.show(
            ObjectIdentifier(first),
            .init(title: "Work", progress: TerminalProgress(percentage: Percentage(0.501))),
            repeatsProgress: true
        )
        #expect(written(&ledger) == "\u{1B}]9;4;1;50\u{1B}\\")
        ledger.hide(ObjectIdentifier(first))
        #expect(written(&ledger) == "\u{1B}]9;4;0\u{1B}\\\u{1B}[23;0t")
    }

    @Test func `A failure and a request for attention are shown`() {
        var ledger = TitleState(style: .stack)
        ledger.show(ObjectIdentifier(first), .init(title: "Work", progress: TerminalProgress(state: .failed)))
        #expect(written(&ledger).hasSuffix("\u{1B}]9;4;2\u{1B}\\"))
        let half = Percentage(0.5)
        ledger.show(ObjectIdentifier(first), .init(title: "Work", progress: .init(state: .attention, percentage: half)))
        #expect(written(&ledger) == "\u{1B}]9;4;4;50\u{1B}\\")
        ledger.show(ObjectIdentifier(first), .init(title: "Work", progress: .init(state: .failed, percentage: half)))
        #expect(written(&ledger) == "\u{1B}]9;4;2;50\u{1B}\\")
    }

    @Test(arguments: [
        (KnownTerminal.TitleStyle.stack, "\u{1B}[22;0t", "\u{1B}[23;0t"),
        (.emptied, "\u{1B}[22;0t", "\u{1B}]0;\u{07}\u{1B}[23;0t"),
        (.ascii, "\u{1B}[22;0t", "\u{1B}]0;\u{07}\u{1B}[23;0t"),
    ])
    func `The title is restored in the style of the terminal`(
        style: KnownTerminal.TitleStyle,
        beginning: String,
        end: String
    ) {
        var ledger = TitleState(style: style)
        ledger.show(ObjectIdentifier(first), .init(title: "Work"))
        #expect(written(&ledger) == beginning + "\u{1B}]0;Work\u{07}")
        ledger.hide(ObjectIdentifier(first))
        #expect(written(&ledger) == end)
    }

    @Test func `Progress is shown without a title`() {
        var ledger = TitleState(style: .emptied)
        ledger.show(ObjectIdentifier(first), .init(title: nil, progress: TerminalProgress()))
        #expect(written(&ledger) == "\u{1B}]9;4;3\u{1B}\\")
        ledger.hide(ObjectIdentifier(first))
        #expect(written(&ledger) == "\u{1B}]9;4;0\u{1B}\\")
    }

    @Test func `A suspended terminal is restored and shown again`() {
        var ledger = TitleState(style: .stack)
        let (working, done) = (ProgramStatus(.working, id: "i"), ProgramStatus(.done, id: "i"))
        func show(_ title: String) {
            ledger.show(ObjectIdentifier(first), .init(title: title, progress: TerminalProgress(), records: [working]))
        }
        show("Work")
        _ = written(&ledger)
        ledger.isSuspended = true
        let clear = "\u{1B}]7501;state=clear:id=i\u{1B}\\"
        #expect(written(&ledger) == "\u{1B}]9;4;0\u{1B}\\\u{1B}[23;0t\(clear)")
        show("More")
        #expect(written(&ledger) == "")
        ledger.isSuspended = false
        #expect(written(&ledger) == "\u{1B}[22;0t\u{1B}]0;More\u{07}\u{1B}]9;4;3\u{1B}\\\(working.sequence)")
        ledger.hideAll()
        #expect(written(&ledger) == "\u{1B}]9;4;0\u{1B}\\\u{1B}[23;0t\(clear)")
        // It was shown and hidden at once.
        ledger.hide(ObjectIdentifier(first), leaving: [done])
        #expect(written(&ledger) == done.sequence)
        show("More")
        _ = written(&ledger)
        // It is shown again before the terminal has accepted the end.
        ledger.hide(ObjectIdentifier(first), leaving: [done])
        show("More")
        #expect(written(&ledger) == "")
        ledger.hide(ObjectIdentifier(first), leaving: [done])
        ledger.hide(ObjectIdentifier(first))
        #expect(written(&ledger) == "\u{1B}]9;4;0\u{1B}\\\u{1B}[23;0t\(clear)\(done.sequence)")
        ledger.close()
        #expect(written(&ledger) == "")
    }

    @Test func `A title that was never written is skipped`() {
        var ledger = TitleState(style: .stack)
        ledger.show(ObjectIdentifier(first), .init(title: "Work", progress: TerminalProgress()))
        ledger.hide(ObjectIdentifier(first))
        #expect(written(&ledger) == "")
    }

    @Test func `The latest claim is shown and then the earlier one`() {
        var ledger = TitleState(style: .stack)
        var terminal = TitleEmulator()
        ledger.show(ObjectIdentifier(first), .init(title: "A1", progress: TerminalProgress()))
        terminal.receive(Array(written(&ledger).utf8))
        ledger.show(ObjectIdentifier(second), .init(title: "B1"))
        terminal.receive(Array(written(&ledger).utf8))
        #expect(terminal.title == "B1")
        #expect(terminal.progress == nil)
        ledger.show(ObjectIdentifier(first), .init(title: "A2", progress: TerminalProgress()))
        #expect(written(&ledger) == "")
        ledger.hide(ObjectIdentifier(second))
        terminal.receive(Array(written(&ledger).utf8))
        #expect(terminal.title == "A2")
        #expect(terminal.progress == "3")
        ledger.hide(ObjectIdentifier(first))
        terminal.receive(Array(written(&ledger).utf8))
        #expect(terminal.title == "the old title")
        #expect(terminal.stack.isEmpty)
        #expect(terminal.saves == 1 && terminal.restores == 1)
    }

    @Test func `Closing withdraws every claim and ignores new ones`() {
        var ledger = TitleState(style: .stack)
        ledger.show(ObjectIdentifier(first), .init(title: "A"))
        ledger.show(ObjectIdentifier(second), .init(title: "B"))
        _ = written(&ledger)
        ledger.close()
        #expect(written(&ledger) == "\u{1B}[23;0t")
        ledger.show(ObjectIdentifier(first), .init(title: "A"))
        #expect(written(&ledger) == "")
    }
}
