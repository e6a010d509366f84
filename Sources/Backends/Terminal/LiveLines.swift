/// The lines below a terminal's cursor that are drawn over and over, and the bytes that keep them so.
///
/// A pure value beside ``TitleLedger``, and used like it: its owner passes ``nextBytes`` to the terminal and reports
/// with ``didWrite(_:)`` what the terminal took.
///
/// **The cursor stays above the lines**, on a line that belongs to everybody else. A drawing goes down from there and
/// comes back, in one write; no sequence goes up further than the same write went down. So it does not matter where
/// others have left the cursor:
/// - What others write is at the cursor or above it. Only what is right of the cursor and below it is ever changed, and
///   that is the lines' own: an answer that the user types, a prompt without a line break, the output of a child
///   process stay. One exception: behind the last column a terminal waits with the line break, which going down and
///   back ends. The character there is lost if its writer goes on with the line after a drawing.
/// - After a line break of others, the cursor is on the first of the lines, and the next drawing is a line lower. Until
///   a drawing that is complete (``show(_:_:size:anew:)``), old lines may remain below, and the rest of one behind a
///   text that was written over it. Nothing of the text is lost.
/// - A window that becomes narrow wraps the lines, below the cursor, where the next drawing erases them.
/// - To remove the lines takes three bytes, and when a process is killed in the midst the cursor is where it should be.
struct LiveLines: Sendable {
    /// Identifies whose lines they are.
    typealias ClaimID = ObjectIdentifier

    private struct Claim: Sendable {
        var id: ClaimID
        var lines: [LiveLine]
    }

    /// How many callers write on the terminal in other ways now: nothing is shown meanwhile.
    var holds = 0
    /// Whether nothing is shown for now: the process is about to be stopped by Ctrl-Z.
    var isSuspended = false
    /// Whether removing the lines leaves the cursor at the start of a line also where others wrote part of one: the
    /// process is about to end or to be stopped, and the terminal has shown `^C`.
    var endsLine = false
    /// How many log messages were not written because the terminal took no bytes.
    var lostMessages = 0

    private var claims: [Claim] = []
    private var isClosed = false
    private var size = TerminalDevice.Size()
    /// What is to be written above the lines.
    private var text: [UInt8] = []
    private var mustDrawAnew = false
    /// What the terminal shows once it has taken what is unwritten.
    private var shown: [LiveLine] = []
    /// Of the bytes that the terminal has begun to take, those that it has not taken yet.
    private var unwritten: ArraySlice<UInt8> = []

    /// Whether the terminal has begun to take bytes that it has not all taken.
    var isUnfinished: Bool { !unwritten.isEmpty }

    /// Whether something is on the terminal that output of others would damage.
    var isDrawn: Bool { !shown.isEmpty || isUnfinished }

    /// Shows lines, below those of earlier claims. Without effect once closed.
    ///
    /// - Parameters:
    ///   - size: the size of the window; after a change all is drawn anew.
    ///   - anew: draws also what has not changed: others may have moved the cursor.
    mutating func show(_ id: ClaimID, _ lines: [LiveLine], size: TerminalDevice.Size, anew: Bool) {
        guard !isClosed else { return }
        if let index = claims.firstIndex(where: { $0.id == id }) {
            claims[index].lines = lines
        } else {
            claims.append(Claim(id: id, lines: lines))
        }
        if anew || size != self.size { mustDrawAnew = true }
        self.size = size
    }

    /// Removes the lines of a claim. Without effect when there is none.
    mutating func hide(_ id: ClaimID) {
        claims.removeAll { $0.id == id }
    }

    /// Removes the lines of a claim and writes nothing: the terminal belongs to other processes now.
    mutating func leave(_ id: ClaimID) {
        hide(id)
        if claims.isEmpty { shown = [] }
    }

    /// Writes text above the lines.
    mutating func write(_ bytes: some Sequence<UInt8>) {
        text += bytes
    }

    /// Writes lines above the lines: below what others wrote part of a line.
    ///
    /// - Parameter columns: those of the window.
    mutating func writeLines(_ lines: [String], columns: Int) {
        write((Self.startOfLine(columns: columns) + lines.map { $0 + "\r\n" }.joined()).utf8)
    }

    /// Ends ``isSuspended``. There are no lines until the next ``show(_:_:size:anew:)``: the process may be in the
    /// background.
    mutating func resume() {
        (claims, isSuspended, endsLine) = ([], false, false)
    }

    /// Removes all lines, and shows no others.
    mutating func close() {
        claims = []
        isClosed = true
    }

    /// Discards what was to be done: the terminal is closed.
    mutating func abandon() {
        close()
        (shown, text, unwritten, lostMessages) = ([], [], [], 0)
    }

    /// The bytes to write next; empty when the terminal shows what it should.
    var nextBytes: ArraySlice<UInt8> {
        unwritten.isEmpty ? transition().bytes : unwritten
    }

    /// Notes that the terminal has taken the first `count` of ``nextBytes``, as they are now.
    mutating func didWrite(_ count: Int) {
        guard count > 0 else { return }
        if unwritten.isEmpty {
            (unwritten, shown) = transition()
            (text, lostMessages, mustDrawAnew) = ([], 0, false)
        }
        unwritten = unwritten.dropFirst(count)
    }

    private func transition() -> (bytes: ArraySlice<UInt8>, result: [LiveLine]) {
        let isHidden = holds > 0 || isSuspended || isClosed
        // One row is the cursor's.
        let lines = isHidden ? [] : Array(claims.flatMap(\.lines).prefix(max(size.rows - 1, 0)))
        let hasText = !text.isEmpty || lostMessages > 0
        var bytes: [UInt8] = []
        if !shown.isEmpty, lines.isEmpty || hasText { bytes += Self.eraseBelow.utf8 }
        if !shown.isEmpty, lines.isEmpty, endsLine { bytes += Self.startOfLine(columns: size.columns).utf8 }
        bytes += text
        if lostMessages > 0 {
            bytes += "(\(lostMessages) log messages are lost: the terminal took no output)\r\n".utf8
        }
        let isAnew = mustDrawAnew || hasText || shown.count > lines.count || shown.isEmpty
        bytes += drawing(lines, over: isAnew ? nil : shown).utf8
        return (ArraySlice(bytes), lines)
    }

    /// Goes down to the lines that have changed, draws them, and comes back.
    private func drawing(_ lines: [LiveLine], over old: [LiveLine]?) -> String {
        let changed = lines.indices.filter { old?.indices.contains($0) != true || old?[$0] != lines[$0] }
        guard let last = changed.last else { return "" }
        var text = old == nil ? Self.eraseToEnd : ""
        // IND, which keeps the column, and scrolls at the bottom: room is made first, so that nothing scrolls between
        // saving the cursor (DECSC) and restoring it (DECRC). The colours of others are saved with it.
        text += String(repeating: "\u{1B}D", count: last + 1) + "\u{1B}[\(last + 1)A\u{1B}7\u{1B}[m"
        var row = -1
        for index in changed {
            text += "\r" + String(repeating: "\n", count: index - row)
            row = index
            text += lines[index].changes(from: old?.indices.contains(index) == true ? old?[index] : nil)
        }
        return text + (old == nil ? Self.eraseBelow : "") + "\u{1B}8"
    }

    /// Goes to the start of a line, the next one if there is text on this one: as many spaces as there are columns
    /// leave the cursor on an empty line, and behind other text they take it to the next.
    private static func startOfLine(columns: Int) -> String {
        String(repeating: " ", count: columns) + "\r" + eraseBelow
    }

    /// ED: erases from the cursor to the end of the window.
    private static let eraseBelow = "\u{1B}[J"
    /// EL: erases from the cursor to the end of the line.
    static let eraseToEnd = "\u{1B}[K"
}

/// A line of a terminal, column by column.
struct LiveLine: Sendable, Hashable {
    /// A colour or weight.
    enum Style: String, Sendable, Hashable {
        case plain = ""
        case faint = "2"
        case accent = "36"
        case failure = "31"
        case success = "32"

        /// SGR: all that is written from here on has this style.
        var sequence: String { "\u{1B}[\(self == .plain ? "" : "0;\(rawValue)")m" }
    }

    /// A column; the second one of a wide character is empty.
    private struct Cell: Sendable, Hashable {
        var text: String
        var style: Style

        /// Whether every terminal gives the character the same columns.
        var isCertain: Bool {
            guard let scalar = text.unicodeScalars.first, text.unicodeScalars.count == 1 else { return false }
            return switch scalar.value {
            case 0x20..<0x300, 0x370..<0x590, 0x2010..<0x2600, 0x2800..<0x2900, 0x3040..<0xA000, 0xAC00..<0xD7A4: true
            default: false
            }
        }
    }

    private var cells: [Cell] = []

    /// How many columns it takes.
    var columns: Int { cells.count }

    /// The text without its styles.
    var text: String { cells.map(\.text).joined() }

    /// Adds text, which must be free of control characters.
    mutating func append(_ text: String, _ style: Style = .plain) {
        for character in text {
            switch DisplayText.columns(of: character) {
            case 0:
                if let last = cells.lastIndex(where: { !$0.text.isEmpty }) { cells[last].text.append(character) }
            case let columns:
                cells.append(Cell(text: String(character), style: style))
                for _ in 1..<columns { cells.append(Cell(text: "", style: style)) }
            }
        }
    }

    /// Adds spaces up to a column.
    mutating func pad(to column: Int) {
        if columns < column { append(String(repeating: " ", count: column - columns)) }
    }

    /// Removes the spaces at the end.
    mutating func trim() {
        while cells.last?.text == " " { cells.removeLast() }
    }

    /// What to write, from the start of the line, where the terminal shows `old`; with `nil`, whatever it shows.
    ///
    /// The place is given anew behind a character whose columns differ among terminals.
    func changes(from old: LiveLine?) -> String {
        var text = ""
        var style = Style.plain
        var position: Int? = 0
        for (index, cell) in cells.enumerated() where !cell.text.isEmpty {
            if let old, index < old.cells.count, old.cells[index] == cell { continue }
            if position != index { text += Self.goTo(index) }
            if style != cell.style { text += cell.style.sequence }
            style = cell.style
            text += cell.text
            let isWide = index + 1 < cells.count && cells[index + 1].text.isEmpty
            position = cell.isCertain ? index + (isWide ? 2 : 1) : nil
        }
        if style != .plain { text += Style.plain.sequence }
        if let old, old.cells.count <= cells.count { return text }
        return text + (position == cells.count ? "" : Self.goTo(cells.count)) + LiveLines.eraseToEnd
    }

    /// CHA: goes to a column.
    private static func goTo(_ column: Int) -> String { "\u{1B}[\(column + 1)G" }
}
