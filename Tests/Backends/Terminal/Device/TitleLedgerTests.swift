import TestSupport
import Testing

@testable import DisplayText
@testable import TerminalBackends

@Suite struct TitleLedgerTests {
    private final class Claimant: Sendable {}

    private let first = Claimant()
    private let second = Claimant()

    private func written(_ ledger: inout TitleLedger) -> String {
        let bytes = ledger.nextBytes
        ledger.didWrite(bytes.count)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func theTitleIsSavedSetAndRestored() {
        var ledger = TitleLedger(style: .stack)
        #expect(written(&ledger) == "")
        ledger.show(ObjectIdentifier(first), title: "Work", progress: nil)
        #expect(written(&ledger) == "\u{1B}[22;0t\u{1B}]0;Work\u{07}")
        ledger.show(ObjectIdentifier(first), title: "Work", progress: nil)
        #expect(written(&ledger) == "")
        ledger.show(ObjectIdentifier(first), title: "More", progress: nil)
        #expect(written(&ledger) == "\u{1B}]0;More\u{07}")
        ledger.hide(ObjectIdentifier(first))
        #expect(written(&ledger) == "\u{1B}[23;0t")
        ledger.hide(ObjectIdentifier(first))
        #expect(written(&ledger) == "")
    }

    @Test func progressIsShownAndCleared() throws {
        var ledger = TitleLedger(style: .stack)
        ledger.show(ObjectIdentifier(first), title: "Work", progress: TerminalProgress())
        #expect(written(&ledger) == "\u{1B}[22;0t\u{1B}]0;Work\u{07}\u{1B}]9;4;3\u{1B}\\")
        ledger.show(ObjectIdentifier(first), title: "Work", progress: TerminalProgress(percentage: Percentage(0.5)))
        #expect(written(&ledger) == "\u{1B}]9;4;1;50\u{1B}\\")
        ledger.show(ObjectIdentifier(first), title: "Work", progress: TerminalProgress(percentage: Percentage(0.501)))
        #expect(written(&ledger) == "")
        ledger.show(
            ObjectIdentifier(first),
            title: "Work",
            progress: TerminalProgress(percentage: Percentage(0.501)),
            repeatsProgress: true
        )
        #expect(written(&ledger) == "\u{1B}]9;4;1;50\u{1B}\\")
        ledger.hide(ObjectIdentifier(first))
        #expect(written(&ledger) == "\u{1B}]9;4;0\u{1B}\\\u{1B}[23;0t")
    }

    @Test func aFailureAndARequestForAttentionAreShown() {
        var ledger = TitleLedger(style: .stack)
        ledger.show(ObjectIdentifier(first), title: "Work", progress: TerminalProgress(state: .failed))
        #expect(written(&ledger).hasSuffix("\u{1B}]9;4;2\u{1B}\\"))
        let half = Percentage(0.5)
        ledger.show(ObjectIdentifier(first), title: "Work", progress: .init(state: .attention, percentage: half))
        #expect(written(&ledger) == "\u{1B}]9;4;4;50\u{1B}\\")
        ledger.show(ObjectIdentifier(first), title: "Work", progress: .init(state: .failed, percentage: half))
        #expect(written(&ledger) == "\u{1B}]9;4;2;50\u{1B}\\")
    }

    @Test(arguments: [
        (KnownTerminal.TitleStyle.stack, "\u{1B}[22;0t", "\u{1B}[23;0t"),
        (.emptied, "\u{1B}[22;0t", "\u{1B}]0;\u{07}\u{1B}[23;0t"),
        (.ascii, "\u{1B}[22;0t", "\u{1B}]0;\u{07}\u{1B}[23;0t"),
        (.screen, "", "\u{1B}]0;\u{07}"),
    ])
    func theTitleIsRestoredInTheStyleOfTheTerminal(style: KnownTerminal.TitleStyle, beginning: String, end: String) {
        var ledger = TitleLedger(style: style)
        ledger.show(ObjectIdentifier(first), title: "Work", progress: nil)
        #expect(written(&ledger) == beginning + "\u{1B}]0;Work\u{07}")
        ledger.hide(ObjectIdentifier(first))
        #expect(written(&ledger) == end)
    }

    @Test func progressIsShownWithoutATitle() {
        var ledger = TitleLedger(style: .emptied)
        ledger.show(ObjectIdentifier(first), title: nil, progress: TerminalProgress())
        #expect(written(&ledger) == "\u{1B}]9;4;3\u{1B}\\")
        ledger.hide(ObjectIdentifier(first))
        #expect(written(&ledger) == "\u{1B}]9;4;0\u{1B}\\")
    }

    @Test func aSuspendedTerminalIsRestoredAndShownAgain() {
        var ledger = TitleLedger(style: .stack)
        ledger.show(ObjectIdentifier(first), title: "Work", progress: TerminalProgress())
        _ = written(&ledger)
        ledger.isSuspended = true
        #expect(written(&ledger) == "\u{1B}]9;4;0\u{1B}\\\u{1B}[23;0t")
        ledger.show(ObjectIdentifier(first), title: "More", progress: TerminalProgress())
        #expect(written(&ledger) == "")
        ledger.isSuspended = false
        #expect(written(&ledger) == "\u{1B}[22;0t\u{1B}]0;More\u{07}\u{1B}]9;4;3\u{1B}\\")
    }

    @Test func anIncompleteSequenceIsCompletedFirst() {
        var ledger = TitleLedger(style: .stack)
        ledger.show(ObjectIdentifier(first), title: "Work", progress: nil)
        let all = ledger.nextBytes
        ledger.didWrite(10)
        for number in 0..<1000 { ledger.show(ObjectIdentifier(first), title: "\(number)", progress: nil) }
        ledger.hide(ObjectIdentifier(first))
        #expect(written(&ledger) == String(decoding: all.dropFirst(10), as: UTF8.self))
        #expect(written(&ledger) == "\u{1B}[23;0t")
        #expect(written(&ledger) == "")
    }

    @Test func aTitleThatWasNeverWrittenIsSkipped() {
        var ledger = TitleLedger(style: .stack)
        ledger.show(ObjectIdentifier(first), title: "Work", progress: TerminalProgress())
        ledger.hide(ObjectIdentifier(first))
        #expect(written(&ledger) == "")
    }

    @Test func theLatestClaimIsShownAndThenTheEarlierOne() {
        var ledger = TitleLedger(style: .stack)
        var terminal = TitleEmulator()
        ledger.show(ObjectIdentifier(first), title: "A1", progress: TerminalProgress())
        terminal.receive(Array(written(&ledger).utf8))
        ledger.show(ObjectIdentifier(second), title: "B1", progress: nil)
        terminal.receive(Array(written(&ledger).utf8))
        #expect(terminal.title == "B1")
        #expect(terminal.progress == nil)
        ledger.show(ObjectIdentifier(first), title: "A2", progress: TerminalProgress())
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

    @Test func closingWithdrawsEveryClaimAndIgnoresNewOnes() {
        var ledger = TitleLedger(style: .stack)
        ledger.show(ObjectIdentifier(first), title: "A", progress: nil)
        ledger.show(ObjectIdentifier(second), title: "B", progress: nil)
        _ = written(&ledger)
        ledger.close()
        #expect(written(&ledger) == "\u{1B}[23;0t")
        ledger.show(ObjectIdentifier(first), title: "A", progress: nil)
        #expect(written(&ledger) == "")
    }

    /// However the terminal accepts the bytes, its final state is right, and no sequence is cut off.
    @Test(arguments: 0..<200) func anyOrderOfEventsEndsInTheRightState(seed: Int) {
        var random = SplitMix(state: UInt64(seed))
        var ledger = TitleLedger(style: .stack)
        var terminal = TitleEmulator()
        let claimants = [Claimant(), Claimant(), Claimant()]
        for step in 0..<300 {
            let id = ObjectIdentifier(claimants[Int.random(in: 0..<3, using: &random)])
            switch Int.random(in: 0..<5, using: &random) {
            case 0: ledger.hide(id)
            case 4: ledger.isSuspended = Bool.random(using: &random)
            case 1, 2:
                let progress = Bool.random(using: &random) ? TerminalProgress() : nil
                ledger.show(id, title: "title \(step % 5)", progress: progress)
            default:
                let bytes = ledger.nextBytes
                let count = Int.random(in: 0...bytes.count, using: &random)
                terminal.receive(Array(bytes.prefix(count)))
                ledger.didWrite(count)
            }
        }
        for claimant in claimants { ledger.hide(ObjectIdentifier(claimant)) }
        while case let bytes = ledger.nextBytes, !bytes.isEmpty {
            terminal.receive(Array(bytes))
            ledger.didWrite(bytes.count)
        }
        #expect(terminal.title == "the old title", "seed \(seed)")
        #expect(terminal.stack.isEmpty && terminal.saves == terminal.restores, "seed \(seed)")
        #expect(terminal.progress == nil && terminal.screen == "" && !terminal.isInsideSequence, "seed \(seed)")
    }
}
