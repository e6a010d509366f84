import TestSupport

@testable import IndicatorBackends

extension CursorTracker {
    fileprivate mutating func receive(_ bytes: some Sequence<UInt8>) {
        Array(bytes).withUnsafeBufferPointer { receive($0) }
    }
}

@Suite("The cursor after a text")
struct CursorTrackerTests {
    private static let size = TerminalDevice.Size(columns: 10, rows: 4)

    private func cursor(after texts: String...) -> CursorTracker {
        var cursor = CursorTracker()
        cursor.resize(to: Self.size)
        for text in texts { cursor.receive(text.utf8) }
        return cursor
    }

    @Test(arguments: [
        "", "text", "1234567890\r\n", "12345678901", "1234567890\r", "\u{1B}[31mred\u{1B}[m", "日本語で",
        "one\r\ntwo\r\n",
        // A spinner, a wait for a password, a title, a character in another character set.
        "50%\r", "50%\u{8}\u{8}\u{8}", "Word: ", "\u{1B}]0;title\u{7}", "\u{1B}]0;title\u{1B}\\",
        "\u{1B}(0x\u{1B}(B",
        // Erased below, or everywhere.
        "one\r\ntwo\u{1B}[A\u{1B}[J", "\u{1B}[H\u{1B}[2J\u{1B}[3J",
        "\u{1B}[2J\u{1B}[H", "\u{1B}[H\u{1B}[J",
        // After a full-screen program, also one whose cursor was elsewhere.
        "x\u{1B}[?1049h\u{1B}[2;3Hfull\u{1B}[?1049l", "\u{1B}[?1049h\u{1B}7\u{1B}[?1049l",
        // Uncertain until the window is erased.
        "one\u{1B}M\r\n\u{1B}[J", "\u{1B}7one\u{1B}8two\r\n\u{1B}[2J", "\u{1B}[?7l\u{1B}[?7h\u{1B}[J",
        "\u{1B}[1;3r\u{1B}c",
        // A sequence within which another one begins, or that is cancelled.
        "\u{1B}[\u{1B}[m", "\u{1B}]0;title\u{18}", "é", "日",
    ])
    func `allows lines where they damage nothing`(text: String) {
        #expect(cursor(after: text).allowsLines)
        // Also if each byte arrives on its own.
        var cursor = CursorTracker()
        cursor.resize(to: Self.size)
        for byte in text.utf8 { cursor.receive([byte]) }
        #expect(cursor.allowsLines)
    }

    @Test(arguments: [
        // Behind the last column, or possibly.
        "1234567890", "日本語日本", "123456789日12345678", "\r\n1234567890", "⏳⏳⏳⏳⏳", "12345\t123\u{1B}Hx\t",
        // Above a part of the text.
        "one\r\ntwo\u{1B}[A", "one\r\ntwo\u{1B}M", "\u{1B}[H", "\u{1B}[2H", "one\u{1B}[L", "one\u{1B}8",
        // Within the row, until it ends.
        "one\u{1B}[2D", "one\u{1B}[1G",
        // Full-screen programs, margins, saved positions, no line breaks.
        "\u{1B}[?1049h", "\u{1B}[?1049h\u{1B}[1;3r\u{1B}[r\u{1B}[2J", "\u{1B}[?47h\u{1B}[H\u{1B}[2J",
        "\u{1B}[1;3r\u{1B}[4H", "\u{1B}7", "\u{1B}7one\u{1B}8two",
        "\u{1B}[s\r\nx", "\u{1B}[?7l",
        // Within a sequence.
        "\u{1B}", "\u{1B}[", "\u{1B}[3", "\u{1B}]0;title", "\u{1B}]0;title\u{1B}", "\u{1B}P1;2", "\u{1B}(",
    ])
    func `allows none elsewhere`(text: String) { #expect(!cursor(after: text).allowsLines) }

    @Test func `knows whether a sequence or a character is complete`() {
        #expect(!cursor(after: "\u{1B}[3").isBetweenSequences && cursor(after: "\u{1B}[3", "1m").isBetweenSequences)
        var cursor = cursor(after: "")
        let bytes = Array("日".utf8)
        cursor.receive(bytes[..<2])
        // Its rest may never come: a program in another character set must not freeze the lines.
        #expect(cursor.isBetweenSequences && cursor.allowsLines)
        cursor.receive(bytes[2...])
        #expect(cursor.isBetweenSequences && cursor.allowsLines)
        cursor.receive(Array("\ncaf".utf8) + [0xE9] + "\n".utf8)
        #expect(cursor.isBetweenSequences && cursor.allowsLines)
    }

    @Test(arguments: [
        ("50%", false), ("50%\r", true), ("50%\u{8}", true), ("50%\r\u{1B}[K", false), ("50%\r\u{1B}[2K", false),
        ("50%\r\r\n", false), ("50%\r60%", false), ("123456789012\r", true),
        ("x\r\u{1B}[J", false), ("☎\r123", true),
    ])
    func `knows whether there is text behind it`(text: String, isBehind: Bool) {
        #expect(cursor(after: text).hasTextBehind == isBehind)
    }

    @Test func `follows a change of the size: a line that the terminal may wrap again is uncertain until it ends`() {
        for (text, columns, allows) in [
            ("12345", 8, true), ("12345", 5, false), ("12345\r\n", 5, true), ("123456789012", 20, false),
        ] {
            var cursor = cursor(after: text)
            cursor.resize(to: TerminalDevice.Size(columns: columns, rows: 4))
            #expect(cursor.allowsLines == allows, "\(text) \(columns)")
            cursor.receive("\r\n".utf8)
            #expect(cursor.allowsLines)
        }
    }

    @Test(arguments: 0..<200) func `never ends the process, and is certain again after an erased window`(seed: UInt64) {
        var random = SplitMix(state: seed)
        var cursor = CursorTracker()
        let pieces = [
            "\u{1B}[", "\u{1B}", ";", "9999999999999999999999", "\u{1B}]", "\n", "\t", "日", "?1049h", "A", "\u{1B}7",
        ]
        for _ in 0..<200 {
            let columns = Int.random(in: 1...20, using: &random)
            cursor.resize(to: TerminalDevice.Size(columns: columns, rows: Int.random(in: 1...5, using: &random)))
            for _ in 0..<Int.random(in: 0..<8, using: &random) {
                cursor.receive([.random(in: 0...255, using: &random)])
            }
            cursor.receive((pieces.randomElement(using: &random) ?? "").utf8)
        }
        cursor.resize(to: Self.size)
        // ST, RIS.
        cursor.receive("\u{18}\u{1B}\\\u{1B}c".utf8)
        #expect(cursor.allowsLines && !cursor.hasTextBehind)
    }
}
