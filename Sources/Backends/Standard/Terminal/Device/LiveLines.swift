import BackendConfiguration
import IndicatorCore

/// The lines below a terminal's cursor that are redrawn in place, and the bytes that draw them.
///
/// A pure value, which a ``TerminalOutbox`` renders.
///
/// **The cursor stays above the lines**, on a line for all other output. A drawing moves down from there and back, in
/// one write, and never moves up further than it moved down. So the position of the cursor after other output does not
/// matter:
/// - Text that is written with ``write(_:)`` is never damaged, and leaves nothing of the lines behind. They are erased
///   before it and drawn after it, in one write. A ``CursorTracker`` follows the text, and nothing is drawn where that
///   would damage it: on the alternate screen, within a control sequence, above a part of the text, or behind the last
///   column, where a terminal delays the line break and moving down and back would cancel that state.
/// - Other output is at the cursor or above it. A drawing only changes what is to the right of the cursor and below it,
///   which is the lines' area: the user's input, a prompt without a line break and the output of a child process
///   remain, except for a character in the last column if its writer continues the line after a drawing. After a line
///   break in other output, the cursor is on the first of the lines, and the next drawing is one line lower. Until a
///   complete drawing (``show(_:_:size:anew:)``), old lines may remain below.
/// - A window that becomes narrower wraps the lines below the cursor, where the next drawing erases them. A drawing for
///   a window that has just become smaller is clipped: it neither wraps nor scrolls.
/// - Removing the lines takes a few bytes, and if the process is killed, the cursor is already in the right place.
/// - Processes that draw on one terminal at once have rows of their own, below each other, and draw each frame anew.
struct LiveLines: Sendable {
    /// The number of callers that write to the terminal in other ways now. The lines are hidden meanwhile.
    var holds = 0
    /// Whether the lines are hidden because the process is being stopped by Ctrl-Z.
    var isSuspended = false
    /// Whether another program has the terminal in its own mode.
    private var isCovered = false

    private var claims: [(id: ObjectIdentifier, lines: [LiveLine])] = []
    private var isClosed = false
    private var size = TerminalDevice.Size()
    /// The text to write above the lines.
    private var text: [UInt8] = []
    /// The cursor after ``text``, if nothing else writes.
    private var cursor = CursorTracker()
    private var mustDrawAnew = false
    /// Where ``shown`` is, or will be.
    private var rows = TerminalDevice.Rows()
    private var hasMoved = false
    /// Erases ``shown``. Also lines of other processes, which draw them again soon: after a line break in other output,
    /// it is not known whose lines are where.
    private var erasure = ""
    /// What the terminal shows after what was rendered.
    private var shown: [LiveLine] = []

    /// Whether the terminal shows something that other output would damage, or will as soon as the text allows it.
    var isDrawn: Bool { !shown.isEmpty || !text.isEmpty || !wantedLines.isEmpty }

    /// Whether control sequences that do not move the cursor can be written now.
    var allowsSequences: Bool { isClosed || cursor.isBetweenSequences && text.isEmpty }

    /// Shows lines, below those of earlier claims. No effect after ``close()``.
    ///
    /// - Parameters:
    ///   - size: the size of the window; after a change everything is redrawn.
    ///   - anew: whether to redraw unchanged lines too: other output may have moved the cursor.
    mutating func show(_ id: ObjectIdentifier, _ lines: [LiveLine], size: TerminalDevice.Size, anew: Bool) {
        guard !isClosed else { return }
        if let index = claims.firstIndex(where: { $0.id == id }) {
            claims[index].lines = lines
        } else {
            claims.append((id, lines))
        }
        // Other processes erase the lines at any time, and move them when they write.
        if anew || isCovered || rows.isShared { mustDrawAnew = true }
        isCovered = false
        resize(to: size)
    }

    /// Follows a change of the window's size.
    mutating func resize(to size: TerminalDevice.Size) {
        if size != self.size { mustDrawAnew = true }
        cursor.resize(to: size)
        self.size = size
    }

    /// Claims as many rows as there are lines, when they are written.
    mutating func claimRows(_ body: (Int, TerminalDevice.Rows) -> TerminalDevice.Rows) {
        let offset = rows.offset
        rows = body(max(wantedLines.count, shown.count), rows)
        hasMoved = hasMoved || rows.offset != offset
    }

    /// Leaves the lines as they are until they are shown again or removed: another program has the terminal.
    mutating func cover() {
        isCovered = true
        cursor.assumeStartOfLine()
    }

    /// Removes the lines of a claim, if there is one.
    mutating func hide(_ id: ObjectIdentifier) { claims.removeAll { $0.id == id } }

    /// Writes text above the lines.
    mutating func write(_ bytes: [UInt8]) {
        bytes.withUnsafeBufferPointer { cursor.receive($0) }
        text += bytes
    }

    /// Writes lines of text above the lines, starting on a new line after partial output.
    ///
    /// - Parameter columns: the columns of the window.
    mutating func writeLines(_ lines: [String], columns: Int) {
        // Writing as many spaces as there are columns stays on an empty line, and after other text continues on the
        // next one.
        let start = columns == 0 ? "\r\n" : String(repeating: " ", count: columns) + "\r" + Self.eraseToEnd
        write(Array((start + lines.map { $0 + "\r\n" }.joined()).utf8))
    }

    /// Ends ``isSuspended``. No lines are shown until the next ``show(_:_:size:anew:)``: the process may be in the
    /// background.
    mutating func resume() {
        (claims, isSuspended) = ([], false)
    }

    /// Removes all lines, and ignores later ones.
    mutating func close() {
        claims = []
        isClosed = true
    }

    /// The bytes to write; empty if the terminal shows what it should. They count as written.
    mutating func render() -> ArraySlice<UInt8> {
        let (bytes, lines) = transition()
        guard !bytes.isEmpty else { return [] }
        shown = lines
        // While there are no lines, others write.
        if text.isEmpty, wantedLines.isEmpty { cursor.assumeStartOfLine() }
        (text, mustDrawAnew, hasMoved) = ([], false, false)
        erasure = Self.erasure(keepsRow: cursor.hasTextBehind)
        return bytes
    }

    /// The lines to show where the text allows it.
    private var wantedLines: [LiveLine] {
        let isHidden = claims.isEmpty || holds > 0 || isSuspended || isClosed
        // One row is for the cursor.
        return isHidden ? [] : Array(claims.flatMap(\.lines).prefix(max(size.rows - 1 - rows.offset, 0)))
    }

    private func transition() -> (bytes: ArraySlice<UInt8>, result: [LiveLine]) {
        if isCovered, !wantedLines.isEmpty { return (ArraySlice(text), shown) }
        let lines = cursor.allowsLines ? wantedLines : []
        let hasText = !text.isEmpty
        var bytes: [UInt8] = []
        if !shown.isEmpty, lines.isEmpty || hasText || hasMoved { bytes += erasure.utf8 }
        bytes += text
        let isAnew = mustDrawAnew || hasText || shown.count > lines.count || shown.isEmpty || hasMoved
        bytes += drawing(lines, over: isAnew ? nil : shown).utf8
        return (ArraySlice(bytes), lines)
    }

    /// Moves down to the changed lines, draws them, and moves back.
    private func drawing(_ lines: [LiveLine], over old: [LiveLine]?) -> String {
        let changed = lines.indices.filter { old?.indices.contains($0) != true || old?[$0] != lines[$0] }
        guard let last = changed.last else { return "" }
        // IND keeps the column and scrolls at the bottom. It makes room first, so that nothing scrolls between saving
        // the cursor (DECSC) and restoring it (DECRC). The cursor is saved with the current colours. Without automatic
        // line breaks (DECAWM), and with CUD, which does not scroll, that also holds in a window that has just become
        // smaller: tmux reports the size up to a quarter of a second later.
        let depth = rows.offset + last + 1
        var text =
            String(repeating: "\u{1B}D", count: depth)
            + "\u{1B}[\(depth)A\u{1B}7\u{1B}[m\(Self.selectASCII)\u{1B}[?7l"
        // The line that other output began may be on one of the lines.
        if !cursor.hasTextBehind { text += Self.eraseToEnd }
        var row = -1 - rows.offset
        for index in changed {
            text += "\r\u{1B}[\(index - row)B"
            row = index
            text += lines[index].changes(from: old?.indices.contains(index) == true ? old?[index] : nil)
        }
        // Below may be lines of others.
        let rest = String(repeating: "\r\u{1B}[B\(Self.eraseToEnd)", count: max(shown.count - lines.count, 0))
        return text + (old != nil ? "" : rows.isShared ? rest : Self.eraseBelow) + "\u{1B}[?7h\u{1B}8"
    }

    /// Erases the lines, without the colours of the text, and what is to the right of the cursor unless that is text.
    ///
    /// Below the cursor from the next row on: tmux moves the window's text to its history when everything is erased
    /// from the first column of the first row.
    static func erasure(keepsRow: Bool = false) -> String {
        // The cursor may be on the last row: after a line break in other output, or because the window has become
        // smaller. IND makes room, as for a drawing.
        "\u{1B}D\u{1B}[A\u{1B}7\u{1B}[m" + (keepsRow ? "" : eraseToEnd) + "\r\u{1B}[B" + eraseBelow + "\u{1B}8"
    }

    /// SCS: the other output may have selected line graphics. DECRC restores that.
    static let selectASCII = "\u{1B}(B"
    /// ED: erases from the cursor to the end of the window.
    private static let eraseBelow = "\u{1B}[J"
    /// EL: erases from the cursor to the end of the line.
    static let eraseToEnd = "\u{1B}[K"
}

/// A line of a terminal, by columns.
struct LiveLine: Sendable, Hashable {
    /// A column; the second column of a wide character is empty.
    private struct Cell: Sendable, Hashable {
        var text: String
        var style: TextStyle

        /// Whether the character has the same width in every terminal.
        var isCertain: Bool {
            guard let scalar = text.unicodeScalars.first, text.unicodeScalars.count == 1 else { return false }
            return LiveLine.hasCertainWidth(scalar)
        }
    }

    /// Whether a character has the same width in every terminal.
    static func hasCertainWidth(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x20..<0x7F, 0xA0..<0x300, 0x370..<0x590, 0x2010..<0x2600, 0x2800..<0x2900, 0x3040..<0xA000,
            0xAC00..<0xD7A4:
            true
        default: false
        }
    }

    private var cells: [Cell] = []

    /// The number of columns.
    var columns: Int { cells.count }

    /// The text without its styles.
    var text: String { cells.map(\.text).joined() }

    /// Adds text, which must be free of control characters.
    mutating func append(_ text: String, _ style: TextStyle = .plain) {
        for character in text {
            switch SafeText.columns(of: character) {
            case 0:
                if let last = cells.lastIndex(where: { !$0.text.isEmpty }) { cells[last].text.append(character) }
            case let columns:
                cells.append(Cell(text: String(character), style: style))
                for _ in 1..<columns { cells.append(Cell(text: "", style: style)) }
            }
        }
    }

    /// Adds a line's columns.
    mutating func append(_ line: LiveLine) { cells += line.cells }

    /// Inserts spaces at a column.
    mutating func insertSpaces(_ count: Int, at column: Int) {
        cells.insert(contentsOf: Array(repeating: Cell(text: " ", style: .plain), count: max(count, 0)), at: column)
    }

    /// Removes what is beyond a number of columns.
    mutating func cut(to columns: Int) {
        guard cells.count > columns else { return }
        let isSplit = cells[columns].text.isEmpty
        cells.removeLast(cells.count - columns)
        if isSplit, !cells.isEmpty { cells[cells.count - 1] = Cell(text: " ", style: .plain) }
    }

    /// Removes the spaces at the end.
    mutating func trim() {
        while cells.last?.text == " " { cells.removeLast() }
    }

    /// The bytes to draw the line from its start where the terminal shows `old`; with `nil`, to draw it completely.
    ///
    /// The column is set again after a character whose width differs among terminals.
    func changes(from old: LiveLine?) -> String {
        var text = ""
        var style = TextStyle.plain
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
        if style != .plain { text += TextStyle.plain.sequence }
        if let old, old.cells.count <= cells.count { return text }
        return text + (position == cells.count ? "" : Self.goTo(cells.count)) + LiveLines.eraseToEnd
    }

    /// CHA: moves to a column.
    private static func goTo(_ column: Int) -> String { "\u{1B}[\(column + 1)G" }
}
