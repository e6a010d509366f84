import TestSupport

@testable import IndicatorCore
@testable import TerminalBackends

@Suite struct TitleStateTests {
    private final class Claimant: Sendable {}

    private let first = Claimant()
    private let second = Claimant()

    private func written(_ ledger: inout TitleState) -> String {
        String(decoding: ledger.render(), as: UTF8.self)
    }

    /// The claimants `a` and `b` show a title, and perhaps a progress: `busy`, or in percent. After `=` is
    /// what is written: `[Work]` is a title, and `{…}` a progress.
    @Test(arguments: [
        (
            "The title is saved, set and restored",
            """
            a hides = | a Work = save [Work] | a Work = | a More = [More] | a hides = restore | a hides =
            """
        ),
        (
            "Progress is shown and cleared",
            """
            a Work busy = save [Work] {3} | a Work 50 = {1;50} | a Work 50.1 = | a Work 50.1 again = {1;50}
            a hides = {0} restore
            """
        ),
        (
            "A failure and a request for attention are shown",
            "a Work failed = save [Work] {2} | a Work attention 50 = {4;50} | a Work failed 50 = {2;50}"
        ),
        ("A title that was never written is skipped", "a Work busy | a hides ="),
        (
            "The latest claim is shown, and then the earlier one",
            """
            a A1 busy = save [A1] {3} | b B1 = {0} [B1] | a A2 busy = | b hides = [A2] {3} | a hides = {0} restore
            """
        ),
        (
            "Closing withdraws every claim, and ignores new ones",
            "a A | b B = save [B] | all close = restore | a A = | a hides ="
        ),
    ])
    func `What is claimed is written`(sentence: String, script: String) {
        var ledger = TitleState(style: .stack)
        for step in script.split(whereSeparator: { "|\n".contains($0) }) {
            let sides = step.split(separator: "=", omittingEmptySubsequences: false)
            let words = sides[0].split(separator: " ")
            let claimant = ObjectIdentifier(words[0] == "a" ? first : second)
            switch words[1] {
            case "close": ledger.close()
            case "hides": ledger.hide(claimant)
            default:
                let percentage = words.compactMap { Double($0) }.first.flatMap { Percentage($0 / 100) }
                let state: TerminalProgress.State =
                    words.contains("failed") ? .failed : words.contains("attention") ? .attention : .normal
                let progress = words.count > 2 ? TerminalProgress(state: state, percentage: percentage) : nil
                let content = TitleState.Content(title: String(words[1]), progress: progress)
                ledger.show(claimant, content, repeatsProgress: words.contains("again"))
            }
            guard sides.count > 1 else { continue }
            let expected = sides[1].split(separator: " ").map { word in
                switch word.first {
                case "s": "\u{1B}[22;0t"
                case "r": "\u{1B}[23;0t"
                case "{": "\u{1B}]9;4;\(word.dropFirst().dropLast())\u{1B}\\"
                default: "\u{1B}]0;\(word.dropFirst().dropLast())\u{7}"
                }
            }
            #expect(written(&ledger) == expected.joined(), "\(sentence): \(step)")
        }
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

    @Test func `A title that was left alone is not emptied`() {
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
        // What had stayed is out of date.
        show("More")
        _ = written(&ledger)
        ledger.hideAll()
        #expect(written(&ledger) == "\u{1B}]9;4;0\u{1B}\\\u{1B}[23;0t\(clear)")
        ledger.close()
        #expect(written(&ledger) == "")
    }
}
