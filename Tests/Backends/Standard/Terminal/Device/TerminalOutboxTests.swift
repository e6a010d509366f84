import TestSupport

@testable import IndicatorCore
@testable import IndicatorBackends

@Suite("What a terminal gets")
struct TerminalOutboxTests {
    private func take(_ count: Int = .max, from outbox: inout TerminalOutbox) -> String {
        var taken: [UInt8] = []
        _ = outbox.flush { bytes in
            let accepted = bytes.prefix(count - taken.count)
            taken += accepted
            return accepted.count
        }
        return String(decoding: taken, as: UTF8.self)
    }

    @Test func `What is partly written is completed first; then the latest state follows`() {
        let claimant = NSObject()
        let id = ObjectIdentifier(claimant)
        let size = TerminalDevice.Size(columns: 20, rows: 6)
        var outbox = TerminalOutbox(title: TitleState(style: .stack))
        outbox.title.show(id, .init(title: "Work"))
        #expect(take(10, from: &outbox) == "\u{1B}[22;0t\u{1B}]0" && outbox.isDrawn)
        for number in 1...1000 {
            outbox.title.show(id, .init(title: "\(number)"))
            outbox.lines.show(id, [LiveLine("line \(number)")], size: size, anew: false)
        }
        outbox.title.hide(id)
        let rest = take(from: &outbox)
        #expect(rest.hasPrefix(";Work\u{07}\u{1B}[23;0t") && rest.contains("line 1000"))
        #expect(!rest.contains("999") && take(from: &outbox) == "")
    }

    @Test func `A title waits for the end of a control sequence of the app's text`() {
        let claimant = NSObject()
        var outbox = TerminalOutbox(title: TitleState(style: .stack))
        outbox.lines.write(Array("\u{1B}[3".utf8))
        outbox.title.show(ObjectIdentifier(claimant), .init(title: "Work"))
        #expect(take(from: &outbox) == "\u{1B}[3")
        outbox.lines.write(Array("1mred".utf8))
        #expect(take(from: &outbox) == "1mred\u{1B}[22;0t\u{1B}]0;Work\u{07}")
    }

    @Test(arguments: 0..<200)
    func `However the terminal accepts the bytes, its final state is right, and no sequence is cut off`(seed: Int) {
        var random = SplitMix(state: UInt64(seed))
        var outbox = TerminalOutbox(title: TitleState(style: .stack))
        var terminal = TitleEmulator()
        let claimants = [NSObject(), NSObject(), NSObject()]
        for step in 0..<300 {
            let id = ObjectIdentifier(claimants[Int.random(in: 0..<3, using: &random)])
            switch Int.random(in: 0..<5, using: &random) {
            case 0: outbox.title.hide(id)
            case 4: outbox.title.isSuspended = Bool.random(using: &random)
            case 1, 2:
                let progress = Bool.random(using: &random) ? TerminalProgress() : nil
                outbox.title.show(id, .init(title: "title \(step % 5)", progress: progress))
            default:
                var room = Int.random(in: 0...30, using: &random)
                _ = outbox.flush { bytes in
                    let accepted = bytes.prefix(room)
                    terminal.receive(Array(accepted))
                    room -= accepted.count
                    return accepted.count
                }
            }
        }
        for claimant in claimants { outbox.title.hide(ObjectIdentifier(claimant)) }
        _ = outbox.flush { bytes in
            terminal.receive(Array(bytes))
            return bytes.count
        }
        #expect(terminal.title == "the old title", "seed \(seed)")
        #expect(terminal.stack.isEmpty && terminal.saves == terminal.restores, "seed \(seed)")
        #expect(terminal.progress == nil && terminal.screen == "" && !terminal.isInsideSequence, "seed \(seed)")
    }
}
