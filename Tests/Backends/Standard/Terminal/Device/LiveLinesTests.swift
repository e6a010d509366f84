import TestSupport

@testable import IndicatorBackends

extension LiveLine {
    init(_ text: String) {
        self.init()
        append(text)
    }
}

@Suite("Live lines")
struct LiveLinesTests {
    /// The identity of a claim. It must live as long as the claim.
    private let owner = NSObject()
    private var id: ObjectIdentifier { ObjectIdentifier(owner) }
    private let size = TerminalDevice.Size(columns: 20, rows: 6)

    private func lines(_ texts: String...) -> [LiveLine] { texts.map { LiveLine($0) } }

    private func take(_ live: inout LiveLines) -> String {
        String(decoding: live.render(), as: UTF8.self)
    }

    private func draw(_ live: inout LiveLines, _ screen: inout ScreenEmulator, _ change: (inout LiveLines) -> Void) {
        change(&live)
        screen.receive(take(&live))
    }

    @Test func `are drawn below the cursor, whose position is restored, and only changes are redrawn`() {
        var live = LiveLines()
        #expect(take(&live) == "")
        live.show(id, lines("one 1%", "two"), size: size, anew: false)
        #expect(
            take(&live)
                == "\u{1B}D\u{1B}D\u{1B}[2A\u{1B}7\u{1B}[m\u{1B}(B\u{1B}[?7l\u{1B}[K\r\u{1B}[1Bone 1%\u{1B}[K\r\u{1B}[1Btwo"
                + "\u{1B}[K\u{1B}[J\u{1B}[?7h\u{1B}8"
        )
        #expect(take(&live) == "")
        live.show(id, lines("one 2%", "two"), size: size, anew: false)
        #expect(
            take(&live)
                == "\u{1B}D\u{1B}[1A\u{1B}7\u{1B}[m\u{1B}(B\u{1B}[?7l\u{1B}[K\r\u{1B}[1B\u{1B}[5G2\u{1B}[?7h\u{1B}8"
        )
        live.write(Array("log\n".utf8))
        let erasure = "\u{1B}D\u{1B}[A\u{1B}7\u{1B}[m\u{1B}[K\r\u{1B}[B\u{1B}[J\u{1B}8"
        #expect(take(&live).hasPrefix("\(erasure)log\n\u{1B}D\u{1B}D"))
        live.hide(id)
        #expect(take(&live) == erasure)
        #expect(take(&live) == "")
    }

    /// What precedes text: a line that is written before the size of the window is known, one that is written above
    /// lines, or one that is begun above lines, whose rest is written without them.
    enum Preceding: CaseIterable { case first, above, hidden, held, covered }

    @Test(arguments: ["12345678901234567890", "\u{1B}[31m1234567890\u{1B}[m1234567890"], Preceding.allCases)
    func `do not damage text above them that ends at the right margin`(text: String, preceding: Preceding) {
        let size = TerminalDevice.Size(columns: 20, rows: 12)
        for times in 1...2 {
            var screen = ScreenEmulator(columns: size.columns, rows: size.rows)
            var live = LiveLines()
            if preceding == .first { live.write(Array("first\r\n".utf8)) }
            live.show(id, lines("one"), size: size, anew: false)
            if preceding == .above { live.write(Array("first\r\n".utf8)) }
            screen.receive(take(&live))
            if [.hidden, .held, .covered].contains(preceding) {
                draw(&live, &screen) { $0.write(Array("fir".utf8)) }
                switch preceding {
                case .hidden: live.hide(id)
                case .held: live.holds = 1
                default: live.cover()
                }
                screen.receive(take(&live))
                screen.receive("st\r\n")
                live.holds = 0
                draw(&live, &screen) { $0.show(id, lines("one"), size: size, anew: false) }
            }
            for _ in 0..<times {
                draw(&live, &screen) { $0.write(Array(text.utf8)) }
            }
            draw(&live, &screen) { $0.show(id, lines("two"), size: size, anew: true) }
            draw(&live, &screen) { $0.write(Array("continued\r\n".utf8)) }
            draw(&live, &screen) { $0.hide(id) }
            // Without live lines.
            var expected = ScreenEmulator(columns: size.columns, rows: size.rows)
            expected.receive("first\r\n")
            expected.receive(String(repeating: text, count: times) + "continued\r\n")
            #expect(screen.lines == expected.lines && screen.column == 0 && screen.unknown == [])
        }
    }

    @Test func `are those of all claims, in order, up to the rows of the window without the cursor's`() {
        let other = NSObject()
        var live = LiveLines()
        var screen = ScreenEmulator(columns: 20, rows: 3)
        let size = TerminalDevice.Size(columns: 20, rows: 3)
        live.show(id, lines("a", "b"), size: size, anew: false)
        draw(&live, &screen) { $0.show(ObjectIdentifier(other), lines("c"), size: size, anew: false) }
        #expect(screen.lines == ["", "a", "b"] && screen.row == 0)
        draw(&live, &screen) { $0.hide(id) }
        #expect(screen.lines == ["", "c"])
    }

    /// As when a program asks for a password: what is on the screen cannot be known until it is removed.
    @Test func `stay under another program, and are removed at the end`() {
        var live = LiveLines()
        live.show(id, lines("one"), size: size, anew: false)
        var screen = ScreenEmulator(columns: size.columns, rows: size.rows)
        screen.receive(take(&live))
        live.cover()
        live.resize(to: .init(columns: size.columns - 1, rows: size.rows))
        #expect(take(&live) == "")
        draw(&live, &screen) { $0.hide(id) }
        #expect(screen.lines == [])
    }

    /// Any user may lock `/dev/tty`.
    @Test(arguments: [0, 1 << 16]) func `are drawn although another program has locked the terminal`(length: Int) throws
    {
        let terminal = try PseudoTerminal()
        let other = open(terminal.path, O_RDWR | O_NOCTTY | O_CLOEXEC)
        defer { close(other) }
        let device = try TerminalDevice(path: terminal.path)
        var lock = flock(
            l_type: Int16(F_WRLCK),
            l_whence: Int16(SEEK_SET),
            l_start: length == 0 ? 0 : Int(device.number) << 16,
            l_len: length,
            l_pid: 0
        )
        // F_OFD_SETLK of fcntl(2), which Swift does not import.
        #expect(fcntl(other, 37, &lock) == 0)
        #expect(device.claim(2, insteadOf: .init()) == .init(offset: 0, count: 2, isShared: true))
    }

    @Test func `of another process are whole one frame after a process has written above them, and ended`() {
        var (first, second, screen) = (LiveLines(), LiveLines(), ScreenEmulator(columns: size.columns, rows: size.rows))
        func show(_ live: inout LiveLines, _ text: String, offset: Int, isShared: Bool = true) {
            live.show(id, lines(text), size: size, anew: false)
            live.claimRows { count, _ in .init(offset: offset, count: count, isShared: isShared) }
            screen.receive(take(&live))
        }
        show(&first, "one 1", offset: 0, isShared: false)
        show(&second, "two 1", offset: 1)
        show(&first, "one 2", offset: 0)
        first.write(Array("done\r\n".utf8))
        screen.receive(take(&first))
        show(&second, "two 2", offset: 1)
        show(&first, "one 3", offset: 0)
        #expect(screen.lines == ["done", "", "one 3", "two 2"])
        first.hide(id)
        screen.receive(take(&first))
        show(&second, "two 3", offset: 1, isShared: false)
        #expect(screen.lines == ["done", "", "", "two 3"])
    }

    /// At two lines a second, one in five was spoiled.
    @Test func `leave nothing behind a line of other output that follows a frame`() {
        var live = LiveLines()
        var screen = ScreenEmulator(columns: size.columns, rows: size.rows)
        for number in 1...4 {
            draw(&live, &screen) { $0.show(id, lines("a long bar \(number)"), size: size, anew: number == 1) }
            screen.receive("line\r\n")
        }
        #expect(screen.lines.prefix(4) == ["line", "line", "line", "line"])
    }

    @Test(arguments: 0..<200)
    func `never damage other output, wherever it leaves the cursor, and are never above it`(seed: UInt64) {
        var random = SplitMix(state: seed)
        let size = TerminalDevice.Size(
            columns: Int.random(in: 8...30, using: &random),
            rows: Int.random(in: 2...8, using: &random)
        )
        var screen = ScreenEmulator(columns: size.columns, rows: size.rows)
        var live = LiveLines()
        var foreign = [""]
        for step in 0..<60 {
            switch Int.random(in: 0..<6, using: &random) {
            case 0, 1:
                // Letters, which no live line has.
                let text = String(repeating: "x", count: Int.random(in: 1..<size.columns / 2, using: &random))
                guard foreign[foreign.count - 1].count + text.count < size.columns else { continue }
                screen.receive(text)
                foreign[foreign.count - 1] += text
            case 2:
                screen.receive("\r\n")
                foreign.append("")
            case 3 where live.isDrawn:
                guard foreign[foreign.count - 1].count + 5 < size.columns else { continue }
                draw(&live, &screen) { $0.write(Array("above\r\n".utf8)) }
                foreign[foreign.count - 1] += "above"
                foreign.append("")
            case 3, 4:
                draw(&live, &screen) { $0.hide(id) }
            default:
                let count = Int.random(in: 1...4, using: &random)
                let texts = (0..<count).map { "\($0):\(step)" }
                draw(&live, &screen) {
                    $0.show(id, texts.map { LiveLine($0) }, size: size, anew: step.isMultiple(of: 5))
                }
            }
        }
        draw(&live, &screen) { $0.show(id, lines("1"), size: size, anew: true) }
        draw(&live, &screen) { $0.hide(id) }
        // Live lines have only digits and colons. At most the rest of one may remain, behind foreign text.
        let expected = foreign
        let found = screen.all(count: expected.count)
        for (text, line) in zip(expected, found) {
            #expect(line.hasPrefix(text), "seed \(seed): '\(text)' is damaged: '\(line)'")
            #expect(line.dropFirst(text.count).allSatisfy { "0123456789: ".contains($0) })
        }
        #expect(screen.column == foreign[foreign.count - 1].count && screen.unknown == [])
    }
}
