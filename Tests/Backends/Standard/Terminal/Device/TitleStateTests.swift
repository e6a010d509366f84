import TestSupport

@testable import IndicatorCore
@testable import IndicatorBackends

/// The control sequences for the words of a script: `[Work]` is a title, `{…}` a progress, `<…>` a status, and `save`
/// and `restore` are for the earlier title.
func titleSequences(_ words: Substring) -> String {
    words.matches(of: /\[[^\]]*\]|\S+/).map { match in
        let inner = match.output.dropFirst().dropLast()
        return switch match.output.first {
        case "[": "\u{1B}]0;\(inner)\u{7}"
        case "{": "\u{1B}]9;4;\(inner)\u{1B}\\"
        case "<": "\u{1B}]7501;state=\(inner):id=i\u{1B}\\"
        case "s": "\u{1B}[22;0t"
        default: "\u{1B}[23;0t"
        }
    }.joined()
}

@Suite struct TitleStateTests {
    private let first = NSObject()
    private let second = NSObject()

    /// The claimants `a` and `b` show a title (`-` is none), and perhaps that they are `busy`, and a `status`, of
    /// which `done` may stay. After `=` is what is written: `[Work]` is a title, `{…}` a progress, and
    /// `<…>` a status.
    private static let claims: Table = """
        A title that was never written is skipped
          a Work busy | a hides =
        The latest claim is shown, and then the earlier one
          a A1 busy = save [A1] {3} | b B1 = {0} [B1] | a A2 busy = | b hides = [A2] {3} | a hides = {0} restore
        Closing withdraws every claim, and ignores new ones
          a A | b B = save [B] | all close = restore | a A = | a hides =
        A title is emptied in a terminal that may not restore it
          emptied | a A = save [A] | a hides = [] restore
        A title that was left alone is not emptied
          emptied | a - busy = {3} | a hides = {0}
        A suspended terminal is restored, and shown again
          a A busy status = save [A] {3} <working> | all suspend = {0} restore <clear> | a B busy status =
          all resume = save [B] {3} <working> | all hide = {0} restore <clear>
        What was shown and hidden at once leaves its status, until something is shown
          a hides done = <done> | a A busy status = save [A] {3} <working> | all hide = {0} restore <clear>
        What is shown again before the terminal has accepted the end leaves nothing then
          a A busy status = save [A] {3} <working> | a hides done | a A busy status = | a hides done
          a hides = {0} restore <clear> <done>
        """

    @Test(arguments: claims) func `What is claimed is written`(sentence: String, script: String) {
        var ledger = TitleState(style: .stack)
        let (working, done) = (ProgramStatus(.working, id: "i"), ProgramStatus(.done, id: "i"))
        for step in script.split(whereSeparator: { "|\n".contains($0) }) {
            let sides = step.split(separator: "=", omittingEmptySubsequences: false)
            let words = sides[0].split(separator: " ")
            let claimant = ObjectIdentifier(words[0] == "a" ? first : second)
            switch words.last {
            case "emptied": ledger = TitleState(style: .emptied)
            case "close": ledger.close()
            case "suspend": ledger.isSuspended = true
            case "resume": ledger.isSuspended = false
            case "hide": ledger.hideAll()
            case "hides": ledger.hide(claimant)
            case "done": ledger.hide(claimant, leaving: [done])
            default:
                var content = TitleState.Content(title: words[1] == "-" ? nil : String(words[1]))
                if words.contains("busy") { content.progress = TerminalProgress() }
                if words.contains("status") { content.records = [working] }
                ledger.show(claimant, content)
            }
            guard sides.count > 1 else { continue }
            let written = String(decoding: ledger.render(), as: UTF8.self)
            #expect(written == titleSequences(sides[1]), "\(sentence): \(step)")
        }
    }
}
