import BackendConfiguration
import DisplayText
import Foundation

/// Follows the text that others write to a terminal, to know when lines below the cursor damage none of it.
///
/// A pure value that interprets what matters for that question: characters and line breaks, movements of the cursor,
/// and the alternate screen (ECMA-48; "XTerm Control Sequences"). Where the position is uncertain, it assumes the
/// worst, and ``allowsLines`` is `false` until the text makes it certain again.
struct CursorTracker: Sendable {
    /// Whether a line feed also returns the cursor to the first column. Not if the terminal is in raw mode.
    var returnsOnLineFeed = true

    private var size = TerminalDevice.Size()
    /// The column of the cursor: as many as the window has after a character in its last column, because a terminal
    /// delays the line break. The largest possible one if it is not exact.
    private var column = 0
    private var isExact = true
    /// The columns of the cursor's row that may have text.
    private var extent = 0
    /// Whether the row continues an earlier one.
    private var isContinued = false
    /// The row of the cursor and the lowest row that may have text, counted from an arbitrary one.
    private var row = 0
    private var lowestRow = 0
    /// The position of DECSC.
    private var saved: Position?
    /// Whether DECRC has restored it.
    private var isRestored = false
    /// The state of the normal screen while the alternate one is shown.
    private var beforeAlternate: (position: Position, lowestRow: Int, saved: Position?)?
    private var hasMargins = false
    /// Whether the window has been erased since the last character.
    private var isBlank = false
    private var wraps = true
    private var hasOwnTabs = false

    private struct Position: Sendable {
        var row: Int
        var column: Int
        var isExact: Bool
    }

    /// Where the text stops.
    private enum State: Sendable {
        case text
        /// After ESC, and its intermediate bytes.
        case escape
        case intermediate
        /// In a CSI sequence, with its parameter and intermediate bytes.
        case sequence
        /// In a string such as OSC, until ST, or until BEL.
        case string
        case stringEscape
    }

    private var state = State.text
    private var parameters: [UInt8] = []
    /// The bytes of an incomplete character.
    private var partial: [UInt8] = []

    /// Whether the text stops between two characters and control sequences, so that others may write sequences.
    var isBetweenSequences: Bool { state == .text && partial.isEmpty }

    /// Whether lines can be drawn below the cursor: it is on the lowest row of the text of the normal screen, not
    /// behind its last column, and drawing does not overwrite a position that the text has saved.
    var allowsLines: Bool {
        isBetweenSequences && row == lowestRow && column < size.columns && beforeAlternate == nil && saved == nil
            && !hasMargins && wraps
    }

    /// Whether the cursor is at the start of a line.
    var isAtStart: Bool { column == 0 && isExact }

    /// Whether there may be text to the right of the cursor.
    var hasTextBehind: Bool { column < extent }

    /// Assumes that the cursor is at the start of an empty line: others have written, and probably ended their lines.
    mutating func assumeStartOfLine() {
        (column, isExact, extent, isContinued) = (0, true, 0, false)
        lowestRow = row
    }

    /// Follows a change of the window's size.
    mutating func resize(to size: TerminalDevice.Size) {
        guard size != self.size else { return }
        // Terminals wrap lines again. What fits into both windows stays.
        let isMoved = isContinued || max(extent, column) >= min(size.columns, self.size.columns)
        self.size = size
        if isMoved { setUncertain() }
    }

    /// Follows a text.
    mutating func receive(_ bytes: UnsafeBufferPointer<UInt8>) {
        var index = 0
        /// The end of the text in which the last line break was looked for.
        var end = 0
        while index < bytes.count {
            if state == .text, partial.isEmpty {
                if index >= end { (index, end) = skipLines(in: bytes, from: index) }
                index = receiveASCII(bytes, from: index)
                if index == bytes.count { return }
            }
            receive(bytes[index])
            index += 1
        }
    }

    /// Skips whole lines without control sequences: only what follows them matters.
    ///
    /// - Returns: the index after them, and that of the next control sequence.
    private mutating func skipLines(
        in bytes: UnsafeBufferPointer<UInt8>,
        from index: Int
    ) -> (index: Int, end: Int) {
        guard let base = bytes.baseAddress else { return (index, index) }
        let escape = memchr(base + index, CInt(Self.escape), bytes.count - index)
        let end = escape.map { UnsafeRawPointer(base).distance(to: $0) } ?? bytes.count
        guard row == lowestRow, saved == nil, beforeAlternate == nil,
            let lineFeed = bytes[index..<end].lastIndex(of: Self.lineFeed), lineFeed > index,
            returnsOnLineFeed || bytes[lineFeed - 1] == UInt8(ascii: "\r")
        else { return (index, end) }
        receive(UInt8(ascii: "\r"))
        receive(Self.lineFeed)
        isBlank = false
        return (lineFeed + 1, end)
    }

    private mutating func receiveASCII(_ bytes: UnsafeBufferPointer<UInt8>, from index: Int) -> Int {
        var end = index
        while end < bytes.count, 0x20..<0x7F ~= bytes[end] { end += 1 }
        if end > index { print(columns: end - index) }
        return end
    }

    private mutating func receive(_ byte: UInt8) {
        switch state {
        case .text where byte < 0x20 || byte == 0x7F: control(byte)
        case .text: text(byte)
        case .string where byte == Self.escape: state = .stringEscape
        case .string: if byte == Self.bell || byte == Self.cancel || byte == Self.substitute { state = .text }
        case .stringEscape where byte == UInt8(ascii: "\\"): state = .text
        case .stringEscape, .escape, .intermediate, .sequence:
            // In a sequence, ESC begins another one, CAN and SUB end it, and other control characters are executed.
            switch byte {
            case Self.escape: (state, parameters) = (.escape, [])
            case Self.cancel, Self.substitute: state = .text
            case ..<0x20: control(byte)
            default: sequence(byte)
            }
        }
    }

    // MARK: - Text

    private mutating func text(_ byte: UInt8) {
        partial.append(byte)
        // The number of bytes of a character in UTF-8 follows from the first one.
        let count = byte < 0x80 ? 1 : partial[0] >= 0xF0 ? 4 : partial[0] >= 0xE0 ? 3 : partial[0] >= 0xC0 ? 2 : 1
        guard partial.count >= count else { return }
        defer { partial = [] }
        let scalars = String(decoding: partial, as: UTF8.self).unicodeScalars
        guard scalars.count == 1, let scalar = scalars.first, scalar != "\u{FFFD}" else {
            // Not UTF-8, or another character set.
            return print(columns: partial.count, isCertain: false)
        }
        let character = Character(scalar)
        let columns = SafeText.columns(of: character)
        // A wide character is not divided: the last column stays empty.
        if columns == 2, column == size.columns - 1 { column += 1 }
        print(columns: columns, isCertain: LiveLine.hasCertainWidth(scalar))
    }

    /// Follows characters of one column each, or a single one.
    private mutating func print(columns count: Int, isCertain: Bool = true) {
        isBlank = false
        isExact = isExact && isCertain
        let end = column + (isCertain ? count : 2)
        if end > size.columns {
            guard isExact else { return setUncertain() }
            isContinued = true
            let rows = (end - 1) / size.columns
            column = end - rows * size.columns
            moveDown(by: rows)
        } else {
            column = end
        }
        extent = max(extent, column)
    }

    private mutating func moveDown(by count: Int) {
        row += count
        extent = row > lowestRow ? 0 : size.columns
        lowestRow = max(row, lowestRow)
    }

    private mutating func setUncertain() {
        (column, isExact, extent) = (size.columns, false, size.columns)
    }

    private mutating func control(_ byte: UInt8) {
        switch byte {
        case Self.escape: (state, parameters) = (.escape, [])
        case UInt8(ascii: "\r"):
            if !isExact { extent = size.columns }
            (column, isExact) = (0, true)
        case Self.lineFeed, 0x0B, 0x0C: lineFeed(returns: returnsOnLineFeed)
        case 0x08: column = max(min(column, size.columns - 1) - 1, 0)
        case UInt8(ascii: "\t"):
            if hasOwnTabs { setUncertain() } else { column = max(column, min(column / 8 * 8 + 8, size.columns - 1)) }
        default: break
        }
    }

    private mutating func lineFeed(returns: Bool) {
        if returns { (column, isExact) = (0, true) } else if isExact { column = min(column, size.columns - 1) }
        isContinued = false
        moveDown(by: 1)
        if isRestored { (saved, isRestored) = (nil, false) }
    }

    // MARK: - Sequences

    private mutating func sequence(_ byte: UInt8) {
        switch state {
        case .sequence where byte < 0x40:
            if parameters.count < 64 { parameters.append(byte) }
        case .sequence:
            state = .text
            perform(byte)
        case .intermediate:
            if byte >= 0x30 { state = .text }
        default: escape(byte)
        }
    }

    private mutating func escape(_ byte: UInt8) {
        state = .text
        switch Character(Unicode.Scalar(byte)) {
        case "[": state = .sequence
        // OSC, DCS, SOS, PM, APC, and the title of GNU screen.
        case "]", "P", "X", "^", "_", "k": state = .string
        case " "..."/": state = .intermediate
        case "7": save()
        case "8": restore()
        case "D": lineFeed(returns: false)
        case "E": lineFeed(returns: true)
        case "M": moveUp(by: 1)
        case "H": hasOwnTabs = true
        case "c":
            let (size, returns) = (size, returnsOnLineFeed)
            self = CursorTracker()
            (self.size, returnsOnLineFeed) = (size, returns)
        default: break
        }
    }

    private mutating func perform(_ final: UInt8) {
        if let first = parameters.first, first >= 0x3C { return performPrivate(final) }
        if let last = parameters.last, last < 0x30 {
            // DECSTR resets the margins and the saved position.
            if final == UInt8(ascii: "p"), last == UInt8(ascii: "!") { (hasMargins, saved, wraps) = (false, nil, true) }
            return
        }
        // Colours are by far the most frequent.
        if final == UInt8(ascii: "m") { return }
        let numbers = parameters.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false).map {
            Int(String(decoding: $0, as: UTF8.self)) ?? 0
        }
        let count = min(max(numbers.first ?? 1, 1), 10_000)
        switch Character(Unicode.Scalar(final)) {
        case "A", "k": moveUp(by: count)
        case "F": moveUp(by: count, returns: true)
        case "B", "e": moveDownWithinText(by: count)
        case "E": moveDownWithinText(by: count, returns: true)
        case "C", "a": column = min(column + count, max(size.columns - 1, column))
        case "D", "j": column = max(min(column, size.columns - 1) - count, 0)
        case "G", "`": setColumn(count)
        case "H", "f":
            setRow(count)
            setColumn(max(numbers.dropFirst().first ?? 1, 1))
        case "d": setRow(count)
        case "J": erase(numbers.first ?? 0, toEndOfWindow: true)
        case "K": erase(numbers.first ?? 0, toEndOfWindow: false)
        case "@": extent = size.columns
        case "L", "M", "S", "T": setRow(1)
        case "I", "Z", "b": setUncertain()
        case "r":
            let bottom = numbers.count > 1 ? numbers[1] : 0
            hasMargins = count > 1 || bottom > 0 && bottom < size.rows
            setRow(1)
            setColumn(1)
        case "s" where parameters.isEmpty: save()
        case "s": hasMargins = true
        case "u": restore()
        default: break
        }
    }

    private mutating func performPrivate(_ final: UInt8) {
        guard parameters[0] == UInt8(ascii: "?"), final == UInt8(ascii: "h") || final == UInt8(ascii: "l") else {
            return
        }
        let isSet = final == UInt8(ascii: "h")
        for number in parameters.dropFirst().split(separator: UInt8(ascii: ";")) {
            switch String(decoding: number, as: UTF8.self) {
            case "7": wraps = isSet
            case "47", "1047", "1049": setAlternate(isSet, restores: number.count == 4 && number.last == 0x39)
            case "1048": if isSet { save() } else { restore() }
            default: break
            }
        }
    }

    private mutating func setAlternate(_ isAlternate: Bool, restores: Bool) {
        guard isAlternate != (beforeAlternate != nil) else { return }
        if isAlternate {
            beforeAlternate = (position, lowestRow, saved)
            saved = nil
        } else if let before = beforeAlternate.take() {
            (lowestRow, saved) = (before.lowestRow, before.saved)
            if restores { move(to: before.position) } else { setRow(1) }
        }
    }

    private var position: Position { Position(row: row, column: column, isExact: isExact) }

    private mutating func move(to position: Position) {
        (row, column, isExact) = (min(position.row, lowestRow), position.column, position.isExact)
        extent = size.columns
    }

    private mutating func save() { (saved, isRestored) = (position, false) }

    private mutating func restore() {
        guard let saved else { return setRow(1) }
        move(to: saved)
        isRestored = true
    }

    private mutating func moveUp(by count: Int, returns: Bool = false) {
        row = max(row - count, lowestRow - size.rows + 1)
        moved(returns: returns)
    }

    private mutating func moveDownWithinText(by count: Int, returns: Bool = false) {
        row = min(row + count, lowestRow)
        moved(returns: returns)
    }

    private mutating func moved(returns: Bool) {
        (extent, isContinued) = (size.columns, true)
        if returns { setColumn(1) } else if isExact { column = min(column, size.columns - 1) }
    }

    /// Moves to a row of the window. In the worst case, there is text down to the last one.
    private mutating func setRow(_ number: Int) {
        row = lowestRow - max(size.rows - number, 0)
        if isBlank { lowestRow = row }
        moved(returns: false)
    }

    private mutating func setColumn(_ number: Int) {
        if !isExact { extent = size.columns }
        (column, isExact) = (min(number - 1, size.columns - 1), true)
    }

    private mutating func erase(_ part: Int, toEndOfWindow: Bool) {
        if part == 2 { extent = 0 } else if part == 0, isExact { extent = min(extent, column) }
        guard toEndOfWindow, part == 0 || part == 2 else { return }
        lowestRow = row
        if part == 2 { isBlank = true }
    }

    private static let escape: UInt8 = 0x1B
    private static let lineFeed: UInt8 = 0x0A
    private static let bell: UInt8 = 0x07
    private static let cancel: UInt8 = 0x18
    private static let substitute: UInt8 = 0x1A
}
